/** Defaults of engines for options that a table does not state, by family and age. Every rule stands in docs/reference/planner-score.md. */
import type { GpuFacts, CandidateLayout, Precision, RankOrder } from '@coxswain/planner';
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

/** ZeRO stage of an engine: 3 for FSDP, TorchTitan and MaxText; else 1 since 2023 and 0 before. An engine without a date counts as 2023. */
export function defaultZeroStage(engine: string): CandidateLayout['zeroStage'] {
  if (/fsdp|torchtitan|maxtext/.test(familyOfEngine(engine))) return 3;
  return isModern(engine) ? 1 : 0;
}

/**
 * How an engine shards at a ZeRO stage: stage 0 is plain DDP; engines on DeepSpeed's code use DeepSpeed; others use the distributed optimizer or
 * FSDP.
 */
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
  { engine, model, gpu, precision }: StatedCells,
  facts: StatedFacts,
): Pick<CandidateLayout, 'overlapTensor' | 'overlapGradReduce' | 'overlapParamGather'> {
  const family = familyOfEngine(engine);
  const allowed = facts.overlapsCommunication ?? true;
  const sharded = family === 'deepspeed';
  const data = allowed && (sharded || (isModern(engine) && facts.gradientBuckets && family !== 'sailor'));
  return {
    overlapTensor:
      facts.overlapTensor ??
      (allowed &&
        overlapsTensor(engine, family) &&
        precision !== 'nvfp4' &&
        !recipeKeepsTensorTraffic(family, { model, gpu })),
    overlapGradReduce: data,
    overlapParamGather: data,
  };
}

/**
 * Recipes of Megatron-Bridge that turn it off or never on: `tp_comm_overlap=False` for Moonlight, DeepSeek and Kimi (src/megatron/bridge/recipes, v0.4.0) and for
 * Qwen3-235B-A22B on Hopper (scripts/performance/configs/qwen/qwen3_llm_pretrain.py, v0.2.0 to v0.4.0); Nemotron 3 Super and Ultra have no
 * `comm_overlap` at all (recipes/nemotronh, v0.5.1).
 */
function recipeKeepsTensorTraffic(family: string, { model, gpu }: Pick<StatedCells, 'model' | 'gpu'>): boolean {
  if (family !== 'megatron-bridge') return false;
  if (/qwen-?3-235b/i.test(model)) return /\bH[12]00/i.test(gpu);
  return /moonlight|deepseek|kimi|nemotron[- _]?3[- _]?(super|ultra)/i.test(model);
}

function overlapsTensor(engine: string, family: string): boolean {
  if (isNemoLine(engine) || family === 'amd mlperf' || family === 'megascale') return true;
  return /^megatron-(core|lm)$/.test(family) && (timeOfEngine(engine) ?? 0) >= 2024;
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

/** Gradients are kept and reduced in fp32 beside bf16 weights, except by recipes of the NeMo line and InternEvo; beside fp16 they stay in fp16. */
export function gradientBytesOf(engine: string, precision: Precision): 2 | 4 {
  if (precision === 'fp32') return 4;
  return precision === 'fp16' || isNemoLine(engine) || familyOfEngine(engine) === 'internevo' ? 2 : 4;
}

/** DeepSpeed's offload copies through memory that is not page-locked unless `pin_memory` is set, up to version 0.19.3 (runtime/zero/offload_config.py). */
export function hasPageableHostMemory({ engine, notes }: StatedCells): boolean {
  return familyOfEngine(engine) === 'deepspeed' && !/\bpin_memory\b/.test(notes);
}
