import { isDomainError } from '@coxswain/domain-error';
import type { PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from './parse-plan-request.ts';

const ASKED: PlanRequestInput = {
  model: 'llama-3.1-8b',
  cluster: { gpu: 'h100', gpus: 64 },
  globalBatchSize: 512,
  sequenceLength: 8192,
};

/** As somebody may write it: any field, any value. */
const written = (change: object): PlanRequestInput => ({ ...ASKED, ...change });
const onCluster = (change: object): PlanRequestInput => written({ cluster: { ...ASKED.cluster, ...change } });

interface Refusal {
  readonly message: string;
  readonly violations: readonly { readonly pointer: string; readonly detail: string }[];
}

function refusalOf(input: PlanRequestInput): Refusal {
  try {
    parsePlanRequest(input);
  } catch (error) {
    if (isDomainError(error, 'INVALID_REQUEST')) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('parsePlanRequest', () => {
  it('fills in what is left out: the fastest step, five layouts, islands of equal speed', () => {
    const islands = [{ gpus: 32 }, { gpus: 32, relativeSpeed: 0.5 }];
    expect(parsePlanRequest(onCluster({ islands }))).toEqual({
      ...ASKED,
      cluster: {
        ...ASKED.cluster,
        islands: [
          { gpus: 32, relativeSpeed: 1 },
          { gpus: 32, relativeSpeed: 0.5 },
        ],
      },
      objective: 'time',
      top: 5,
    });
  });

  it.each<[string, PlanRequestInput, string, string]>([
    ['no GPU', onCluster({ gpus: 0 }), '/cluster/gpus', '>=1'],
    ['half a GPU', onCluster({ gpus: 2.5 }), '/cluster/gpus', 'expected int'],
    ['GPUs in words', onCluster({ gpus: 'all' }), '/cluster/gpus', 'expected number'],
    ['GPUs without a name', onCluster({ gpu: '' }), '/cluster/gpu', '>=1 characters'],
    ['a link of no bandwidth', onCluster({ scaleOutGbPerS: 0 }), '/cluster/scaleOutGbPerS', '>=0.001'],
    ['a network of another kind', onCluster({ nicKind: 'token-ring' }), '/cluster/nicKind', '"infiniband"|"roce"'],
    ['an empty list of islands', onCluster({ islands: [] }), '/cluster/islands', '>=1 items'],
    ['an island without GPUs', onCluster({ islands: [{ gpus: 0 }] }), '/cluster/islands/0/gpus', '>=1'],
    ['a negative price', onCluster({ usdPerGpuHour: -1 }), '/cluster/usdPerGpuHour', '>=0'],
    ['a batch of nothing', written({ globalBatchSize: 0 }), '/globalBatchSize', '>=1'],
    ['a batch beyond 2^24', written({ globalBatchSize: 2 ** 24 + 1 }), '/globalBatchSize', '<=16777216'],
    ['a sequence of no tokens', written({ sequenceLength: 0 }), '/sequenceLength', '>=1'],
    ['an unknown number format', written({ precision: 'int4' }), '/precision', '"fp32"|"fp16"|"bf16"'],
    ['an unknown objective', written({ objective: 'fun' }), '/objective', '"time"|"cost"|"gpus"|"memory"'],
    ['a training of no tokens', written({ tokens: 0 }), '/tokens', '>0'],
    ['a deadline in the past', written({ tokens: 1, deadlineHours: -1 }), '/deadlineHours', '>0'],
    ['no layouts to answer with', written({ top: 0 }), '/top', '>=1'],
    ['more than a hundred', written({ top: 101 }), '/top', '<=100'],
    ['a margin of more than half', written({ memoryMarginShare: 0.6 }), '/memoryMarginShare', '<=0.5'],
    ['a pinned degree of nothing', written({ pinned: { tensor: 0 } }), '/pinned/tensor', '>=1'],
    ['a fourth ZeRO stage', written({ pinned: { zeroStage: 4 } }), '/pinned/zeroStage', '<=3'],
    ['more than all of the optimizer', written({ pinned: { offloadOptimizer: 2 } }), '/pinned/offloadOptimizer', '<=1'],
    ['an axis that does not exist', written({ pinned: { depth: 2 } }), '/pinned', '"depth"'],
    ['a schedule that does not exist', written({ allow: { schedules: ['2f2b'] } }), '/allow/schedules/0', '"1f1b"'],
    ['nothing allowed', written({ allow: { recompute: [] } }), '/allow/recompute', '>=1 items'],
    ['a field that does not exist', written({ modle: 'llama' }), '', '"modle"'],
    [
      'a model that has no layers',
      written({ model: undefined, modelShape: { layers: 0 } }),
      '/modelShape/layers',
      '>=1',
    ],
  ])('refuses %s at its field, with the rule', (_, input, pointer, rule) => {
    const { violations } = refusalOf(input);
    const own = violations.find((violation) => violation.pointer === pointer);
    expect(own?.detail).toContain(rule);
  });

  it.each<[string, PlanRequestInput, string, string]>([
    ['neither model nor sizes', written({ model: undefined }), '/model', 'give exactly one of model and modelShape'],
    [
      'a deadline without tokens',
      written({ deadlineHours: 10 }),
      '/tokens',
      'deadlineHours needs the tokens of the training; set tokens, or remove deadlineHours',
    ],
    [
      'fewest GPUs by no deadline',
      written({ objective: 'gpus', tokens: 1e9 }),
      '/deadlineHours',
      'objective gpus needs a deadline; set deadlineHours and tokens',
    ],
  ])('refuses %s with what to do instead', (_, input, pointer, detail) => {
    expect(refusalOf(input).violations).toEqual([{ pointer, detail }]);
  });

  it('refuses islands that do not hold the GPUs of the cluster, with both numbers', () => {
    const { violations } = refusalOf(onCluster({ islands: [{ gpus: 32 }, { gpus: 16 }] }));
    expect(violations).toHaveLength(1);
    expect(violations[0]?.pointer).toBe('/cluster/islands');
    expect(violations[0]?.detail).toMatch(/\b48\b.*\b64\b/);
  });

  it('names every fault at once, each with its field, and in one message', () => {
    const { message, violations } = refusalOf(
      written({ globalBatchSize: 0, sequenceLength: 0, cluster: { gpu: 'h100' } }),
    );
    expect(violations.map(({ pointer }) => pointer).sort()).toEqual([
      '/cluster/gpus',
      '/globalBatchSize',
      '/sequenceLength',
    ]);
    for (const { pointer, detail } of violations) expect(message).toContain(`${pointer}: ${detail}`);
  });

  it('calls the whole body the request', () => {
    expect(refusalOf(written({ modle: 1 })).message).toMatch(/^the request: /);
  });
});
