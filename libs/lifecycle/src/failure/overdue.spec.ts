import type { Attempt, AvoidedNode } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import type { Observed, ObservedPod, ObservedPreflight, Verdict } from '../observation/observed.ts';
import { aCheckpoint, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, NOW, settled } from '../testing/jobs.ts';

const job = aJob();
const NODES = ['node-a', 'node-b', 'node-c', 'node-d'];
const bound = (podIndex: number, more: Partial<ObservedPod> = {}): ObservedPod =>
  aPod(job, { podIndex, nodeName: NODES[podIndex] as string, ...more });
const unbound = (podIndex: number): ObservedPod => {
  const { nodeName: _, ...pod } = aPod(job, { podIndex, phase: 'Pending', running: false });
  return pod;
};
const pulling = (podIndex: number): ObservedPod =>
  bound(podIndex, {
    phase: 'Pending',
    running: false,
    containerWaiting: { reason: 'ErrImagePull', message: 'connection refused', image: 'example/image' },
  });
/** A gang of four nodes at the stage of its attempt, of which these pods are seen. */
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

describe('a gang that does not come up', () => {
  const cases: readonly {
    readonly name: string;
    readonly attempt?: Partial<Attempt>;
    readonly pods: readonly ObservedPod[];
    readonly key: string;
    readonly limitMs: number;
    readonly reason: Attempt['reason'];
    readonly message: RegExp;
    readonly avoided: readonly string[];
  }[] = [
    {
      name: 'because a pod cannot be created',
      attempt: { stage: 'Creating' },
      pods: upTo(3, (podIndex) => ({ ...unbound(podIndex), gated: true })),
      key: 'e1/creating',
      limitMs: 600_000,
      reason: 'NotCreated',
      message: /could not be created within 600 s/,
      avoided: [],
    },
    {
      name: 'because a node does not take its pod',
      pods: [...upTo(3, (podIndex) => bound(podIndex)), { ...unbound(3), schedulingMessage: '1 Insufficient cpu.' }],
      key: 'e1/scheduling',
      limitMs: 300_000,
      reason: 'NotScheduled',
      message: /got no node within 300 s: 1 Insufficient cpu/,
      avoided: ['node-d'],
    },
    {
      name: 'because the image cannot be pulled on one node',
      pods: [pulling(0), bound(1), bound(2), bound(3)],
      key: 'e1/starting',
      limitMs: 900_000,
      reason: 'NotStarted',
      message: /did not start on node node-a within 900 s: ErrImagePull: connection refused/,
      avoided: ['node-a'],
    },
    {
      name: 'because the image is not pulled on one node within its own time, which is longer',
      pods: [bound(0, { phase: 'Pending', running: false, pullsImage: true }), bound(1), bound(2), bound(3)],
      key: 'e1/pulling',
      limitMs: 1_800_000,
      reason: 'NotStarted',
      message: /The image of pod .* was not pulled on node node-a within 1800 s\. Raise spec\.imagePullDeadlineSeconds/,
      avoided: ['node-a'],
    },
    {
      name: 'because the image cannot be pulled anywhere, which is no node’s fault',
      pods: upTo(4, pulling),
      key: 'e1/starting',
      limitMs: 900_000,
      reason: 'NotStarted',
      message: /did not start/,
      avoided: [],
    },
  ];
  it.each(cases)('$name, is tried again elsewhere after its time and free of charge', (one) => {
    const { attempt = {}, pods, key, limitMs, reason, message, avoided } = one;
    const early = settled(gang(attempt, pods, { [key]: limitMs - 1_000 }));
    expect(early.timed).toContain(key);
    expect([early.status.attempts?.at(-1)?.outcome, early.requeueAfterMs]).toEqual([undefined, 1_000]);
    const { status } = settled(gang(attempt, pods, { [key]: limitMs }));
    expect(status.attempts?.at(-1)).toMatchObject({ outcome: 'Failed', reason, charged: false, answer: 'Restart' });
    expect(status.attempts?.at(-1)?.message).toMatch(message);
    const nodes = (list: readonly AvoidedNode[] = []) => list.map(({ node, reason: why }) => `${node}: ${why}`);
    expect(nodes(status.avoidedNodes)).toEqual(avoided.map((node) => `${node}: ${reason}`));
  });

  it.each<[string, readonly string[], string | undefined, string]>([
    ['waits 10 s for GPUs that others took', ['node-d'], 'Insufficient nvidia.com/gpu.', 'e1/taken'],
    ['waits its usual time where the GPUs are free', [], 'Insufficient cpu.', 'e1/scheduling'],
    ['waits its usual time where the scheduler says nothing', ['node-d'], undefined, 'e1/scheduling'],
  ])('%s', (_sentence, taken, schedulingMessage, key) => {
    const refused = { ...unbound(3), ...(schedulingMessage === undefined ? {} : { schedulingMessage }) };
    const pods = [...upTo(3, (podIndex) => bound(podIndex)), refused];
    const seen = (elapsedMs: number): Observed => ({
      ...gang({}, pods, { [key]: elapsedMs }),
      takenNodes: (_placement, podIndices) => (podIndices?.includes(3) === true ? taken : []),
    });
    expect(settled(seen(9_000)).timed).toContain(key);
    const { attempts, avoidedNodes } = settled(seen(10_000)).status;
    const isGivenUp = key === 'e1/taken';
    expect([attempts?.at(-1)?.outcome, avoidedNodes ?? []]).toEqual([isGivenUp ? 'Failed' : undefined, []]);
    if (isGivenUp) {
      expect(attempts?.at(-1)).toMatchObject({ reason: 'NotScheduled', charged: false, answer: 'Restart' });
      expect(attempts?.at(-1)?.message).toMatch(
        /within 10 s: other pods took GPUs of node node-d .* Insufficient nvidia/,
      );
    }
  });

  it('waits as long as the administrator says', () => {
    const observed = gang({}, [pulling(0), bound(1), bound(2), bound(3)], { 'e1/starting': 5_000 });
    const { status } = settled({ ...observed, timeouts: { startingMs: 5_000 } });
    expect(status.attempts?.at(-1)?.reason).toBe('NotStarted');
  });

  it('is tried again when its Placement is lost before its pods exist', () => {
    const observed = gang({ stage: 'Creating' }, [], { 'e1/creating': 600_000 });
    const { status } = decide({ ...observed, placements: [] }, NOW);
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'NotCreated', charged: false });
  });

  it.each([-1, 1])('is given its whole time by a clock that is %i h off', (hours) => {
    const off = new Date(NOW.getTime() + hours * 3_600_000);
    for (const [key, pods] of [
      ['e1/scheduling', [bound(0), bound(1), bound(2), unbound(3)]],
      ['e1/starting', [pulling(0), bound(1), bound(2), bound(3)]],
    ] as const) {
      expect(decide(gang({}, pods, { [key]: 299_999 }), off).status.attempts?.at(-1)?.stage).toBe('Released');
      expect(decide(gang({}, pods, { [key]: 900_000 }), off).status.attempts?.at(-1)?.stage).toBe('Stopping');
    }
  });

  it('has no deadline once every rank has run', () => {
    const attempt = { runningAt: NOW.toISOString() };
    expect(settled(gang(attempt, [pulling(0), bound(1), bound(2), bound(3)], {})).timed).toEqual([]);
  });
});

describe('a gang whose Secrets are missing', () => {
  const engine = {
    name: 'reference' as const,
    image: 'i',
    secretEnv: [{ name: 'HF_TOKEN', secret: 'job-hf', key: 'token', optional: false }],
    secretFiles: [{ secret: 'job-aws', key: 'credentials', optional: false }],
  };
  const waitingFor = (message: string, reason = 'CreateContainerConfigError') =>
    ({ phase: 'Pending', running: false, containerWaiting: { reason, message, image: 'i' } }) as const;
  const after = (pod: Partial<ObservedPod>, ms: number, used: Partial<typeof engine> = engine) => {
    const observed = gang({}, [bound(0, pod), bound(1), bound(2), bound(3)], { 'e1/starting': ms });
    const spec = { ...observed.job.spec, engine: { ...engine, secretEnv: [], secretFiles: [], ...used } };
    return settled({ ...observed, job: { ...observed.job, spec } as Observed['job'] }).status;
  };
  const NO_SECRET = waitingFor('secret "job-hf" not found');
  const NO_KEY = waitingFor("couldn't find key token in Secret research/job-hf");

  it.each<[string, Partial<ObservedPod>, RegExp]>([
    ['Secret', NO_SECRET, /variable HF_TOKEN is key token of Secret job-hf, and namespace .* has no such Secret/],
    ['key', NO_KEY, /variable HF_TOKEN is key token of Secret job-hf, and there is no such key in it/],
  ])('says which %s it waits for, and fails with the same words when its time is over', (_what, pod, words) => {
    const early = after(pod, 899_000);
    const running = early.conditions?.find(({ type }) => type === 'Running');
    expect([running?.reason, running?.message]).toEqual(['SecretMissing', expect.stringMatching(words)]);
    expect(early.summary).toMatch(words);
    const late = after(pod, 900_000);
    expect(late.attempts?.at(-1)).toMatchObject({ outcome: 'Failed', reason: 'SecretMissing', charged: true });
    expect(late.attempts?.at(-1)?.message).toMatch(words);
    expect(late.avoidedNodes ?? []).toEqual([]);
  });

  it('for the bucket of its checkpoints says so', () => {
    const pod = waitingFor('secret "job-bucket" not found');
    const observed = gang({}, [bound(0, pod), bound(1), bound(2), bound(3)], { 'e1/starting': 0 });
    const bucket = { uri: 's3://training', credentialsSecret: 'job-bucket' };
    const checkpoint = { path: '', everySteps: 100, bucket };
    const spec = { ...observed.job.spec, checkpoint, resources: { gpusPerNode: 4 } };
    const { status } = settled({ ...observed, job: { ...observed.job, spec } });
    expect(status.summary).toMatch(
      /spec\.checkpoint\.bucket needs key AWS_ACCESS_KEY_ID of Secret job-bucket, and namespace .* has no such Secret/,
    );
  });

  it('as files, of which nodes say nothing, is told what it may be', () => {
    const pod: Partial<ObservedPod> = { phase: 'Pending', running: false };
    const words = /key credentials of Secret job-aws/;
    expect(after(pod, 0).summary).toMatch(words);
    const failed = after(pod, 900_000).attempts?.at(-1);
    expect(failed).toMatchObject({ reason: 'NotStarted', message: expect.stringMatching(words) as string });
  });

  it('as files may be why the one pod of a gang does not start: its node is not blamed, unless it says something else', () => {
    const alone = (pod: ObservedPod): readonly string[] => {
      const seen = { ...job, spec: { ...job.spec, engine }, status: aStatus({ attempts: [anAttempt({})] }) };
      const placements = [aPlacement(seen, { nodes: ['node-a'], worldSize: 4 })];
      const elapsedMs = new Map([['e1/starting', 900_000]]);
      const { status } = settled(observe({ job: seen as Observed['job'], pods: [pod], placements, elapsedMs }));
      expect(status.attempts?.at(-1)?.reason).toBe('NotStarted');
      return (status.avoidedNodes ?? []).map(({ node }) => node);
    };
    expect(alone(bound(0, { phase: 'Pending', running: false }))).toEqual([]);
    expect(alone(pulling(0))).toEqual(['node-a']);
  });

  it.each<[string, Partial<ObservedPod>, Partial<typeof engine>]>([
    ['another object', waitingFor('configmap "job-hf" not found'), engine],
    ['a Secret that the job does not name', waitingFor('secret "job-other" not found'), engine],
    ['an image', waitingFor('secret "job-hf" not found', 'ErrImagePull'), engine],
    ['nothing that it says, and no files', { phase: 'Pending', running: false }, {}],
  ])('is not told of one that waits for %s', (_what, pod, used) => {
    const status = after(pod, 0, used);
    expect(status.conditions?.find(({ type }) => type === 'Running')?.reason).not.toBe('SecretMissing');
    expect(status.summary).not.toMatch(/Secret job-hf/);
    expect(after(pod, 900_000, used).attempts?.at(-1)?.reason).toBe('NotStarted');
  });
});

describe('a detector’s verdict', () => {
  const verdict = (about: Verdict['about'], epoch = 1): Verdict => ({ epoch, about, message: 'Rank 3 is slow.' });
  it.each<[string, Verdict, readonly string[] | undefined]>([
    ['on a node ends the gang, and the node is avoided', verdict({ kind: 'node', node: 'node-b' }), ['node-b']],
    ['on a rank means its node', verdict({ kind: 'rank', rank: 3 }), ['node-b']],
    ['on another epoch says nothing', verdict({ kind: 'rank', rank: 3 }, 2), undefined],
    ['on a node that is not the gang’s says nothing', verdict({ kind: 'node', node: 'node-z' }), undefined],
    ['on a rank that the gang does not have says nothing', verdict({ kind: 'rank', rank: 99 }), undefined],
    ['on another incarnation says nothing', { ...verdict({ kind: 'rank', rank: 3 }), incarnation: 2 }, undefined],
    ['on this incarnation counts', { ...verdict({ kind: 'rank', rank: 3 }), incarnation: 1 }, ['node-b']],
  ])('%s', (_sentence, one, want) => {
    const { status } = settled(aRunningJob({ observed: { verdicts: [one] } }));
    expect(status.avoidedNodes?.map(({ node }) => node)).toEqual(want);
    const attempt = status.attempts?.at(-1);
    if (want === undefined) expect(attempt?.outcome).toBeUndefined();
    else expect(attempt).toMatchObject({ reason: 'Condemned', charged: false, message: 'Rank 3 is slow.' });
  });
});

describe('a detector’s verdict on a gang that hangs', () => {
  it('ends it, charged, and no node is avoided', () => {
    const hung: Verdict = { epoch: 1, incarnation: 1, about: { kind: 'gang' }, message: 'All wait in group 3.' };
    const { status } = settled(aRunningJob({ observed: { verdicts: [hung] } }));
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'Hung', charged: true, message: hung.message });
    expect(status.avoidedNodes).toBeUndefined();
  });
});

describe('a preflight that names a node', () => {
  const named = (nodes: readonly string[], epoch = 1): ObservedPreflight => ({
    epoch,
    outcome: 'NodesNamed',
    tookMs: 900,
    notes: ['pods differ in the weather'],
    fingerprint: { torch: '2.9' },
    named: { nodes, message: 'Node node-b: /dev/shm is short.' },
  });
  it.each<[string, Parameters<typeof aRunningJob>[0], readonly string[] | undefined]>([
    ['ends the gang uncharged, and the node is avoided', { observed: { preflight: named(['node-b']) } }, ['node-b']],
    ['of another epoch says nothing', { observed: { preflight: named(['node-b'], 2) } }, undefined],
    ['of another gang says nothing', { observed: { preflight: named(['node-z']) } }, undefined],
    [
      'comes too late where ranks train',
      { observed: { preflight: named(['node-b']), progress: { epoch: 1, step: 1 } } },
      undefined,
    ],
  ])('%s', (_sentence, running, want) => {
    const { status } = settled(aRunningJob(running));
    expect(status.avoidedNodes?.map(({ node }) => node)).toEqual(want);
    const attempt = status.attempts?.at(-1);
    if (want === undefined) return expect(attempt?.outcome).toBeUndefined();
    expect(attempt).toMatchObject({
      reason: 'PreflightFailed',
      charged: false,
      answer: 'Restart',
      message: 'Preflight: Node node-b: /dev/shm is short.',
      preflight: { outcome: 'NodesNamed', tookMs: 900, notes: ['pods differ in the weather'] },
      fingerprint: { torch: '2.9' },
    });
  });
});

describe('a gang whose containers run, while a launcher has never reached the operator', () => {
  const KEY = 'e1/no-report';
  const reportAges = (count: number) =>
    new Map(upTo(count, (podIndex) => bound(podIndex)).map(({ uid }) => [uid, 1_000]));
  const up = (ms: number, more: Partial<Observed> = {}, attempt: Partial<Attempt> = {}): Observed => ({
    ...gang({ runningAt: NOW.toISOString(), leaderTerm: 7, ...attempt }, upTo(4, bound), { [KEY]: ms }),
    leaderTerm: 7,
    reportAgesMs: reportAges(3),
    ...more,
  });

  it('is tried again elsewhere after the time of a start, free of charge', () => {
    const early = settled(up(899_000));
    expect([early.timed, early.status.attempts?.at(-1)?.outcome]).toEqual([[KEY, 'e1/unheard'], undefined]);
    const { status } = settled(up(900_000));
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'NotStarted', charged: false, answer: 'Restart' });
    expect(status.attempts?.at(-1)?.message).toMatch(
      /^The launcher of pod .*-e1-3 on node node-d has not reached the operator within 900 s/,
    );
    expect(status.avoidedNodes).toMatchObject([{ node: 'node-d', reason: 'NotStarted' }]);
  });

  const lone = (hearing: Observed['hearing']): Observed => {
    const observed = up(900_000, { reportAgesMs: new Map(), ...(hearing === undefined ? {} : { hearing }) });
    const placements = [aPlacement(observed.job, { nodes: ['node-a'], worldSize: 2 })];
    return { ...observed, placements, pods: [bound(0)] };
  };
  const heard = (...where: readonly (readonly [string, string])[]): Observed['hearing'] => {
    const heardNodes = new Map(
      [...Map.groupBy(where, ([namespace]) => namespace)].map(([namespace, all]) => [
        namespace,
        new Set(all.map(([, node]) => node)),
      ]),
    );
    return () => ({ launchers: where.length, silent: 0, silentGangs: 0, heardNodes });
  };
  const own = job.metadata.namespace ?? '';
  it.each<[string, Observed['hearing'], readonly string[]]>([
    ['does not blame its node where no other gang is heard', heard(), []],
    ['does not blame its node where it is unknown which gangs are heard', undefined, []],
    [
      'blames its node where another gang of the namespace is heard from another node',
      heard([own, 'node-b']),
      ['node-a'],
    ],
    [
      'does not blame its node where only other namespaces are heard: a policy may be the cause',
      heard(['other', 'node-b']),
      [],
    ],
    ['does not blame its node where another gang is heard from it', heard([own, 'node-b'], ['other', 'node-a']), []],
  ])('%s if it has one node', (_sentence, hearing, want) => {
    const { status } = settled(lone(hearing));
    expect(status.attempts?.at(-1)).toMatchObject({ reason: 'NotStarted', charged: false });
    expect((status.avoidedNodes ?? []).map(({ node }) => node)).toEqual(want);
  });

  it('blames no node where none has', () => {
    const { status } = settled(up(900_000, { reportAgesMs: new Map() }));
    expect(status.attempts?.at(-1)?.reason).toBe('NotStarted');
    expect(status.avoidedNodes ?? []).toEqual([]);
  });

  const progress = { step: 3, reportedAt: NOW.toISOString() };
  const trained = { ...up(900_000).job, status: { ...up(900_000).job.status, progress } } as Observed['job'];
  it.each<[string, Observed]>([
    ['all have been heard', up(900_000, { reportAgesMs: reportAges(4) })],
    ['nobody listens', gang({ runningAt: NOW.toISOString() }, upTo(4, bound), { [KEY]: 900_000 })],
    ['a step is known', up(900_000, { progress: { epoch: 1, step: 3 } })],
    ['status tells of a step', up(900_000, { job: trained })],
    ['it has saved', up(900_000, { checkpoints: [aCheckpoint(job)] })],
    [
      'its node does not answer',
      up(900_000, { nodeStates: new Map([['node-d', 'notReady']]), nodeCensus: () => ({ nodes: 4, notReady: 3 }) }),
    ],
    ['its ranks have been started again', up(900_000, {}, { incarnation: 2 })],
    ['a leader before this one began it, and may have heard all', up(900_000, { leaderTerm: 8 })],
    ['nobody knows which leader began it', up(900_000, {}, { leaderTerm: undefined })],
  ])('goes on where %s', (_sentence, observed) => {
    const { status, timed } = settled(observed);
    expect(status.attempts?.at(-1)?.stage).toBe('Released');
    expect(timed).not.toContain(KEY);
  });
});
