import { decideSlice, type GrowthFacts, pickWorkloads } from './decide-growth.ts';
import { readWorkload, type WorkloadFacts } from './workload-facts.ts';

const NOW_MS = Date.parse('2026-11-29T12:00:00Z');
const GPUS = { spec: { containers: [{ resources: { requests: { 'nvidia.com/gpu': '8' } } }] } };

/** A Workload of `count` pods of 8 GPUs, made so many seconds ago. */
function workload(
  name: string,
  about: {
    readonly count?: number;
    readonly age?: number;
    readonly conditions?: Readonly<Record<string, string>>;
    readonly replaces?: string;
    readonly active?: boolean;
    readonly deleting?: boolean;
    readonly finalizer?: boolean;
  } = {},
): WorkloadFacts {
  const { count = 4, age = 3_600, conditions = {}, replaces, active, deleting = false, finalizer = true } = about;
  return readWorkload({
    metadata: {
      name,
      creationTimestamp: new Date(NOW_MS - age * 1_000).toISOString(),
      ...(deleting ? { deletionTimestamp: '2026-11-29T11:59:00Z' } : {}),
      ...(finalizer ? { finalizers: ['kueue.x-k8s.io/resource-in-use'] } : {}),
      annotations: {
        'training.coxswain.dev/quota-request': 'pods',
        ...(replaces === undefined ? {} : { 'kueue.x-k8s.io/workload-slice-replacement-for': `team/${replaces}` }),
      },
    },
    spec: {
      queueName: 'research',
      podSets: [{ name: 'ranks', count, template: GPUS }],
      ...(active === undefined ? {} : { active }),
    },
    status: {
      conditions: Object.entries(conditions).map(([type, reason]) => ({ type, status: 'True', reason, message: '' })),
    },
  });
}

const ADMITTED = { QuotaReserved: 'QuotaReserved', Admitted: 'Admitted' };
const REPLACED = { ...ADMITTED, Finished: 'WorkloadSliceReplaced' };
const NEW = { count: 8, age: 5, replaces: 'gpt', finalizer: false };

describe('of two Workloads of a job', () => {
  it.each<[string, readonly WorkloadFacts[], readonly (string | undefined)[]]>([
    ['there may be none', [], [undefined, undefined, undefined]],
    ['there is usually one', [workload('gpt')], ['gpt', undefined, undefined]],
    [
      'the later one waits to take the place of the other',
      [workload('grown', NEW), workload('gpt', { conditions: ADMITTED })],
      ['gpt', 'grown', undefined],
    ],
    [
      'the later one counts as soon as Kueue has reserved its quota',
      [workload('gpt', { conditions: ADMITTED }), workload('grown', { ...NEW, conditions: { QuotaReserved: 'x' } })],
      ['grown', undefined, undefined],
    ],
    [
      'the other one is over when Kueue has finished it',
      [workload('gpt', { conditions: REPLACED }), workload('grown', { ...NEW, conditions: ADMITTED })],
      ['grown', undefined, 'gpt'],
    ],
    [
      'it stays so when the quota of the later one was taken back',
      [workload('gpt', { conditions: REPLACED }), workload('grown', NEW)],
      ['grown', undefined, 'gpt'],
    ],
    ['a replaced one that is alone counts', [workload('gpt', { conditions: REPLACED })], ['gpt', undefined, undefined]],
  ])('%s', (_what, found, expected) => {
    const { current, slice, replaced } = pickWorkloads(found);
    expect([current?.name, slice?.name, replaced?.name]).toEqual(expected);
  });
});

describe('the growth of a gang that holds quota for 4 pods', () => {
  const current = workload('gpt', { conditions: ADMITTED });
  const job: GrowthFacts['job'] = {
    uid: 'job-1',
    queueName: 'research',
    wantsGang: true,
    hasGang: true,
    hasStarted: true,
    isSettled: true,
    ended: undefined,
    digest: 'pods/4x8',
    growth: 'pods/8x8',
    room: undefined,
  };
  const facts: GrowthFacts = { job, current, slice: undefined, replaced: undefined, freeGpus: 32, nowMs: NOW_MS };
  const grown = workload('grown', NEW);
  const other = (changes: Partial<GrowthFacts['job']>): Partial<GrowthFacts> => ({ job: { ...job, ...changes } });

  it.each<[string, Partial<GrowthFacts>, string | undefined]>([
    ['asks for 8 pods in another Workload', {}, 'createSlice'],
    ['asks for nothing while the quota of the other 4 pods is not free', { freeGpus: 31 }, undefined],
    ['asks for nothing while it is not known what is free', { freeGpus: undefined }, undefined],
    ['asks for nothing if the gang does not grow', other({ growth: undefined }), undefined],
    ['asks for nothing while the gang stops', other({ isSettled: false }), undefined],
    ['asks for nothing if the job was suspended', other({ wantsGang: false }), undefined],
    ['asks for nothing if the job names another queue by now', other({ queueName: 'x' }), undefined],
    ['asks for no pods of another size', other({ growth: 'pods/4x16' }), undefined],
    [
      'asks for nothing while Kueue evicts the gang',
      { current: workload('gpt', { conditions: { ...ADMITTED, Evicted: 'Preempted' } }) },
      undefined,
    ],
    ['waits for the answer of Kueue', { slice: grown }, undefined],
    ['withdraws after half a minute', { slice: workload('grown', { ...NEW, age: 30 }) }, 'remove grown'],
    ['withdraws if the gang does not grow any more', { slice: grown, ...other({ growth: undefined }) }, 'remove grown'],
    ['withdraws if it would need another size', { slice: grown, ...other({ growth: 'pods/6x8' }) }, 'remove grown'],
    ['withdraws what was deactivated', { slice: workload('grown', { ...NEW, active: false }) }, 'remove grown'],
    ['withdraws with the job', { slice: grown, ...other({ wantsGang: false, isSettled: false }) }, 'remove grown'],
    [
      'holds what took the place',
      {
        current: workload('grown', { ...NEW, conditions: ADMITTED }),
        replaced: workload('gpt', { conditions: REPLACED }),
      },
      'hold',
    ],
    [
      'removes whose place was taken',
      {
        current: workload('grown', { ...NEW, finalizer: true, conditions: ADMITTED }),
        replaced: workload('gpt', { conditions: REPLACED }),
      },
      'remove gpt',
    ],
  ])('%s', (_what, changes, expected) => {
    const write = decideSlice({ ...facts, ...changes });
    expect(write?.kind === 'remove' ? `remove ${write.workload.name}` : write?.kind).toBe(expected);
  });
});
