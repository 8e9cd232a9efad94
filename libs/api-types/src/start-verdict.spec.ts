import { CONDITION_REASONS, type Condition, type ConditionType } from './conditions.ts';
import { describeUnusable, type ReferenceProblem } from './missing-object.ts';
import { PERSON_REASONS } from './webhook.ts';
import { type StartFacts, whyNotTraining } from './start-verdict.ts';

const condition = (type: ConditionType, reason: string, message: string, status: Condition['status'] = 'False') => ({
  ...{ type, status, reason, message, observedGeneration: 1 },
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const job = (conditions: readonly Condition[], more: Partial<StartFacts> = {}): StartFacts => ({
  ...{ name: 'llama', namespace: 'lab', state: 'Queued', summary: 'a summary', conditions, applyFailure: null },
  ...more,
});
const accepted = condition('Accepted', 'SpecValid', 'fits', 'True');
const placed = condition('Placed', 'GangPlaced', '4 GPUs', 'True');

const QUOTA =
  'pods "a" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=2, used: 2, limited: 2. Coxswain retries.';
const DOWN = 'Internal error occurred: failed calling webhook "sig.example.com": connect: connection refused.';
const POLICY = `ValidatingAdmissionPolicy 'oc-no-update' with binding 'oc' denied request: image signature service says no`;

describe('why a job does not train', () => {
  it.each<[string, readonly Condition[], string, RegExp | undefined, string | undefined]>([
    [
      'a spec that breaks a rule',
      [condition('Accepted', 'LayoutInvalid', 'tp 3 does not divide 16 heads; use 2 or 4')],
      'tp 3 does not divide 16 heads; use 2 or 4',
      /nearest legal value/,
      undefined,
    ],
    [
      'a plan without layout',
      [condition('Accepted', 'NoLayoutFits', 'No layout fits 2 GPUs: 40 GiB are needed')],
      'No layout fits 2 GPUs: 40 GiB are needed',
      /more GPUs/,
      undefined,
    ],
    [
      'a runtime that does not exist',
      [condition('Accepted', 'RuntimeRefused', 'there is no ClusterTrainingRuntime h100; `kubectl get`')],
      'there is no ClusterTrainingRuntime h100; `kubectl get`',
      /Create or correct runtime h100/,
      'ClusterTrainingRuntime/h100',
    ],
    [
      'too few free GPUs',
      [
        accepted,
        condition('Placed', 'WaitingForCapacity', 'Needs 8 GPUs as 4 nodes with 2 free each; 6 of 16 GPUs are free.'),
      ],
      'Needs 8 GPUs as 4 nodes with 2 free each; 6 of 16 GPUs are free.',
      /at most 6 GPUs/,
      undefined,
    ],
    [
      'more GPUs than the cluster has: waiting does not help',
      [accepted, condition('Placed', 'WaitingForCapacity', 'Needs 16 GPUs; the cluster has 8 in all.')],
      'Needs 16 GPUs; the cluster has 8 in all.',
      /^Ask for at most 8 GPUs, or ask the cluster administrator for nodes/,
      undefined,
    ],
    [
      'no free GPU',
      [accepted, condition('Placed', 'WaitingForCapacity', 'Needs 2 GPUs; 0 of 8 GPUs are free.')],
      'Needs 2 GPUs; 0 of 8 GPUs are free.',
      /^None is needed if you wait for GPUs. To start sooner, ask for fewer/,
      undefined,
    ],
    [
      'enough free GPUs on too many nodes',
      [
        accepted,
        condition('Placed', 'WaitingForCapacity', 'Needs 4 GPUs as 1 node with 4 free each; 6 of 16 GPUs are free.'),
      ],
      'Needs 4 GPUs as 1 node with 4 free each; 6 of 16 GPUs are free.',
      /fewer GPUs per node/,
      undefined,
    ],
    [
      'a launcher that the operator does not hear',
      [
        accepted,
        placed,
        condition('Running', 'LaunchersSilent', 'The launcher of pod llama-0 on node n has not reached the operator.'),
      ],
      'The launcher of pod llama-0 on node n has not reached the operator.',
      /kubectl logs llama-0 --namespace lab/,
      'Pod/llama-0',
    ],
    [
      'a claim that does not exist',
      [
        accepted,
        condition(
          'Placed',
          'ObjectMissing',
          'PersistentVolumeClaim corpse (spec.data.claimName) does not exist in namespace lab.',
        ),
      ],
      'PersistentVolumeClaim corpse (spec.data.claimName) does not exist in namespace lab.',
      /Create corpse in namespace lab/,
      'PersistentVolumeClaim/corpse',
    ],
    [
      'a quota',
      [accepted, condition('Placed', 'PodsRefused', QUOTA)],
      QUOTA,
      /Raise ResourceQuota gpus/,
      'ResourceQuota/gpus',
    ],
    [
      'a webhook that is down',
      [accepted, condition('Placed', 'PodsRefused', DOWN)],
      DOWN,
      /restore webhook sig/,
      'Webhook/sig.example.com',
    ],
    [
      'a policy that keeps the gates',
      [accepted, placed, condition('Running', 'Denied', POLICY)],
      POLICY,
      /as policy oc-no-update requires/,
      'ValidatingAdmissionPolicy/oc-no-update',
    ],
    [
      'an image that cannot be pulled',
      [accepted, placed, condition('Running', 'ImageUnavailable', 'Image a/b:c cannot be pulled on node n.')],
      'Image a/b:c cannot be pulled on node n.',
      /Push image a\/b:c/,
      'Image/a/b:c',
    ],
    [
      'a Secret that does not exist',
      [
        accepted,
        placed,
        condition(
          'Running',
          'SecretMissing',
          'Pod p waits on node n: variable T is key token of Secret job-hf, and namespace lab has no such Secret. It starts as soon as there is one.',
        ),
      ],
      'Pod p waits on node n: variable T is key token of Secret job-hf, and namespace lab has no such Secret. It starts as soon as there is one.',
      /Create Secret job-hf/,
      'Secret/job-hf',
    ],
    [
      'containers that start',
      [accepted, placed, condition('Running', 'PodsStarting', 'The containers of attempt 1 are starting.')],
      'The containers of attempt 1 are starting.',
      undefined,
      undefined,
    ],
  ])('is said of %s, with the change that helps', (...row) => {
    const [, conditions, sentence, change, object] = row;
    const verdict = whyNotTraining(job(conditions));
    expect(verdict?.sentence).toBe(sentence);
    if (change === undefined) expect(verdict?.change).toBeNull();
    else expect(verdict?.change).toMatch(change);
    expect(verdict?.object === null ? undefined : `${verdict?.object.kind}/${verdict?.object.name}`).toBe(object);
  });

  it.each<[string, StartFacts, string | undefined]>([
    [
      'nothing where every rank has started',
      job([accepted, placed, condition('Running', 'GangRunning', '', 'True')]),
      undefined,
    ],
    ['nothing where the job has ended', job([condition('Placed', 'Finished', '')], { state: 'Failed' }), undefined],
    ['that it is new', job([]), 'Submitted'],
    ['that it has not reached the cluster', job([], { applyFailure: { message: 'forbidden' } }), 'NotApplied'],
    [
      'that it is suspended',
      job([condition('Suspended', 'SuspendRequested', 'Nothing runs', 'True')], { state: 'Suspended' }),
      'SuspendRequested',
    ],
    [
      'nothing of a running job whose last change has not reached the cluster',
      job([accepted, placed, condition('Running', 'GangRunning', '', 'True')], { applyFailure: { message: 'no' } }),
      undefined,
    ],
    [
      'what a job waits for, whatever became of its last change',
      job([accepted, condition('Placed', 'WaitingForCapacity', 'Needs 2 GPUs; 0 of 8 GPUs are free.')], {
        applyFailure: { message: 'no' },
      }),
      'WaitingForCapacity',
    ],
    ...['Suspending', 'Stopping', 'Deleting'].map((state): [string, StartFacts, undefined] => [
      `nothing of a job that waits and is asked to stop: ${state}`,
      job([accepted, condition('Placed', 'WaitingForCapacity', 'Needs 2 GPUs')], { state }),
      undefined,
    ]),
  ])('says %s', (_what, facts, reason) => {
    expect(whyNotTraining(facts)?.reason).toBe(reason);
  });

  it.each<[string, string | undefined, string, string | null]>([
    ['that it is resumed', undefined, 'The job resumes from step 4 as soon as its GPUs are free.', null],
    [
      'that the resume is not applied',
      'The Kubernetes API server does not answer.',
      'The resume has not reached the cluster: The Kubernetes API server does not answer.',
      'Coxswain tries again by itself. If the sentence stays, show it to the cluster administrator.',
    ],
  ])('says after a resume %s, not to resume once more', (_what, message, sentence, change) => {
    const facts = job([condition('Suspended', 'SuspendRequested', 'Nothing runs', 'True')], {
      summary: 'The job resumes from step 4 as soon as its GPUs are free.',
      applyFailure: message === undefined ? null : { message },
    });
    expect(whyNotTraining(facts)).toMatchObject({ sentence, change });
  });

  it.each<[ReferenceProblem, RegExp]>([
    ['missing', /^Create corpse in namespace lab/],
    ['deleting', /^Name another one, or create corpse again once/],
    ['lost', /^Name another claim, or ask the cluster administrator to restore the volume of corpse/],
  ])('says how to get around a claim that is %s', (problem, change) => {
    const claim = { kind: 'PersistentVolumeClaim', name: 'corpse', field: 'spec.data.claimName', problem } as const;
    const facts = job([accepted, condition('Placed', 'ObjectMissing', describeUnusable(claim, 'lab'))]);
    expect(whyNotTraining(facts)?.change).toMatch(change);
  });

  it('says how to get around a PriorityClass that does not exist', () => {
    const message = 'PriorityClass urgnet (spec.priorityClassName) does not exist. The cluster has urgent.';
    expect(whyNotTraining(job([accepted, condition('Placed', 'PriorityClassMissing', message)]))).toMatchObject({
      change: expect.stringMatching(/^Name a class that exists in .* to create urgnet\.$/),
      object: { kind: 'PriorityClass', name: 'urgnet' },
    });
  });

  it('names job and namespace in the change for a job that has not reached the cluster', () => {
    const facts = job([], { applyFailure: { message: 'jobs "a" is forbidden: exceeded quota: jobs, used: 2' } });
    expect(whyNotTraining(facts)?.change).toBe(
      'Raise ResourceQuota jobs of namespace lab, end other jobs there, or ask for less.',
    );
  });

  it('has a change for every reason that calls a person, and for no reason that a job leaves by itself', () => {
    const changes = (['Accepted', 'Placed', 'Running'] as const).flatMap((type) =>
      Object.keys(CONDITION_REASONS[type]).flatMap((reason) =>
        whyNotTraining(job([condition(type, reason, 'x')]))?.change === null ? [] : [`${type}/${reason}`],
      ),
    );
    const calling = Object.entries(PERSON_REASONS).flatMap(([type, reasons]) => reasons.map((one) => `${type}/${one}`));
    // What a pod waits for is read from its sentence.
    const bySentence = [
      'Accepted/RuntimeRefused',
      'Placed/ObjectMissing',
      'Placed/PriorityClassMissing',
      'Running/ImageUnavailable',
      'Running/SecretMissing',
      'Running/PodStuck',
    ];
    expect(calling.filter((one) => !bySentence.includes(one) && !changes.includes(one))).toEqual([]);
    expect(changes.filter((one) => !calling.includes(one))).toEqual([
      'Placed/WaitingForCapacity',
      'Placed/WaitingForPlan',
      'Placed/TopologyUnsatisfiable',
    ]);
  });
});
