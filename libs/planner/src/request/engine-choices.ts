/** Which choices does the engine of a request offer? */
import { engineSupport, LAYOUT_ENGINES, type LayoutEngine, type ParallelLayout } from '@coxswain/layout';
import { RANK_ORDERS, SCHEDULES } from '../facts.ts';
import {
  CONTEXT_ALGORITHMS,
  RECOMPUTE_POLICIES,
  ZERO_STAGES,
  type AllowedChoices,
  type RecomputePolicy,
} from '../contract.ts';

/**
 * The engine that a software stack names, if the layout rules know it: `megatron-lm core_v0.15` is a release of `megatron-lm`, and NeMo's
 * recipes run on Megatron-Bridge.
 */
export function engineOfStack(stack: string): LayoutEngine | undefined {
  const known = LAYOUT_ENGINES.find((engine) => stack === engine || stack.startsWith(`${engine} `));
  return known ?? (/^nemo\b/.test(stack) ? 'megatron-bridge' : undefined);
}

/**
 * Engines whose recomputation is not told by modules. TorchTitan chooses operations by itself or recomputes every layer, as Transformers does
 * (`activation_checkpoint.mode`, `gradient_checkpointing`); DeepSpeed's pipeline recomputes every so many layers (`activation_checkpoint_interval`).
 */
const RECOMPUTE_OF: Partial<Record<LayoutEngine, readonly RecomputePolicy[]>> = {
  torchtitan: ['none', 'full'],
  'hugging-face': ['none', 'full'],
  deepspeed: ['none', 'half', 'full'],
};

/** Megatron-LM puts the pipeline outermost, or data (`--use-tp-pp-dp-mapping`). */
function hasOrder(engine: LayoutEngine, order: (typeof RANK_ORDERS)[number]): boolean {
  return !/^megatron-(lm|bridge)$/.test(engine) || order === 'tp-cp-pp-dp';
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
  const contextAlgorithms = (allow.contextAlgorithms ?? CONTEXT_ALGORITHMS).filter((contextAlgorithm) =>
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
  const ofEngine = RECOMPUTE_OF[engine] ?? RECOMPUTE_POLICIES;
  const recompute = (allow.recompute ?? RECOMPUTE_POLICIES).filter((policy) => ofEngine.includes(policy));
  return {
    ...allow,
    ...(recompute.length === 0 || recompute.length === RECOMPUTE_POLICIES.length ? {} : { recompute }),
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
