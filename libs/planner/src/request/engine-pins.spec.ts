import type { LayoutEngine, ParallelLayout } from '@coxswain/layout';
import { engineSupport } from '@coxswain/layout';
import {
  CONTEXT_ALGORITHMS,
  RECOMPUTE_POLICIES,
  ZERO_STAGES,
  type PinnedAxes,
  type PlanRequestInput,
} from '../contract.ts';
import { RANK_ORDERS, SCHEDULES } from '../facts.ts';
import { plan } from '../questions/plan.ts';
import { predict } from '../questions/predict.ts';
import { parsePlanRequest } from './parse-plan-request.ts';
import { resolveRequest } from './resolved-request.ts';

const requestOf = (stack: string | undefined, change: Partial<PlanRequestInput>) =>
  parsePlanRequest({
    ...{ model: 'llama-3.1-8b', cluster: { gpu: 'h100', gpus: 8 }, globalBatchSize: 16, sequenceLength: 4096, top: 1 },
    ...(stack === undefined ? {} : { stack }),
    ...change,
  });

/** What is pinned, and how it is refused; undefined where it is taken. */
function refusalOf(stack: string | undefined, change: Partial<PlanRequestInput>): string | undefined {
  try {
    resolveRequest(requestOf(stack, change));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a pin that the engine cannot be told', () => {
  it.each<[string, string, PinnedAxes, string]>([
    [
      'half of the layers again, where TorchTitan chooses operations',
      'torchtitan',
      { recompute: 'half' },
      '/pinned/recompute: torchtitan does not support recompute half; use one of none, operations, full, or name another engine with stack',
    ],
    [
      'operations, where FSDP checkpoints whole layers',
      'fsdp',
      { recompute: 'operations' },
      '/pinned/recompute: fsdp does not support recompute operations; use one of none, full, or name another engine with stack',
    ],
    [
      'operations, which only TorchTitan has',
      'megatron-lm core_v0.15',
      { recompute: 'operations' },
      '/pinned/recompute: megatron-lm core_v0.15 does not support recompute operations; use one of none, core-attention, norms, mlp, half, full, or name',
    ],
    [
      'half of the layers by DeepSpeed',
      'deepspeed',
      { recompute: 'half' },
      '/pinned/recompute: deepspeed does not support recompute half; use one of none, full, or name',
    ],
    [
      'a ring that the release has not',
      'torchtitan',
      { contextAlgorithm: 'ring', context: 2 },
      '/pinned/contextAlgorithm: torchtitan does not support contextAlgorithm ring; use one of allgather, or name',
    ],
    [
      'a context, where there is none',
      'hugging-face',
      { contextAlgorithm: 'ring' },
      '/pinned/contextAlgorithm: hugging-face does not support contextAlgorithm ring; remove it, or name',
    ],
    [
      'data outermost, where the engine has one order',
      'torchtitan',
      { rankOrder: 'tp-cp-pp-dp' },
      '/pinned/rankOrder: torchtitan does not support rankOrder tp-cp-pp-dp; use one of tp-cp-dp-pp, or name',
    ],
    [
      'a pipeline inside data by Megatron-LM',
      'megatron-lm',
      { rankOrder: 'tp-pp-cp-dp' },
      '/pinned/rankOrder: megatron-lm does not support rankOrder tp-pp-cp-dp; use one of tp-cp-dp-pp, tp-cp-pp-dp, or name',
    ],
    [
      'the optimizer on the host, where weights are all that goes there',
      'torchtitan',
      { offloadOptimizer: 1 },
      '/pinned/offloadOptimizer: torchtitan does not support offloadOptimizer 1; remove it, or name',
    ],
    [
      'a part of the optimizer, where DeepSpeed keeps weights whole',
      'deepspeed',
      { offloadOptimizer: 0.5, zeroStage: 2 },
      '/pinned/offloadOptimizer: deepspeed does not support offloadOptimizer 0.5; pin 1, or also pin zeroStage 3, or name',
    ],
    [
      'activations that DeepSpeed does not compute again',
      'deepspeed',
      { offloadActivations: 1 },
      '/pinned/offloadActivations: deepspeed does not support offloadActivations 1; also pin recompute full, because it offloads only the inputs of recomputed layers',
    ],
    [
      'a part of activations by DeepSpeed',
      'deepspeed',
      { offloadActivations: 0.5, recompute: 'full' },
      '/pinned/offloadActivations: deepspeed does not support offloadActivations 0.5; pin 1, because it offloads all or nothing',
    ],
    [
      'a part of activations by the recipes of Megatron-Bridge',
      'nemo',
      { offloadActivations: 0.5 },
      '/pinned/offloadActivations: nemo does not support offloadActivations 0.5; pin 1, because it offloads all or nothing',
    ],
    [
      'activations by Sailor, which does not compute them again',
      'sailor',
      { offloadActivations: 1 },
      '/pinned/offloadActivations: sailor does not support offloadActivations 1; also pin recompute full',
    ],
    [
      'the optimizer shared alone, by FSDP',
      'composer-fsdp',
      { zeroStage: 1 },
      '/pinned/zeroStage: composer-fsdp does not support zeroStage 1; use one of 0, 2, 3, or name',
    ],
    [
      'groups that share states, by the Trainer',
      'hugging-face',
      { shardGroup: 4 },
      '/pinned/shardGroup: hugging-face does not support shardGroup 4: it shards states over all ranks that hold the same part of the model, 8 here; remove it',
    ],
  ])('is refused: %s', (_, stack, pinned, message) => {
    expect(refusalOf(stack, { pinned })).toContain(message);
  });

  it.each<[string, string | undefined, PinnedAxes]>([
    ['operations with TorchTitan', 'torchtitan', { recompute: 'operations' }],
    ['operations where no engine is named', undefined, { recompute: 'operations' }],
    ['half with a program of the user’s', 'custom', { recompute: 'half' }],
    ['a ring that the release had', 'torchtitan v0.2.2', { contextAlgorithm: 'ring', context: 2 }],
    ['the order of Megatron-LM with data outermost', 'megatron-bridge', { rankOrder: 'tp-cp-pp-dp' }],
    ['a part of the optimizer where DeepSpeed shards weights', 'deepspeed', { offloadOptimizer: 0.5, zeroStage: 3 }],
    ['activations that DeepSpeed computes again', 'deepspeed', { offloadActivations: 1, recompute: 'full' }],
    ['a part of activations with Megatron-LM', 'megatron-lm', { offloadActivations: 0.5 }],
    ['all of them with its recipes', 'megatron-bridge', { offloadActivations: 1 }],
    ['nothing on the host', 'torchtitan', { offloadOptimizer: 0, offloadActivations: 0 }],
    ['all ranks of the Trainer', 'hugging-face', { shardGroup: 8 }],
    ['groups of FSDP', 'fsdp', { shardGroup: 4 }],
  ])('is none: %s', (_, stack, pinned) => {
    expect(refusalOf(stack, { pinned })).toBeUndefined();
  });
});

describe('a list of which an engine takes nothing', () => {
  it.each<[string, string, PlanRequestInput['allow'], string | undefined]>([
    [
      'is refused',
      'torchtitan',
      { recompute: ['norms', 'half'] },
      '/allow/recompute: torchtitan does not support recompute norms, half; use one of none, operations, full, or name',
    ],
    [
      'is refused by each',
      'deepspeed',
      { contextAlgorithms: ['ring'], schedules: ['zbv'] },
      '/allow/schedules: deepspeed does not support schedules zbv; use one of 1f1b, or name another engine with stack; /allow/contextAlgorithms: deepspeed does not support contextAlgorithms ring',
    ],
    ['is none where it takes one', 'torchtitan', { recompute: ['norms', 'full'] }, undefined],
  ])('%s: %s', (_, stack, allow, message) => {
    const refused = refusalOf(stack, { allow });
    if (message === undefined) expect(refused).toBeUndefined();
    else expect(refused).toContain(message);
  });
});

/** What is said of recomputation, as a pin says it. */
function policyOf({ memory }: ParallelLayout): string {
  const { recompute } = memory ?? {};
  if (recompute === undefined) return 'none';
  if (recompute.mode === 'full') return recompute.method === 'block' ? 'half' : 'full';
  const { modules } = recompute;
  if (modules === undefined) return 'operations';
  return modules.includes('core_attn') ? 'core-attention' : modules.includes('mlp') ? 'mlp' : 'norms';
}

function hostShareOf({ memory }: ParallelLayout, kept: 'optimizer' | 'activations'): number {
  return memory?.offload?.find(({ what }) => what === kept)?.fraction ?? 1;
}

/** What a layout says in the place of each pin. */
const SAID: { readonly [Pin in keyof PinnedAxes]?: (layout: ParallelLayout) => unknown } = {
  recompute: policyOf,
  zeroStage: ({ states }) => states?.zeroStage ?? 0,
  schedule: ({ pipeline }) => pipeline?.schedule,
  contextAlgorithm: ({ sequence }) => sequence?.contextAlgorithm,
  offloadOptimizer: (layout) => hostShareOf(layout, 'optimizer'),
  offloadActivations: (layout) => hostShareOf(layout, 'activations'),
  rankOrder: ({ rankOrder = ['tensor', 'context', 'data', 'pipeline'] }) =>
    rankOrder.map((axis) => ({ tensor: 'tp', context: 'cp', data: 'dp', pipeline: 'pp' })[String(axis)]).join('-'),
};

describe('whatever is pinned', () => {
  const pins: readonly PinnedAxes[] = [
    ...RECOMPUTE_POLICIES.map((recompute) => ({ recompute })),
    ...ZERO_STAGES.map((zeroStage) => ({ zeroStage })),
    ...SCHEDULES.map((schedule) => ({ schedule, pipeline: 2 })),
    ...CONTEXT_ALGORITHMS.map((contextAlgorithm) => ({ contextAlgorithm, context: 2 })),
    ...RANK_ORDERS.map((rankOrder) => ({ rankOrder, pipeline: 2, tensor: 2, data: 2 })),
    { offloadOptimizer: 1 },
    { offloadOptimizer: 0.5, zeroStage: 3 },
    { offloadActivations: 1 },
    { offloadActivations: 1, recompute: 'full' },
  ];

  /** Each engine with the most by which a plan may be taken for another one when it is predicted. */
  it.each<[LayoutEngine, number]>([
    ['megatron-lm', 0.01],
    ['megatron-bridge', 0.01],
    ['torchtitan', 0.01],
    ['deepspeed', 0.01],
    // By DeepSpeed where it does not shard weights, whose gradients take longer than they were planned.
    ['hugging-face', 0.06],
  ])('%s is told it and predicted so, or it is refused', (engine, most) => {
    const contradictions = pins.flatMap((pinned) => {
      if (refusalOf(engine, { pinned }) !== undefined) return [];
      const request = requestOf(engine, { pinned });
      const { best, closest } = plan(request, { withAdvice: false });
      const found = best ?? closest?.plan;
      if (found === undefined) return [];
      const { layout, microBatchSize, prediction } = found;
      const otherwise = Object.entries(SAID).filter(([pin, claim]) => {
        const value = pinned[pin as keyof PinnedAxes];
        return value !== undefined && claim(layout) !== value;
      });
      const again = predict(request, { layout, microBatchSize });
      const isAsPlanned =
        Math.abs(again.stepTimeS / prediction.stepTimeS - 1) < most &&
        Math.abs(again.peakGib / prediction.peakGib - 1) < most;
      const isSupported = engineSupport(engine, layout).kind === 'supported';
      return otherwise.length === 0 && isAsPlanned && isSupported
        ? []
        : [{ pinned, layout, isAsPlanned, isSupported: isSupported }];
    });
    expect(contradictions).toEqual([]);
  });
});
