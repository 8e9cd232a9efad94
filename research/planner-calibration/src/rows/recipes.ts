/** What do Megatron-Bridge's recipes set where a table prints none? Every rule stands in docs/reference/planner-score.md. */
import type { AlsoIn8Bits, CandidateLayout, KeptInBf16, Precision, RecomputeModule } from '@coxswain/planner';
import type { StatedCells } from './measured-row.ts';
import { familyOfEngine, timeOfEngine } from './stack-of-engine.ts';

/** Options of a layout that a recipe sets: dispatcher, CUDA graphs with the parts they hold, and overlap of expert parallelism. */
export type RecipeDefaults = Pick<CandidateLayout, 'dispatcher' | 'cudaGraphs' | 'graphedParts' | 'overlapExpert'>;

/** What decides the options of a Megatron-Bridge recipe besides engine and GPU. */
export interface RecipeSituation {
  readonly hasExperts: boolean;
  /** Layers of several kinds (Mamba, attention, experts) in one pattern. */
  readonly isHybrid: boolean;
  /** Expert parallelism reaches beyond a node. */
  readonly expertsSpanNodes: boolean;
  /** The pipeline is interleaved. */
  readonly isInterleaved: boolean;
  readonly splitsTensors: boolean;
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
  const own = time >= HYBRIDEP_EVERYWHERE ? recipeOnHopper(cells, situation) : undefined;
  if (own !== undefined) return own;
  const graphs = recipeGraphs(cells, situation, time);
  const dropsTokens = /token-?drop/i.test(cells.notes);
  return {
    dispatcher: dropsTokens ? 'alltoall' : recipeDispatcher(cells, situation, time),
    cudaGraphs: graphs,
    overlapExpert: !dropsTokens && (graphs === 'full' || (situation.isInterleaved && !isNvl72(cells))),
  };
}

/**
 * Recipes for Hopper that differ from the others of their time, as Megatron-Bridge's repository has them. Moonlight on eight GPUs, with tensors split:
 * all-to-all and nothing else (`moonlight_16b_pretrain_8gpu_h100_bf16_config`); on sixteen: HybridEP, overlapped. Hybrids: graphs of attention and
 * mixers, not of the router (perf_recipes/nemotronh/h100). Qwen3-30B-A3B in bf16, since v0.3.1: HybridEP and graphs of the router; the
 * performance recipe, which its guides call canonical, overlaps it besides (perf_recipes/qwen/h100).
 */
function recipeOnHopper(cells: StatedCells, situation: RecipeSituation): RecipeDefaults | undefined {
  const { gpu, model, notes, precision } = cells;
  if (!/\bH[12]00/i.test(gpu)) return undefined;
  if (/moonlight/i.test(model)) {
    return situation.splitsTensors ? PLAIN_RECIPE : { dispatcher: 'hybridep', cudaGraphs: 'none', overlapExpert: true };
  }
  if (situation.isHybrid) {
    const graphedParts = ['attention', 'stateSpace'] as const;
    return { dispatcher: 'hybridep', cudaGraphs: 'partial', graphedParts, overlapExpert: false };
  }
  if (!/qwen-?3-30b/i.test(model) || precision !== 'bf16' || situation.isInterleaved) return undefined;
  const overlapExpert = /canonical recipe/.test(notes);
  return { dispatcher: 'hybridep', cudaGraphs: 'partial', graphedParts: ['router'], overlapExpert };
}

/**
 * Whether the router is made to spread tokens evenly over experts, as benchmarks do: stated, or a table of Megatron-Bridge, whose performance recipes
 * set `moe_router_force_load_balancing`. Moonlight's are none, and tables say so where the router was left alone.
 */
export function hasBalancedRouting({ engine, model, notes }: StatedCells): boolean {
  if (/natural (MoE )?routing/i.test(notes)) return false;
  if (/force[d]?[- ]?balanc|forced balanced|balanced routing|forced? balance/i.test(notes)) return true;
  return familyOfEngine(engine) === 'megatron-bridge' && !/moonlight/i.test(model);
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

const SUPER_LAYERS = 88;
/** `num_layers_at_end_in_bf16`, and `first_last_layers_bf16` with none at the start. */
const SUPER_LAST_IN_BF16 = 14;

/**
 * In NVFP4 Megatron-Bridge trains the last 14 layers of Nemotron 3 Super in bf16, and attention everywhere (`nemotron_3_super_bf16_with_nvfp4_mixed`
 * and `te_quant.cfg`, v0.4.0 to v0.5.1); latent projections and MTP, also in bf16, and outputs of mixers, in MXFP8, are counted as NVFP4.
 */
export function recipeKeptInBf16({ engine, model }: StatedCells, precision: Precision): KeptInBf16 | undefined {
  const isSuper = /nemotron[- _]?3[- _]?super/i.test(model) && familyOfEngine(engine) === 'megatron-bridge';
  return isSuper && precision === 'nvfp4'
    ? { attention: true, layersShare: SUPER_LAST_IN_BF16 / SUPER_LAYERS }
    : undefined;
}

/**
 * With graphs of a whole iteration in MXFP8 Megatron-Bridge's recipes also quantise attention, but for DeepSeek-V3 on GB200, and those of DeepSeek-V3 and GPT-OSS the output
 * projection (`fp8_dot_product_attention` of scripts/performance/configs, `fp8_output_proj` of the recipes beside them, v0.5.0; perf_recipes, v0.6.0).
 */
export function recipeAlsoIn8Bits(
  { engine, model, gpu }: StatedCells,
  precision: Precision,
  { cudaGraphs }: Pick<CandidateLayout, 'cudaGraphs'>,
): AlsoIn8Bits | undefined {
  if (familyOfEngine(engine) !== 'megatron-bridge' || precision !== 'mxfp8' || cudaGraphs !== 'full') return undefined;
  const isDeepSeek = /deepseek-?v3/i.test(model);
  return {
    attention: !(isDeepSeek && /GB200/i.test(gpu)),
    outputProjection: isDeepSeek || /gpt-?oss/i.test(model),
  };
}

/** Megatron-Bridge's recipes of DeepSeek-V3 and Moonlight keep both moments in bf16 (precision-aware optimizer). */
export function recipeMomentBytes({ engine, model }: StatedCells): number | undefined {
  return familyOfEngine(engine) === 'megatron-bridge' && /deepseek-?v3|moonlight/i.test(model) ? 4 : undefined;
}

/** Moonlight's recipes collect Python's garbage every five steps (`manual_gc_interval`), all others after a hundred. */
export function recipeStepsPerCollection({ engine, model }: StatedCells): number | undefined {
  return familyOfEngine(engine) === 'megatron-bridge' && /moonlight/i.test(model) ? 5 : undefined;
}
