import type { Attempt } from '@coxswain/api-types';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, settled } from '../testing/jobs.ts';

const job = aJob();
const NODES = ['node-a', 'node-b', 'node-c', 'node-d'];
const bound = (podIndex: number, more: Partial<ObservedPod> = {}): ObservedPod =>
  aPod(job, { podIndex, nodeName: NODES[podIndex] as string, ...more });
const unbound = (podIndex: number): ObservedPod => {
  const { nodeName: _, ...pod } = aPod(job, { podIndex, phase: 'Pending', running: false });
  return pod;
};
/** A gang of four nodes at the stage of its attempt. Only these pods are seen. */
const gang = (
  attempt: Partial<Attempt>,
  pods: readonly ObservedPod[],
  elapsed: Readonly<Record<string, number>>,
): Observed => {
  const seen = { ...job, status: aStatus({ attempts: [anAttempt(attempt)] }) };
  const placement = aPlacement(seen, { nodes: NODES, worldSize: 8 });
  return observe({ job: seen, pods, placements: [placement], elapsedMs: new Map(Object.entries(elapsed)) });
};
const upTo = (count: number, podAt: (podIndex: number) => ObservedPod): readonly ObservedPod[] =>
  Array.from({ length: count }, (_, podIndex) => podAt(podIndex));

describe('a gang that does not come up through no fault of a node', () => {
  const CLAIM = '0/4 nodes are available: persistentvolumeclaim "nowhere" not found. preemption: not helpful.';
  const refusedBy = (schedulingMessage: string): readonly ObservedPod[] => [
    ...upTo(3, (podIndex) => bound(podIndex)),
    { ...unbound(3), schedulingMessage },
  ];
  const waiting = (reason: string, message: string): readonly ObservedPod[] => [
    bound(0, { phase: 'Pending', running: false, containerWaiting: { reason, message, image: 'example/image' } }),
    ...[1, 2, 3].map((podIndex) => bound(podIndex)),
  ];
  it.each<[string, readonly ObservedPod[], string, string]>([
    ['a claim that does not exist', refusedBy(CLAIM), 'e1/scheduling', 'persistentvolumeclaim "nowhere" not found'],
    [
      'a claim that is not bound',
      refusedBy('0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims.'),
      'e1/scheduling',
      'unbound immediate',
    ],
    [
      'an image that does not exist',
      waiting(
        'ErrImagePull',
        'failed to pull and unpack image "docker.io/x/y:z": failed to resolve reference "docker.io/x/y:z": docker.io/x/y:z: not found',
      ),
      'e1/starting',
      'docker.io/x/y:z: not found',
    ],
    [
      'an image that it may not pull',
      waiting('ImagePullBackOff', 'pull access denied, repository does not exist or may require authorization'),
      'e1/starting',
      'pull access denied',
    ],
    [
      'a ConfigMap that does not exist',
      waiting('CreateContainerConfigError', 'configmap "settings" not found'),
      'e1/starting',
      'configmap "settings" not found',
    ],
    ['a name that is no image', waiting('InvalidImageName', 'couldn\'t parse image name "A B"'), 'e1/starting', 'A B'],
  ])('blames no node where one pod waits for %s, and keeps its words', (_what, pods, key, words) => {
    const { status } = settled(gang({}, pods, { [key]: 900_000 }));
    expect(status.attempts?.at(-1)).toMatchObject({ outcome: 'Failed', charged: false });
    expect(status.attempts?.at(-1)?.message).toContain(words);
    expect(status.incidents?.at(-1)?.message).toContain(words);
    expect(status.avoidedNodes ?? []).toEqual([]);
  });

  const MOUNT = 'FailedMount: MountVolume.SetUp failed for volume "secrets" : secret "job-aws" not found';
  const DISK = 'FailedMount: MountVolume.SetUp failed for volume "scratch" : mkdir /var: read-only file system';
  it.each<[string, string, readonly string[]]>([
    ['no node for an object that is missing', MOUNT, []],
    ['the node for its own disk', DISK, ['node-a']],
  ])(
    'asks what the kubelet reports of a pod that starts silently, says it, and blames %s',
    (_whom, message, avoided) => {
      const pods = [bound(0, { phase: 'Pending', running: false }), bound(1), bound(2), bound(3)];
      const silent = pods[0] as ObservedPod;
      const seen = (elapsed: Readonly<Record<string, number>>, podWarning: Observed['podWarning']): Observed => ({
        ...gang({}, pods, elapsed),
        ...(podWarning === undefined ? {} : { podWarning }),
      });
      const asks = (observed: Observed): readonly string[] =>
        settled(observed).actions.flatMap((action) => (action.kind === 'readPodWarning' ? action.pod.name : []));
      expect(asks(seen({ 'e1/silent': 14_000 }, 'unread'))).toEqual([]);
      expect(asks(seen({ 'e1/silent': 15_000 }, undefined))).toEqual([]);
      expect(asks(seen({ 'e1/silent': 15_000 }, 'unread'))).toEqual([silent.name]);
      const known = { podUid: silent.uid, message, ageMs: 1_000 };
      expect(asks(seen({ 'e1/silent': 20_000 }, known))).toEqual([]);
      expect(asks(seen({ 'e1/silent': 60_000 }, { ...known, ageMs: 30_000 }))).toEqual([silent.name]);
      expect(settled(seen({ 'e1/silent': 20_000 }, known)).status.summary).toBe(
        `Pod ${silent.name} cannot start on node node-a: ${message}`,
      );
      const { status } = settled(seen({ 'e1/silent': 900_000, 'e1/starting': 900_000 }, known));
      expect(status.attempts?.at(-1)?.message).toContain(message);
      expect((status.avoidedNodes ?? []).map(({ node }) => node)).toEqual(avoided);
    },
  );

  it('blames no node where the cluster keeps the gate on its pods, and says why', () => {
    const pods = [...upTo(3, (podIndex) => bound(podIndex)), { ...unbound(3), gated: true }];
    const name = pods[3]?.name ?? '';
    const denied = { kind: 'liftGate' as const, name, message: 'image signature service says no' };
    const { status } = settled({ ...gang({}, pods, { 'e1/scheduling': 300_000 }), refusedCalls: [denied] });
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'NotScheduled', charged: false });
    expect(status.attempts?.at(-1)?.message).toMatch(/still has its scheduling gate .*image signature service says no/);
    expect(status.avoidedNodes ?? []).toEqual([]);
  });
});
