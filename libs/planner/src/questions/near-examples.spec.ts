import type { PlanAnswer, PlanRequestInput } from '../contract.ts';
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { plan } from './plan.ts';

const llama8b = (gpus: number, change: Partial<PlanRequestInput> = {}): PlanAnswer =>
  answered({ model: 'llama-3.1-8b', gpus, ...change });
const llama70b = (gpus: number, change: Partial<PlanRequestInput> = {}): PlanAnswer =>
  answered({ model: 'llama-3.1-70b', gpus, ...change });

function answered({ gpus, ...request }: Partial<PlanRequestInput> & { readonly gpus: number }): PlanAnswer {
  const asked: PlanRequestInput = {
    cluster: { gpu: 'h100', gpus },
    globalBatchSize: 512,
    sequenceLength: 8192,
    allow: { schedules: ['1f1b', 'interleaved-1f1b'], offload: false },
    ...request,
  };
  return plan(parsePlanRequest(asked), { withAdvice: false });
}

/** Searched in a moment. */
const WITHOUT_CONTEXT = { pinned: { context: 1, microBatchSize: 1 } } as const;

const exampleOf = ({ ruledOut }: PlanAnswer, rule: string): string | undefined =>
  ruledOut.find((broken) => broken.rule === rule)?.example;

describe('the example of what was ruled out', () => {
  it.each<[string, () => PlanAnswer, string, RegExp]>([
    [
      'of memory is what differs in one choice from the answer, with all that it needs',
      () => llama8b(8, { globalBatchSize: 64 }),
      'memory',
      /^(dp8|tp\d.*) with micro-batch \d, .*needs (6[7-9]|[78]\d|9\d|1\d\d)\.\d GiB per GPU, but 66\.4 GiB may be used$/,
    ],
    [
      'is the closest layout itself, where nothing fits',
      () => llama8b(1, { cluster: { gpu: 'rtx-4090', gpus: 1 }, globalBatchSize: 8, sequenceLength: 4096 }),
      'memory',
      /^1 rank with micro-batch 1, recomputing all needs 139\.0 GiB per GPU, but 18\.7 GiB may be used$/,
    ],
    [
      'is the closest layout, where none meets the deadline',
      () => llama70b(64, { ...WITHOUT_CONTEXT, tokens: 15e12, deadlineHours: 240 }),
      'deadline',
      /^tp\d.* takes [\d.]+ s per step, but the deadline allows 0\.242 s$/,
    ],
    [
      'of a deadline is told of fewer GPUs, where more meet it',
      () => llama70b(128, { ...WITHOUT_CONTEXT, objective: 'gpus', tokens: 1e11, deadlineHours: 20 * 24 }),
      'deadline',
      / on 32 GPUs takes [\d.]+ s per step, but the deadline allows [\d.]+ s$/,
    ],
    [
      'of a batch that replicas do not divide has tensor groups of a node, where the model is large and nothing is legal',
      () => llama70b(1000, { globalBatchSize: 1024 }),
      'dataTimesMicroBatchDividesGlobalBatch',
      /^dataParallelDegree 125 times microBatchSize 1 is 125,/,
    ],
    [
      'and has none where the model is small',
      () => llama8b(1000, { globalBatchSize: 1024 }),
      'dataTimesMicroBatchDividesGlobalBatch',
      /^dataParallelDegree 1000 times microBatchSize 1 is 1000,/,
    ],
    [
      'of experts is the next degree that does not go',
      () => answered({ ...WITHOUT_CONTEXT, model: 'deepseek-v3', gpus: 64, allow: { schedules: ['1f1b'] } }),
      'expertGridFillsStage',
      /^expert\.expertParallelDegree (4|8|16|32|64) times expertTensorParallelDegree [148] is \d+,/,
    ],
  ])('%s', (_, ask, rule, example) => {
    expect(exampleOf(ask(), rule)).toMatch(example);
  });

  it('keeps what is pinned', () => {
    const answer = llama70b(64, { pinned: { tensor: 8, pipeline: 2, microBatchSize: 2, zeroStage: 1 } });
    expect(exampleOf(answer, 'memory')).toMatch(/^tp8 x dp4 x pp2 with micro-batch 2, \S+, ZeRO-1, /);
  });

  it('is none of stages without layers, where the search would have made them up', () => {
    const pinned = { tensor: 1, context: 1, pipeline: 3, schedule: 'interleaved-1f1b' } as const;
    const answer = llama8b(24, { globalBatchSize: 96, pinned });
    expect(answer.best).toBeDefined();
    expect(exampleOf(answer, 'stagesCoverModel')).toBeUndefined();
  });
});
