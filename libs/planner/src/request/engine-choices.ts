/** Which choices does the engine of a request offer? */
import { engineSupport, LAYOUT_ENGINES, type LayoutEngine, type ParallelLayout } from '@coxswain/layout';
import { USUAL_RECOMPUTATION } from '../recomputation-policies.ts';
import { RANK_ORDERS, SCHEDULES, type Precision } from '../facts.ts';
import {
  CONTEXT_ALGORITHMS,
  ZERO_STAGES,
  type AllowedChoices,
  type PinnedAxes,
  type RecomputePolicy,
} from '../contract.ts';

/**
 * The engine that a software stack names, if the layout rules know it: `megatron-lm core_v0.15` is a release of `megatron-lm`, and another
 * name stands for the engine that takes the same choices.
 */
export function engineOfStack(stack: string): LayoutEngine | undefined {
  const known = LAYOUT_ENGINES.find((engine) => stack === engine || stack.startsWith(`${engine} `));
  return known ?? SAME_CHOICES.find(([name]) => name.test(stack))?.[1];
}

/**
 * NeMo's recipes run on Megatron-Bridge and Megatron-Core is the library of Megatron-LM. Who says FSDP means PyTorch's and nothing beside it, as
 * Composer (its `parallelism_config`), Accelerate and Transformers have it.
 */
const SAME_CHOICES: readonly (readonly [RegExp, LayoutEngine])[] = [
  [/^nemo\b/, 'megatron-bridge'],
  [/^megatron-core\b/, 'megatron-lm'],
  [/^((pytorch|composer)[- ])?fsdp2?\b/, 'hugging-face'],
  [/^(accelerate|transformers|huggingface)\b/, 'hugging-face'],
];

/** Degrees that have a place in a pin, with a layout that asks for two of them. */
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

/** Degrees that an engine cannot be told above 1, by their pins. */
export function wholeDegreesOf(stack: string): readonly (typeof DEGREES)[number][0][] {
  const engine = engineOfStack(stack);
  if (engine === undefined) return [];
  return DEGREES.flatMap(([pin, option, layout]) => (refusalOf(engine, option, layout) === undefined ? [] : [pin]));
}

/** Programs that are told degrees, and whose user knows the rest. */
const OF_THE_USER: ReadonlySet<LayoutEngine> = new Set(['command', 'custom', 'reference']);

/** Why an engine refuses a choice, and what would do; undefined where it takes it, or nobody knows the engine. */
export function whyEngineRefuses(
  stack: string,
  { schedule, zeroStage, precision }: Pick<PinnedAxes, 'schedule' | 'zeroStage'> & { readonly precision?: Precision },
): string | undefined {
  const engine = engineOfStack(stack);
  if (engine === undefined || OF_THE_USER.has(engine)) return undefined;
  // Formats are those of the engine itself: Composer multiplies in fp8 where Trainer does not.
  const format = stack.startsWith(engine) && isFormat(precision) ? { kernel: { precision } } : {};
  const refusal =
    refusalOf(engine, 'pipeline.schedule', { pipelineParallelDegree: 2, pipeline: { schedule } }) ??
    refusalOf(engine, 'states.zeroStage', { states: { zeroStage } }) ??
    refusalOf(engine, 'kernel.precision', format);
  return refusal && `${refusal.reason}; ${refusal.fallback}`;
}

/** Those that a layout says; 16 and 32 bits are said by a job. */
function isFormat(precision: Precision | undefined): precision is Precision {
  return precision !== undefined && !['bf16', 'fp16', 'fp32'].includes(precision);
}

function refusalOf(
  engine: LayoutEngine,
  option: string,
  layout: Partial<ParallelLayout>,
): { readonly reason: string; readonly fallback: string } | undefined {
  const asked = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 2 };
  const outcome = engineSupport(engine, { ...asked, ...layout });
  return outcome.kind === 'supported' ? undefined : outcome.refusals.find((refusal) => refusal.option === option);
}

/**
 * Engines whose recomputation is not told by modules. TorchTitan chooses operations by itself or recomputes every layer, which is all that Transformers does
 * (`activation_checkpoint.mode`, `gradient_checkpointing`), and DeepSpeed: its pipeline computes groups of `activation_checkpoint_interval` layers again, all of
 * them (runtime/pipe/module.py, `forward`), and without one its file says of which kind checkpoints are and not of which layers.
 */
const RECOMPUTE_OF: Partial<Record<LayoutEngine, readonly RecomputePolicy[]>> = {
  torchtitan: ['none', 'operations', 'full'],
  'torchtitan-toml': ['none', 'operations', 'full'],
  'hugging-face': ['none', 'full'],
  deepspeed: ['none', 'full'],
};

/** What the engine that a stack names can be told to compute again; of one that nobody knows what is usual. */
export function policiesOf(stack: string | undefined): readonly RecomputePolicy[] {
  const engine = stack === undefined ? undefined : engineOfStack(stack);
  return (engine && RECOMPUTE_OF[engine]) ?? USUAL_RECOMPUTATION;
}

/** Megatron-LM puts the pipeline outermost, or data (`--use-tp-pp-dp-mapping`). */
function hasOrder(engine: LayoutEngine, order: (typeof RANK_ORDERS)[number]): boolean {
  return !/^megatron-(lm|bridge)$/.test(engine) || order === 'tp-cp-pp-dp';
}

/** TorchTitan gathers keys and values for FlexAttention since v0.3.0, where the rings of its TOML releases went. */
function isWithoutRing(stack: string | undefined): boolean {
  return stack !== undefined && /^torchtitan(?! v?0\.[012]\b)( |$)/.test(stack);
}

/** What the caller allows and the engine can be told. Where nothing would be left the caller's word stands, and the rules refuse what is wrong. */
export function choicesOfEngine(stack: string | undefined, allow: AllowedChoices): AllowedChoices {
  const engine = stack === undefined ? undefined : engineOfStack(stack);
  if (engine === undefined) return allow;
  const offers = (layout: Partial<ParallelLayout>, option: string): boolean => {
    const asked = { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 1, ...layout };
    const outcome = engineSupport(engine, asked);
    return outcome.kind === 'supported' || !outcome.refusals.some((refusal) => refusal.option === option);
  };
  const schedules = (allow.schedules ?? SCHEDULES).filter((schedule) =>
    offers({ pipeline: { schedule } }, 'pipeline.schedule'),
  );
  const ofRelease = (algorithm: string): boolean => !isWithoutRing(stack) || algorithm !== 'ring';
  const contextAlgorithms = (allow.contextAlgorithms ?? CONTEXT_ALGORITHMS).filter(
    (contextAlgorithm) =>
      ofRelease(contextAlgorithm) &&
      offers({ contextParallelDegree: 2, sequence: { contextAlgorithm } }, 'sequence.contextAlgorithm'),
  );
  const zeroStages = (allow.zeroStages ?? ZERO_STAGES).filter((zeroStage) =>
    offers({ dataParallelDegree: 2, pipelineParallelDegree: 1, states: { zeroStage } }, 'states.zeroStage'),
  );
  const rankOrders = (allow.rankOrders ?? RANK_ORDERS).filter(
    (order) => order === RANK_ORDERS[0] || (offers({ rankOrder: ['tensor'] }, 'rankOrder') && hasOrder(engine, order)),
  );
  const hostMemory = { offload: [{ what: 'optimizer' as const, fraction: 1 }], hostMemoryGibPerGpu: 1 };
  const offloads = offers({ memory: hostMemory }, 'memory.offload.what');
  const ofEngine = policiesOf(stack);
  const recompute = (allow.recompute ?? ofEngine).filter((policy) => ofEngine.includes(policy));
  return {
    ...allow,
    ...(recompute.length === 0 || (allow.recompute ?? ofEngine) === USUAL_RECOMPUTATION ? {} : { recompute }),
    ...(rankOrders.length === RANK_ORDERS.length ? {} : { rankOrders }),
    ...(offloads ? {} : { offload: false }),
    ...(zeroStages.length === 0 ? {} : { zeroStages }),
    ...(schedules.length === 0 ? {} : { schedules }),
    ...(contextAlgorithms.length === 0 ? {} : { contextAlgorithms }),
  };
}

/**
 * Bytes per gradient: the performance recipes of NVIDIA's NeMo line keep and reduce them in bf16 (`grad_reduce_in_fp32=False`), and its published steps,
 * which the constants of these engines are fitted to, were measured so. All others keep fp32.
 */
export function gradientBytesOf(stack: string | undefined): 2 | 4 {
  return stack !== undefined && engineOfStack(stack) === 'megatron-bridge' ? 2 : 4;
}
