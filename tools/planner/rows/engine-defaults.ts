/** What an engine does where a table does not say: its own defaults, by family and age. Every rule stands in docs/reference/planner-score.md. */
import type { GpuFacts, LayoutPoint, Precision } from '@coxswain/planner';
import type { StatedCells } from './measured-row.ts';
import { familyOfEngine, timeOfEngine } from './stack-of-engine.ts';
import type { StatedFacts } from './stated-facts.ts';

/** Sequence parallelism, FlashAttention and overlapped gradient reduction became usual with the releases of 2023. */
const MODERN = 2023;
const MEGATRON_FAMILIES = /megatron|moe-folding|zero-bubble|vocabulary-parallel|primus|amd mlperf/;
/** Engines on DeepSpeed's code, or that shard the optimizer as it does. */
const DEEPSPEED_FAMILIES = /deepspeed|internevo|colossal|sailor|oneflow/;
const UNDATED_UNFUSED_FAMILIES = ['megatron-deepspeed', 'sailor', 'zero-bubble', 'oneflow'];
const GPUS_BEFORE_AMPERE = /v100|2080|titan/i;

/** Engines of NVIDIA's NeMo line share their recipes' defaults. */
export function isNemoLine(engine: string): boolean {
  const family = familyOfEngine(engine);
  return family === 'megatron-bridge' || family.startsWith('nemo');
}

function isMegatron(engine: string): boolean {
  return isNemoLine(engine) || MEGATRON_FAMILIES.test(familyOfEngine(engine));
}

function isModern(engine: string): boolean {
  return (timeOfEngine(engine) ?? MODERN) >= MODERN;
}

export function hasSequenceParallel(engine: string): boolean {
  return isMegatron(engine) && isModern(engine);
}

export function defaultZeroStage(engine: string): LayoutPoint['zeroStage'] {
  if (/fsdp|torchtitan|maxtext/.test(familyOfEngine(engine))) return 3;
  return isMegatron(engine) && isModern(engine) ? 1 : 0;
}

export function zeroImplementationOf(
  engine: string,
  stage: LayoutPoint['zeroStage'],
): LayoutPoint['zeroImplementation'] {
  if (stage === 0) return 'ddp';
  if (DEEPSPEED_FAMILIES.test(familyOfEngine(engine))) return 'deepspeed';
  return stage === 1 ? 'distopt' : 'fsdp';
}

/** Communication that hides behind computation. Only recipes of the NeMo line and of AMD's MLPerf submissions overlap tensor parallelism. */
export function overlapsOf(
  engine: string,
  facts: StatedFacts,
): Pick<LayoutPoint, 'overlapTensor' | 'overlapGradReduce' | 'overlapParamGather'> {
  const family = familyOfEngine(engine);
  const allowed = facts.overlapsCommunication ?? true;
  const sharded = family === 'deepspeed';
  const data = allowed && (sharded || (isModern(engine) && facts.gradientBuckets && family !== 'sailor'));
  return {
    overlapTensor: allowed && (isNemoLine(engine) || family === 'amd mlperf'),
    overlapGradReduce: data,
    overlapParamGather: data,
  };
}

export type RecipeDefaults = Pick<LayoutPoint, 'dispatcher' | 'cudaGraphs' | 'overlapExpert'>;

const PLAIN_RECIPE: RecipeDefaults = { dispatcher: 'alltoall', cudaGraphs: 'none', overlapExpert: false };

/**
 * Recipes of Megatron-Bridge for models with experts: HybridEP from 2026 on; from mid-2026 on full-iteration CUDA graphs and overlapped
 * all-to-all in MXFP8 and NVFP4. Where the options of a run's own recipe were printed, an option that is absent is off.
 */
export function recipeDefaults({ engine, notes, precision }: StatedCells, hasExperts: boolean): RecipeDefaults {
  const time = timeOfEngine(engine) ?? 0;
  const printed = notes.includes('layout-matched');
  if (!hasExperts || printed || time < 2026 || familyOfEngine(engine) !== 'megatron-bridge') return PLAIN_RECIPE;
  const full = time >= 2026.4 && /^(mxfp8|nvfp4)$/.test(precision);
  return { dispatcher: 'hybridep', cudaGraphs: full ? 'full' : 'none', overlapExpert: full };
}

/** fp8 in MLPerf submissions where the GPU has it (a configuration named `_fp4` says otherwise); else bf16 where the GPU has that. */
export function defaultPrecision({ engine, notes }: StatedCells, gpu: GpuFacts): Precision {
  if (/config_\w*fp4/.test(notes) && gpu.fp4Tflops > 0) return 'nvfp4';
  if (/mlperf/.test(familyOfEngine(engine)) && gpu.fp8Tflops > 0) return 'fp8';
  return GPUS_BEFORE_AMPERE.test(gpu.name) ? 'fp16' : 'bf16';
}

/** Engines before 2023 and forks of them compute attention with separate kernels; GPUs before Ampere always do. */
export function hasFlashAttention({ engine, gpu }: StatedCells): boolean {
  if (GPUS_BEFORE_AMPERE.test(gpu)) return false;
  const undated = UNDATED_UNFUSED_FAMILIES.includes(familyOfEngine(engine)) ? MODERN - 1 : MODERN;
  return (timeOfEngine(engine) ?? undated) >= MODERN;
}

/** Megatron-Bridge's recipes of DeepSeek-V3 and Moonlight keep both moments in bf16 (precision-aware optimizer). */
export function recipeMomentBytes({ engine, model }: StatedCells): number | undefined {
  return familyOfEngine(engine) === 'megatron-bridge' && /deepseek-?v3|moonlight/i.test(model) ? 4 : undefined;
}

/** Gradients are kept and reduced in fp32 beside bf16 weights, except by recipes of the NeMo line and InternEvo; beside fp16 they stay in fp16. */
export function gradientBytesOf(engine: string, precision: Precision): 2 | 4 {
  if (precision === 'fp32') return 4;
  return precision === 'fp16' || isNemoLine(engine) || familyOfEngine(engine) === 'internevo' ? 2 : 4;
}
