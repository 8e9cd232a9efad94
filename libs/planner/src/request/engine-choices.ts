/** Choices that the engine of a request supports. */
import {
  engineSupport,
  LAYOUT_ENGINES,
  type LayoutEngine,
  type ParallelLayout,
  resolveGradientPrecision,
} from '@coxswain/layout';
import { USUAL_RECOMPUTATION } from '../recomputation-policies.ts';
import {
  RANK_ORDERS,
  SCHEDULES,
  type CandidateLayout,
  type Precision,
  type RankOrder,
  type Schedule,
} from '../facts.ts';
import {
  CONTEXT_ALGORITHMS,
  ZERO_STAGES,
  type AllowedChoices,
  type PinnedAxes,
  type RecomputePolicy,
} from '../contract.ts';

/**
 * The engine that a software stack names, if the layout rules know it: `megatron-lm core_v0.15` is a release of `megatron-lm`. A stack that the rules do not
 * know maps to an engine with the same choices, if there is one.
 */
export function engineOfStack(stack: string): LayoutEngine | undefined {
  const known = LAYOUT_ENGINES.find((engine) => stack === engine || stack.startsWith(`${engine} `));
  return known ?? SAME_CHOICES.find(([name]) => name.test(stack))?.[1];
}

const FSDP = /^((pytorch|composer)[- ])?fsdp2?\b/;

/** Whether a stack is PyTorch FSDP without DeepSpeed: it shards gradients with or without weights. */
export function isFsdpAlone(stack: string): boolean {
  return FSDP.test(stack);
}

/**
 * NeMo's recipes run on Megatron-Bridge and Megatron-Core is the library of Megatron-LM. Who says FSDP means PyTorch's and nothing beside it, as
 * Composer (its `parallelism_config`), Accelerate and Transformers have it. Sailor trains by a changed Megatron-DeepSpeed (eth-easl/sailor, third_party), and OneFlow
 * models of this kind are LiBai's.
 */
const SAME_CHOICES: readonly (readonly [RegExp, LayoutEngine])[] = [
  [/^nemo\b/, 'megatron-bridge'],
  [/^megatron-core\b/, 'megatron-lm'],
  [FSDP, 'hugging-face'],
  [/^sailor\b/, 'megatron-deepspeed'],
  [/^oneflow\b/, 'libai'],
  [/^vocabulary-parallel\b/, 'vocabulary-parallelism'],
];

/** Degrees that can be pinned, with a layout in which the degree is 2. */
const DEGREES = [
  ['tensor', 'tensorParallelDegree', { tensorParallelDegree: 2 }],
  ['context', 'contextParallelDegree', { contextParallelDegree: 2 }],
  ['pipeline', 'pipelineParallelDegree', { pipelineParallelDegree: 2 }],
  ['expert', 'expert.expertParallelDegree', { expert: { expertParallelDegree: 2, expertTensorParallelDegree: 1 } }],
  [
    'expertTensor',
    'expert.expertTensorParallelDegree',
    { tensorParallelDegree: 2, expert: { expertParallelDegree: 1, expertTensorParallelDegree: 2 } },
  ],
] as const satisfies readonly (readonly [keyof PinnedAxes, string, Partial<ParallelLayout>])[];

/** Pins of degrees for which an engine supports only 1. */
export function unsupportedDegreesOf(stack: string): readonly (typeof DEGREES)[number][0][] {
  const engine = engineOfStack(stack);
  if (engine === undefined) return [];
  return DEGREES.flatMap(([pin, option, layout]) => (refusalOf(engine, option, layout) === undefined ? [] : [pin]));
}

/** Engines that run the user's program, which decides what is supported. */
const USER_PROGRAMS: ReadonlySet<LayoutEngine> = new Set(['command', 'custom', 'reference']);

/** The engine that a stack names, unless it runs the user's program. */
export function namedEngineOf(stack: string): LayoutEngine | undefined {
  const engine = engineOfStack(stack);
  return engine === undefined || USER_PROGRAMS.has(engine) ? undefined : engine;
}

/** Why an engine does not support an option of a layout; undefined if it does. */
export function refusalOf(
  engine: LayoutEngine,
  option: string,
  layout: Partial<ParallelLayout>,
): { readonly reason: string; readonly fallback: string } | undefined {
  const asked = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2 };
  const outcome = engineSupport(engine, { ...asked, ...layout });
  return outcome.kind === 'supported' ? undefined : outcome.refusals.find((refusal) => refusal.option === option);
}

/**
 * Engines whose recomputation is not set by modules. TorchTitan chooses operations by itself or recomputes every layer (`activation_checkpoint.mode`).
 * Transformers recomputes every layer (`gradient_checkpointing`). The pipeline of DeepSpeed recomputes all groups of `activation_checkpoint_interval` layers
 * (runtime/pipe/module.py, `forward`). Without a pipeline its file states the kind of checkpoints and not their layers.
 */
const RECOMPUTE_OF: Partial<Record<LayoutEngine, readonly RecomputePolicy[]>> = {
  torchtitan: ['none', 'operations', 'full'],
  'torchtitan-toml': ['none', 'operations', 'full'],
  'hugging-face': ['none', 'full'],
  deepspeed: ['none', 'full'],
  // configs/common/train.py: each layer or none (`activation_checkpoint`).
  libai: ['none', 'full'],
};

/** The recomputation policies that the engine of a stack supports; the usual ones for an unknown engine and for the user's program. */
export function policiesOf(stack: string | undefined): readonly RecomputePolicy[] {
  const engine = stack === undefined ? undefined : namedEngineOf(stack);
  if (engine === undefined) return USUAL_RECOMPUTATION;
  if (refusalOf(engine, 'memory.recompute.mode', { memory: { recompute: { mode: 'full' } } }) !== undefined)
    return ['none'];
  return RECOMPUTE_OF[engine] ?? USUAL_RECOMPUTATION;
}

/** Megatron-LM puts the pipeline outermost, or data (`--use-tp-pp-dp-mapping`). */
function hasOrder(engine: LayoutEngine, order: (typeof RANK_ORDERS)[number]): boolean {
  return !/^megatron-(lm|bridge)$/.test(engine) || order === 'tp-cp-pp-dp';
}

/** TorchTitan gathers keys and values for FlexAttention since v0.3.0, where the rings of its TOML releases went. */
function isWithoutRing(stack: string | undefined): boolean {
  return stack !== undefined && /^torchtitan(?! v?0\.[012]\b)( |$)/.test(stack);
}

/** Values that an engine supports, for each choice that a request can restrict. */
export interface SupportedChoices {
  readonly schedules: readonly Schedule[];
  readonly contextAlgorithms: readonly CandidateLayout['contextAlgorithm'][];
  readonly zeroStages: readonly (0 | 1 | 2 | 3)[];
  readonly rankOrders: readonly RankOrder[];
  readonly recompute: readonly RecomputePolicy[];
}

/** The supported values of an engine. */
export function supportedChoicesOf(stack: string, engine: LayoutEngine): SupportedChoices {
  const offers = (layout: Partial<ParallelLayout>, option: string): boolean =>
    refusalOf(engine, option, { dataParallelDegree: 1, pipelineParallelDegree: 2, ...layout }) === undefined;
  return {
    schedules: SCHEDULES.filter((schedule) => offers({ pipeline: { schedule } }, 'pipeline.schedule')),
    contextAlgorithms: CONTEXT_ALGORITHMS.filter(
      (contextAlgorithm) =>
        (contextAlgorithm !== 'ring' || !isWithoutRing(stack)) &&
        offers({ contextParallelDegree: 2, sequence: { contextAlgorithm } }, 'sequence.contextAlgorithm'),
    ),
    zeroStages: ZERO_STAGES.filter(
      (zeroStage) =>
        (zeroStage !== 1 || !isFsdpAlone(stack)) &&
        offers({ dataParallelDegree: 2, pipelineParallelDegree: 1, states: { zeroStage } }, 'states.zeroStage'),
    ),
    rankOrders: RANK_ORDERS.filter(
      (order) =>
        order === RANK_ORDERS[0] || (offers({ rankOrder: ['tensor'] }, 'rankOrder') && hasOrder(engine, order)),
    ),
    recompute: policiesOf(stack),
  };
}

/** The choices that the request allows and the engine supports. A list without supported values stays as it is; `engine-pins.ts` rejects it. */
export function choicesOfEngine(stack: string | undefined, allow: AllowedChoices): AllowedChoices {
  const engine = stack === undefined ? undefined : engineOfStack(stack);
  if (stack === undefined || engine === undefined) return allow;
  const taken = supportedChoicesOf(stack, engine);
  const schedules = both(allow.schedules ?? SCHEDULES, taken.schedules);
  const contextAlgorithms = both(allow.contextAlgorithms ?? CONTEXT_ALGORITHMS, taken.contextAlgorithms);
  const zeroStages = both(allow.zeroStages ?? ZERO_STAGES, taken.zeroStages);
  const rankOrders = both(allow.rankOrders ?? RANK_ORDERS, taken.rankOrders);
  const recompute = both(allow.recompute ?? taken.recompute, taken.recompute);
  const hostMemory = { offload: [{ what: 'optimizer' as const, fraction: 1 }], hostMemoryGibPerGpu: 1 };
  const offloads = refusalOf(engine, 'memory.offload.what', { memory: hostMemory }) === undefined;
  return {
    ...allow,
    ...(recompute.length === 0 || (allow.recompute ?? taken.recompute) === USUAL_RECOMPUTATION ? {} : { recompute }),
    ...(rankOrders.length === RANK_ORDERS.length || rankOrders.length === 0 ? {} : { rankOrders }),
    ...(offloads ? {} : { offload: false }),
    ...(zeroStages.length === 0 ? {} : { zeroStages }),
    ...(schedules.length === 0 ? {} : { schedules }),
    ...(contextAlgorithms.length === 0 ? {} : { contextAlgorithms }),
  };
}

function both<T>(allowed: readonly T[], taken: readonly T[]): T[] {
  return allowed.filter((one) => taken.includes(one));
}

/**
 * The format of gradients that the planner chooses and writes into its layouts. The performance recipes of NVIDIA's NeMo line keep and reduce them in bf16
 * (`grad_reduce_in_fp32=False`), and the constants of these engines are fitted to steps that were measured so.
 */
export function plannedGradientsOf({
  stack,
  precision,
  gradientPrecision,
}: {
  readonly stack?: string | undefined;
  readonly precision: Precision;
  readonly gradientPrecision?: 'fp32' | 'bf16' | undefined;
}): 'fp32' | 'fp16' | 'bf16' {
  if (gradientPrecision !== undefined) return gradientPrecision;
  const engine = stack === undefined ? undefined : namedEngineOf(stack);
  const isNarrow = precision !== 'fp16' && precision !== 'fp32';
  return isNarrow && engine === 'megatron-bridge' ? 'bf16' : resolveGradientPrecision(engine, {}, precision);
}

/** Bytes of a gradient in that format. */
export function bytesOfGradient(format: 'fp32' | 'fp16' | 'bf16'): 2 | 4 {
  return format === 'fp32' ? 4 : 2;
}
