/** What an engine does where a table does not say: its own defaults, by family and age. Every rule stands in docs/reference/planner-score.md. */
import type { GpuFacts, CandidateLayout, Precision, RankOrder, RecomputeModule } from '@coxswain/planner';
import type { StatedCells } from './measured-row.ts';
import { familyOfEngine, timeOfEngine } from './stack-of-engine.ts';
import type { StatedFacts } from './stated-facts.ts';

/** Sequence parallelism, FlashAttention and overlapped gradient reduction became usual with the releases of 2023. */
const MODERN = 2023;
/** Engines on DeepSpeed's code, or that shard the optimizer as it does. */
const DEEPSPEED_FAMILIES = /deepspeed|internevo|colossal|sailor|oneflow/;
const UNDATED_UNFUSED_FAMILIES = ['megatron-deepspeed', 'sailor', 'zero-bubble', 'oneflow'];
const GPUS_BEFORE_AMPERE = /v100|2080|titan/i;

/** Engines of NVIDIA's NeMo line share their recipes' defaults. */
export function isNemoLine(engine: string): boolean {
  const family = familyOfEngine(engine);
  return family === 'megatron-bridge' || family.startsWith('nemo');
}

function isModern(engine: string): boolean {
  return (timeOfEngine(engine) ?? MODERN) >= MODERN;
}

/** Megatron has it since 2022; in published layouts every engine of 2023 or later that splits tensors uses it. */
export function hasSequenceParallel(engine: string): boolean {
  return isModern(engine) && !DEEPSPEED_FAMILIES.test(familyOfEngine(engine));
}

export function defaultZeroStage(engine: string): CandidateLayout['zeroStage'] {
  if (/fsdp|torchtitan|maxtext/.test(familyOfEngine(engine))) return 3;
  return isModern(engine) ? 1 : 0;
}

export function zeroImplementationOf(
  engine: string,
  stage: CandidateLayout['zeroStage'],
): CandidateLayout['zeroImplementation'] {
  if (stage === 0) return 'ddp';
  if (DEEPSPEED_FAMILIES.test(familyOfEngine(engine))) return 'deepspeed';
  return stage === 1 ? 'distopt' : 'fsdp';
}

/** MLPerf submissions of the NeMo line since 5.1 put data parallelism outermost (`TP_PP_DP_MAPPING`); all others follow Megatron's default. */
export function rankOrderOf(engine: string): RankOrder | undefined {
  return familyOfEngine(engine) === 'nemo mlperf' && (timeOfEngine(engine) ?? 0) >= 2025.5 ? 'tp-cp-pp-dp' : undefined;
}

/**
 * Communication that hides behind computation. Tensor parallelism is overlapped by recipes of the NeMo line (not in NVFP4), of AMD's
 * MLPerf submissions, by MegaScale and by Megatron-Core since 2024, or where `async TP` is stated.
 */
export function overlapsOf(
  { engine, precision }: StatedCells,
  facts: StatedFacts,
): Pick<CandidateLayout, 'overlapTensor' | 'overlapGradReduce' | 'overlapParamGather'> {
  const family = familyOfEngine(engine);
  const allowed = facts.overlapsCommunication ?? true;
  const sharded = family === 'deepspeed';
  const data = allowed && (sharded || (isModern(engine) && facts.gradientBuckets && family !== 'sailor'));
  return {
    overlapTensor: facts.overlapTensor ?? (allowed && overlapsTensor(engine, family) && precision !== 'nvfp4'),
    overlapGradReduce: data,
    overlapParamGather: data,
  };
}

function overlapsTensor(engine: string, family: string): boolean {
  if (isNemoLine(engine) || family === 'amd mlperf' || family === 'megascale') return true;
  return /^megatron-(core|lm)$/.test(family) && (timeOfEngine(engine) ?? 0) >= 2024;
}

export type RecipeDefaults = Pick<CandidateLayout, 'dispatcher' | 'cudaGraphs' | 'overlapExpert'>;

/** What decides the options of a Megatron-Bridge recipe besides engine and GPU. */
export interface RecipeSituation {
  readonly hasExperts: boolean;
  /** Layers of several kinds (Mamba, attention, experts) in one pattern. */
  readonly isHybrid: boolean;
  /** Expert parallelism reaches beyond a node. */
  readonly expertsSpanNodes: boolean;
  /** The pipeline is interleaved. */
  readonly isInterleaved: boolean;
}

const PLAIN_RECIPE: RecipeDefaults = { dispatcher: 'alltoall', cudaGraphs: 'none', overlapExpert: false };
/** Containers of November 2025, 2026 and June 2026, in years. */
const FIRST_HYBRIDEP = 2025.8;
const HYBRIDEP_EVERYWHERE = 2026;
const FULL_GRAPHS = 2026.4;

/**
 * Options of Megatron-Bridge's recipes for models with experts (`scripts/performance` of its releases 0.1 to 0.6), where a table prints
 * none. Dispatcher: DeepEP between Hopper nodes, HybridEP on NVL72 since 25.11 and everywhere since 2026. CUDA graphs: of parts on NVL72
 * and for hybrids, of the whole iteration in MXFP8 and NVFP4 since mid-2026. All-to-all is overlapped with interleaved pipelines outside
 * NVL72 and with whole-iteration graphs. Where a recipe's own options were printed, an option that is absent is off.
 */
export function recipeDefaults(cells: StatedCells, situation: RecipeSituation): RecipeDefaults {
  const printed = cells.notes.includes('layout-matched');
  if (!situation.hasExperts || printed || familyOfEngine(cells.engine) !== 'megatron-bridge') return PLAIN_RECIPE;
  const time = timeOfEngine(cells.engine) ?? HYBRIDEP_EVERYWHERE;
  const graphs = recipeGraphs(cells, situation, time);
  const dropsTokens = /token-?drop/i.test(cells.notes);
  return {
    dispatcher: dropsTokens ? 'alltoall' : recipeDispatcher(cells, situation, time),
    cudaGraphs: graphs,
    overlapExpert: !dropsTokens && (graphs === 'full' || (situation.isInterleaved && !isNvl72(cells))),
  };
}

function recipeDispatcher(cells: StatedCells, situation: RecipeSituation, time: number): CandidateLayout['dispatcher'] {
  if (time >= HYBRIDEP_EVERYWHERE || (time >= FIRST_HYBRIDEP && isNvl72(cells))) return 'hybridep';
  return situation.expertsSpanNodes && /H[12]00/i.test(cells.gpu) ? 'deepep' : 'alltoall';
}

function recipeGraphs(cells: StatedCells, situation: RecipeSituation, time: number): CandidateLayout['cudaGraphs'] {
  if (situation.isHybrid) return 'partial';
  if (time >= FULL_GRAPHS) return /^(mxfp8|nvfp4)$/.test(cells.precision) ? 'full' : 'none';
  return time >= FIRST_HYBRIDEP && isNvl72(cells) ? 'partial' : 'none';
}

function isNvl72({ gpu }: StatedCells): boolean {
  return /GB[23]00|NVL72/i.test(gpu);
}

/**
 * Modules that Megatron-Bridge's recipes of DeepSeek-V3 and Kimi-K2 compute again: the latent up-projection, on Hopper also the MLP;
 * nothing on GB300 in 8-bit formats since mid-2026. Undefined for other models.
 */
export function recipeRecompute({
  engine,
  model,
  gpu,
  precision,
}: StatedCells): readonly RecomputeModule[] | undefined {
  if (familyOfEngine(engine) !== 'megatron-bridge' || !/deepseek-?v3|kimi-?k2/i.test(model)) return undefined;
  if (/H[12]00/i.test(gpu)) return ['mla_up_proj', 'mlp'];
  const isRoomy = /GB300/i.test(gpu) && /fp8|fp4/.test(precision) && (timeOfEngine(engine) ?? 0) >= FULL_GRAPHS;
  return isRoomy ? [] : ['mla_up_proj'];
}

/** Megatron-Bridge trains Nemotron 3 Super and Ultra with two passes of their multi-token-prediction layer. */
export function recipeMtpLayers({ engine, model }: StatedCells): number | undefined {
  const isLarge = /nemotron[- _]?3[- _]?(super|ultra)/i.test(model);
  return isLarge && familyOfEngine(engine) === 'megatron-bridge' ? 2 : undefined;
}

/** fp8 in MLPerf submissions where the GPU has it (a configuration named `_fp4` says otherwise); else bf16 where the GPU has that. */
export function defaultPrecision({ engine, notes }: StatedCells, gpu: GpuFacts): Precision {
  if (/config_[\w-]*fp4/.test(notes) && gpu.fp4Tflops > 0) return 'nvfp4';
  if (/mlperf/.test(familyOfEngine(engine)) && gpu.fp8Tflops > 0) return 'fp8';
  return GPUS_BEFORE_AMPERE.test(gpu.name) ? 'fp16' : 'bf16';
}

/** Engines before 2023 and forks of them compute attention with separate kernels; GPUs before Ampere always do. */
export function hasFlashAttention({ engine, gpu }: StatedCells): boolean {
  if (GPUS_BEFORE_AMPERE.test(gpu)) return false;
  const undated = UNDATED_UNFUSED_FAMILIES.includes(familyOfEngine(engine)) ? MODERN - 1 : MODERN;
  return (timeOfEngine(engine) ?? undated) >= MODERN;
}

const OWN_ATTENTION_FAMILIES = /^(megatron-core|moe-folding|amd mlperf|primus|maxtext)$/;
/** Transformer Engine with cuDNN's attention for Hopper became what Megatron-LM runs with. */
const MEGATRON_WITH_CUDNN = 2024;
/** PyTorch 2.11 chooses cuDNN's attention on Hopper by itself (primitives_h100.json). */
const PYTORCH_MINOR_WITH_CUDNN = 11;

/**
 * Whether attention runs kernels that were written for Ampere (FlashAttention 1 or 2). NVIDIA's and AMD's own lines call their libraries' fused attention,
 * and so does Megatron-LM on Hopper unless it is older, which a row without a date is not: there was no Hopper then.
 */
export function hasAmpereFlashAttention(engine: string): boolean {
  const family = familyOfEngine(engine);
  if (isNemoLine(engine) || OWN_ATTENTION_FAMILIES.test(family)) return false;
  if (family === 'megatron-lm') return (timeOfEngine(engine) ?? MEGATRON_WITH_CUDNN) < MEGATRON_WITH_CUDNN;
  return family !== 'pytorch' || Number(/\b2\.(\d+)/.exec(engine)?.[1] ?? 0) < PYTORCH_MINOR_WITH_CUDNN;
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
