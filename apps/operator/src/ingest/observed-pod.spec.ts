import type { KubeObject } from '@coxswain/kube';
import { toObservedPod } from './observed-pod.ts';

function pod(metadata: object, more: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'w-0', namespace: 'research', uid: 'u-0', ...metadata },
    ...more,
  } as KubeObject;
}

const controlledBy = (kind: string): object => ({
  ownerReferences: [
    { apiVersion: 'v1', kind: 'Other', name: 'other', uid: 'o' },
    { apiVersion: 'v1', kind, name: `${kind}-1`, uid: 'c-1', controller: true },
  ],
});

describe('a pod of another controller', () => {
  it.each<[string, object, object]>([
    [
      'a JobSet, with its restarts',
      {
        labels: {
          'jobset.sigs.k8s.io/jobset-name': 'gpt',
          'jobset.sigs.k8s.io/jobset-uid': 'j-1',
          'jobset.sigs.k8s.io/restart-attempt': '2',
        },
        ...controlledBy('Job'),
      },
      { owner: { kind: 'JobSet', name: 'gpt', uid: 'j-1' }, attempt: 2 },
    ],
    [
      'a TrainJob, which is a JobSet of that name',
      { labels: { 'jobset.sigs.k8s.io/jobset-name': 'gpt', 'trainer.kubeflow.org/trainjob-ancestor-step': 'trainer' } },
      { owner: { kind: 'TrainJob', name: 'gpt', uid: '' }, attempt: 0 },
    ],
    [
      'a PyTorchJob',
      { labels: { 'training.kubeflow.org/job-name': 'bert' }, ...controlledBy('PyTorchJob') },
      { owner: { kind: 'PyTorchJob', name: 'bert', uid: 'c-1' } },
    ],
    ['a Job', controlledBy('Job'), { owner: { kind: 'Job', name: 'Job-1', uid: 'c-1' } }],
    ['nothing that is known, and then stands for itself', {}, { owner: { kind: 'Pod', name: 'w-0', uid: 'u-0' } }],
    [
      'a JobSet whose number of restarts is no number',
      { labels: { 'jobset.sigs.k8s.io/jobset-name': 'gpt', 'jobset.sigs.k8s.io/restart-attempt': '1e9' } },
      { attempt: 0 },
    ],
    [
      'whatever its labels are, if they are no texts',
      { labels: { 'jobset.sigs.k8s.io/jobset-name': 7 }, ownerReferences: 'none' },
      { owner: { kind: 'Pod', name: 'w-0', uid: 'u-0' } },
    ],
    [
      'an owner with a name that is too long, which is cut',
      {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Job', name: 'x'.repeat(400_000), uid: '字'.repeat(400_000), controller: true },
        ],
      },
      { owner: { kind: 'Job', name: `${'x'.repeat(252)}…`, uid: `${'字'.repeat(63)}…` } },
    ],
  ])('belongs to %s', (_sentence, metadata, want) => {
    expect(toObservedPod(pod(metadata))).toMatchObject(want);
  });

  it.each<[string, object, RegExp | undefined]>([
    ['the policy wrapped it', { annotations: { 'training.coxswain.dev/wrapped': 'main' } }, undefined],
    [
      'the policy said why not',
      { annotations: { 'training.coxswain.dev/not-wrapped': 'container main has no command' } },
      /^container main has no command$/,
    ],
    ['the policy did not see it', {}, /Create the pod again$/],
  ])('says whether it is observed: %s', (_sentence, metadata, want) => {
    const found = toObservedPod(pod(metadata))?.notWrapped;
    if (want === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(want);
  });

  it('has GPUs, node, start and exit codes', () => {
    const spec = { nodeName: 'n-1', containers: [{ resources: { limits: { 'nvidia.com/gpu': '8' } } }] };
    const containerStatuses = [{ state: { terminated: { exitCode: 137 } } }, { state: { running: {} } }, 'nonsense'];
    const status = { phase: 'Failed', startTime: '2026-01-01T00:00:00Z', containerStatuses };
    expect(toObservedPod(pod({}, { spec, status }))).toMatchObject({
      gpus: 8,
      node: 'n-1',
      phase: 'Failed',
      isOver: true,
      beganAtMs: Date.UTC(2026, 0, 1),
      exitCodes: [137],
    });
  });

  it('without an identity is not followed', () => {
    expect(toObservedPod(pod({ uid: undefined }))).toBeUndefined();
  });
});
