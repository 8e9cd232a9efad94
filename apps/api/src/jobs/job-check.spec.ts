import { type GpuCounts, type JobCheck, JobCreate, type StartVerdict } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import { DomainError } from '@coxswain/domain-error';
import { checkOf, type CheckFacts } from './job-check.ts';
import type { QuotaObject } from '@coxswain/scheduling';

const body = JobCreate.parse({ name: 'llama', spec: aJobSpec() });
const gpus: GpuCounts = { total: 16, free: 8, types: [] };
const fits = { chosenBy: 'User', verdict: 'fits', gpus: 4, fabric: 'x', plannerVersion: '1' } as const;
const missing = {
  kind: 'PersistentVolumeClaim',
  name: 'corpse',
  field: 'spec.data.claimName',
  problem: 'missing',
} as const;
const facts = (more: Partial<CheckFacts> = {}): CheckFacts => ({
  ...{
    body,
    namespace: 'lab',
    refusal: null,
    isNameTaken: false,
    isStartAdopted: false,
    denial: null,
    unusable: [],
    gpus,
    runtimeProblem: null,
    quotas: [],
    plan: fits,
  },
  ...more,
});

const aQuota = (name: string, hard: Record<string, string>, used: Record<string, string> = {}): QuotaObject => ({
  metadata: { name },
  spec: { hard },
  status: { used },
});

describe('the check of a job that is not submitted', () => {
  it.each<[string, Partial<CheckFacts>, Partial<StartVerdict> | null]>([
    ['finds nothing in its way', {}, null],
    [
      'names the rule that its layout breaks',
      { refusal: new DomainError('INVALID_LAYOUT', 'tp 3 does not divide 4 heads') },
      { reason: 'LayoutInvalid', sentence: 'tp 3 does not divide 4 heads' },
    ],
    [
      'names what is wrong with its spec',
      { refusal: new DomainError('INVALID_REQUEST', 'engine "reference" needs data') },
      { reason: 'SpecInvalid', sentence: 'engine "reference" needs data' },
    ],
    [
      'says that its name is taken',
      { isNameTaken: true },
      { reason: 'NameTaken', change: 'Choose another name, or delete job llama.' },
    ],
    [
      'says what a policy says',
      { denial: `ValidatingAdmissionPolicy 'names' with binding 'names' denied request: no llamas` },
      { reason: 'PodsRefused', object: { kind: 'ValidatingAdmissionPolicy', name: 'names' } },
    ],
    [
      'names a claim that does not exist, in the words that the job itself would have',
      { unusable: [missing], gpus: { ...gpus, free: 0 } },
      {
        reason: 'ObjectMissing',
        sentence:
          'PersistentVolumeClaim corpse (spec.data.claimName) does not exist in namespace lab. The job starts once pods can use it.',
      },
    ],
    [
      'says how many GPUs are free and how many it wants',
      { gpus: { ...gpus, free: 2 } },
      { reason: 'WaitingForCapacity', sentence: 'Needs 4 GPUs; 2 of 16 GPUs are free.' },
    ],
    [
      'says that waiting does not help if the cluster has fewer GPUs than it wants',
      { gpus: { total: 2, free: 2, types: [] } },
      {
        sentence: 'Needs 4 GPUs; the cluster has 2 in all.',
        change: 'Ask for at most 2 GPUs, or ask the cluster administrator for nodes with GPUs.',
      },
    ],
    [
      'says before a GPU is taken that a new job has no checkpoint to resume from',
      { body: { ...body, spec: { ...body.spec, resumeFrom: { from: 'other-e1-s20' } } } },
      { reason: 'CheckpointsUnusable' },
    ],
    [
      'lets a new job begin from an adopted checkpoint',
      { body: { ...body, spec: { ...body.spec, resumeFrom: { from: 'llama-run-7' } } }, isStartAdopted: true },
      null,
    ],
    [
      'lets a new job begin from scratch',
      { body: { ...body, spec: { ...body.spec, resumeFrom: { from: 'scratch' } } } },
      null,
    ],
  ])('%s', (_what, more, want) => {
    const { verdict } = checkOf(facts(more));
    if (want === null) expect(verdict).toBeNull();
    else expect(verdict).toMatchObject(want);
  });

  it.each<[string, number, readonly string[]]>([
    ['starts on fewer GPUs if the cluster has as many as it accepts', 2, ['Waits', 'Waits']],
    ['needs a change if the cluster has fewer than it accepts', 3, ['NeedsChange', 'NeedsChange']],
  ])('with minGpus %s', (_what, minGpus, want) => {
    const { layout: _layout, ...spec } = body.spec;
    const elastic = { name: 'llama', spec: { ...spec, gpus: 4, minGpus } } as JobCreate;
    const plan = { ...fits, refusal: 'The nodes have 2 GPUs, and the job wants 4.' };
    const { obstacles } = checkOf(facts({ body: elastic, gpus: { total: 2, free: 2, types: [] }, plan }));
    expect(obstacles?.map(({ effect }) => effect)).toEqual(want);
  });

  it.each<[string, CheckFacts['plan'], JobCheck['plan']]>([
    ['has the answer of the planner', fits, fits],
    ['has none if the planner knows too little', null, null],
    ['has none if the planner did not answer in time', undefined, null],
  ])('%s', (_what, plan, want) => {
    expect(checkOf(facts({ plan })).plan).toEqual(want);
  });

  it('says what it could not ask, and what only the operator can', () => {
    const unread = {
      runtimeProblem: undefined,
      denial: undefined,
      unusable: undefined,
      quotas: undefined,
      gpus: undefined,
      plan: undefined,
    };
    const { checked, notChecked } = checkOf(facts(unread));
    expect(checked).toEqual(['spec', 'name']);
    expect(notChecked.map(({ what }) => what)).toEqual([
      ...['runtime', 'cluster', 'objects', 'quotas', 'gpus', 'plan', 'pods'],
    ]);
    expect(new Set(notChecked.slice(0, 5).map(({ why }) => why))).toEqual(new Set(['it could not be read']));
  });

  it('does not say that the cluster could not be read where it was not asked', () => {
    const { notChecked } = checkOf(facts({ isNameTaken: true, denial: undefined }));
    expect(notChecked[0]).toEqual({ what: 'cluster', why: 'it is checked once spec and name are accepted' });
  });

  it.each<[string, Partial<CheckFacts>, readonly unknown[]]>([
    [
      'every field that is refused, with its value',
      {
        refusal: new DomainError('INVALID_LAYOUT', 'tp 3 does not divide 4 heads', [
          { pointer: '/spec/layout/dataParallelDegree', detail: 'tp 3 does not divide 4 heads' },
          { pointer: '/spec/engine/args/0', detail: 'it looks like a credential' },
        ]),
      },
      [
        ['spec.layout.dataParallelDegree', String(body.spec.layout?.dataParallelDegree), 'NeedsChange'],
        ['spec.engine.args.0', null, 'NeedsChange'],
      ],
    ],
    [
      'a runtime, two claims and too few GPUs at once',
      {
        runtimeProblem: 'there is no ClusterTrainingRuntime efa',
        unusable: [missing, { ...missing, name: 'scratch', field: 'spec.scratch.claimName' }],
        gpus: { total: 2, free: 2, types: [] },
      },
      [
        ['spec.runtimeRef', null, 'NeedsChange'],
        ['spec.data.claimName', 'corpse', 'NeedsChange'],
        ['spec.scratch.claimName', 'scratch', 'NeedsChange'],
        ['spec.layout', '4', 'NeedsChange'],
      ],
    ],
    ['GPUs that others hold, which it waits for', { gpus: { ...gpus, free: 2 } }, [['spec.layout', '4', 'Waits']]],
    [
      'a job that no layout fits',
      { plan: { ...fits, chosenBy: 'Planner', refusal: 'No layout on 4 h100 GPUs can train this: too large.' } },
      [['spec.layout', 'tp2 x dp2', 'NeedsChange']],
    ],
    [
      'a layout that is predicted not to fit, which may fail',
      { plan: { ...fits, verdict: 'doesNotFit', gpuType: 'h100', predictedPeakBytes: 2 ** 37 } },
      [['spec.layout', 'tp2 x dp2', 'MayFail']],
    ],
    [
      'a quota that is too small for ever, before one that is used up now',
      {
        quotas: [
          aQuota('used-up', { 'requests.nvidia.com/gpu': '8' }, { 'requests.nvidia.com/gpu': '6' }),
          aQuota('small', { pods: '0' }),
        ],
      },
      [
        ['spec.resources.gpusPerNode', String(body.spec.resources.gpusPerNode ?? 4), 'NeedsChange'],
        ['spec.layout', '4', 'Waits'],
      ],
    ],
  ])('lists %s', (_what, more, want) => {
    const { obstacles = [] } = checkOf(facts(more));
    expect(obstacles.map(({ field, value, effect }) => [field, value, effect])).toEqual(want);
  });

  it('explains a quota by the rule that explains the refusal of a pod', () => {
    const { verdict, obstacles } = checkOf(facts({ quotas: [aQuota('few', { 'requests.nvidia.com/gpu': '2' })] }));
    expect(verdict).toMatchObject({ reason: 'PodsRefused', object: { kind: 'ResourceQuota', name: 'few' } });
    expect(obstacles?.[0]).toMatchObject({
      rule: 'The pods of the job together need more than a quota allows: exceeded quota: few, requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=2.',
      change: 'Raise ResourceQuota few of namespace lab, end other jobs there, or ask for less.',
    });
  });
});
