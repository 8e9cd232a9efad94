/**
 * Facts of a layout that tables keep in free text: `engine`, `notes`, `recompute_detail`, `offload_detail`. Only what a user would state
 * about a run is read here; results that a note prints are not.
 */
import type { CandidateLayout, GraphedPart, RankOrder, RecomputeModule, Schedule } from '@coxswain/planner';
import type { StatedCells } from './measured-row.ts';

/** Undefined where nothing is stated. */
export interface StatedFacts {
  readonly schedule: Schedule | undefined;
  /** Stage layout in Megatron-Core's notation. */
  readonly stageText: string | undefined;
  /** Layers of each stage with embedding and head counted as layers. */
  readonly stageUnits: readonly number[] | undefined;
  readonly endsHoldOneLayerFewer: boolean;
  readonly vocabulary: VocabularyMethod | undefined;
  readonly dispatcher: CandidateLayout['dispatcher'] | undefined;
  readonly overlapExpert: boolean | undefined;
  /** False: the text says that communication is not overlapped. */
  readonly overlapsCommunication: boolean | undefined;
  readonly overlapTensor: boolean | undefined;
  readonly rankOrder: RankOrder | undefined;
  readonly gradientBuckets: boolean;
  readonly expertCapacity: number | undefined;
  readonly cudaGraphs: CandidateLayout['cudaGraphs'] | undefined;
  /** What partial CUDA graphs hold. */
  readonly graphedParts: readonly GraphedPart[] | undefined;
  readonly flashAttention: boolean | undefined;
  readonly firstFlashAttention: boolean;
  readonly tf32: boolean;
  readonly contextAlgorithm: CandidateLayout['contextAlgorithm'] | undefined;
  readonly recomputeModules: readonly RecomputeModule[];
  readonly recomputeLayersPerChunk: number | undefined;
  readonly offloadOptimizer: number;
  readonly offloadWeights: number;
  readonly offloadedActivationLayers: number | undefined;
  readonly offloadsActivations: boolean;
  readonly loraRank: number | undefined;
  /** Ranks that share one copy of the sharded states; -1 for all. */
  readonly shardGroup: number | 'node' | undefined;
  /** Bytes per parameter that the optimizer keeps besides the fp32 weights. */
  readonly momentBytes: number | undefined;
  /** Low-precision reductions of a sharded-data-parallel mode. */
  readonly gradientBytes: 2 | 4 | undefined;
}

/**
 * Where embedding and head run, as vocabulary parallelism (arXiv 2411.05288) names it: on the end stages (`base`), with layers redistributed
 * (`redis`), sharded over the pipeline with two barriers or one (`vocab1`, `vocab2`), or interlaced.
 */
export const VOCABULARY_METHODS = ['base', 'redis', 'vocab1', 'vocab2', 'interlaced'] as const;
/** One of {@link VOCABULARY_METHODS}. */
export type VocabularyMethod = (typeof VOCABULARY_METHODS)[number];

/** Reads the free text of a row. The function ignores text that no pattern matches. */
export function statedFacts(cells: StatedCells): StatedFacts {
  const { engine, notes } = cells;
  return {
    schedule: scheduleOf(cells),
    stageText: /pp_layout=([^\s;,]+)/.exec(notes)?.[1],
    stageUnits: stageUnitsOf(notes),
    endsHoldOneLayerFewer: /first and last stages? holds? one layer (fewer|less)/i.test(notes),
    vocabulary: vocabularyOf(cells),
    dispatcher: dispatcherOf(notes),
    overlapExpert:
      switchOf(notes, /EP (?:a2a )?overlap (on|off)/i) ?? (/1F1B overlap|\boverlap\b, CUDA/.test(notes) || undefined),
    overlapsCommunication: /communication overlap disabled|no overlap\b/i.test(notes) ? false : undefined,
    overlapTensor: /async(hronous)?[- ]TP|TP overlap on/i.test(`${engine} ${notes}`) || undefined,
    // Submissions whose configuration is named `..._dplast` put data parallelism outermost.
    rankOrder: /config_[\w-]*dplast|tp-pp-dp mapping/.test(notes) ? 'tp-cp-pp-dp' : undefined,
    gradientBuckets: !/no gradient bucketing/i.test(notes),
    expertCapacity: capacityOf(notes),
    cudaGraphs: cudaGraphsOf(notes),
    graphedParts: graphedPartsOf(notes),
    flashAttention: flashAttentionOf(notes),
    tf32: /\bTF32\b/.test(notes),
    firstFlashAttention: /flash-?attention 1\b/i.test(notes),
    contextAlgorithm: contextAlgorithmOf(`${engine} ${notes}`),
    recomputeModules: recomputeModulesOf(cells.recompute_detail),
    recomputeLayersPerChunk: numberIn(cells.recompute_detail, /block:\s*(\d+)/),
    offloadOptimizer: (numberIn(cells.offload_detail, /optimizer offload (\d+(?:\.\d+)?)\s*%/) ?? 0) / 100,
    offloadWeights: (numberIn(cells.offload_detail, /weight offload (\d+(?:\.\d+)?)\s*%/) ?? 0) / 100,
    offloadedActivationLayers: numberIn(cells.offload_detail, /activation CPU offload of (\d+) layers?/),
    offloadsActivations: /activation CPU offload True/i.test(`${notes} ${cells.offload_detail}`),
    loraRank: /\bLoRA\b/i.test(`${engine} ${notes}`) ? (numberIn(notes, /rank[ =](\d+)/i) ?? 16) : undefined,
    shardGroup: shardGroupOf(`${engine} ${notes}`),
    momentBytes: momentBytesOf(`${engine} ${notes}`),
    gradientBytes: gradientBytesOf(notes),
  };
}

/** The first pattern that fits wins: names that contain another name stand before it. */
const SCHEDULE_WORDS: readonly (readonly [RegExp, Schedule])[] = [
  [/v-?half/i, 'v-half'],
  [/v-?min/i, 'v-min'],
  [/dual-?pipe/i, 'dualpipe-v'],
  [/zb-?v\b/i, 'zbv'],
  [/zb-?(2p|h2)/i, 'zb-2p'],
  [/zb-?(1p|h1|b)\b|zbb/i, 'zb-h1'],
  [/1F1B-I\b|interleaved/i, 'interleaved-1f1b'],
  [/1F1B/i, '1f1b'],
  [/gpipe/i, 'gpipe'],
];

function scheduleOf({ engine, notes }: StatedCells): Schedule | undefined {
  const stated = /\bschedule ([\w-]+)/.exec(notes)?.[1];
  const inNotes = stated === undefined ? undefined : scheduleIn(stated);
  return inNotes ?? scheduleIn(engine) ?? (/(?:^|[;,]\s*)1F1B(?:,|;|$)/.test(notes) ? '1f1b' : undefined);
}

function scheduleIn(text: string): Schedule | undefined {
  return SCHEDULE_WORDS.find(([words]) => words.test(text))?.[1];
}

function vocabularyOf({ engine, notes }: StatedCells): VocabularyMethod | undefined {
  const stated = (/vocabulary method (\w+)/.exec(notes)?.[1] ?? engine.split('/').at(-1) ?? '').trim().toLowerCase();
  return VOCABULARY_METHODS.find((method) => method === stated);
}

function stageUnitsOf(notes: string): readonly number[] | undefined {
  const list = /layers per stage \(incl\. embedding\/head\) \[([\d, ]+)\]/.exec(notes)?.[1];
  return list?.split(',').map(Number);
}

function dispatcherOf(notes: string): CandidateLayout['dispatcher'] | undefined {
  if (/hybrid-?ep/i.test(notes)) return 'hybridep';
  if (/deep-?ep/i.test(notes)) return 'deepep';
  if (/alltoall/i.test(notes)) return 'alltoall';
  return /allgather dispatcher|dispatcher=allgather/i.test(notes) ? 'allgather' : undefined;
}

function capacityOf(notes: string): number | undefined {
  const stated = numberIn(notes, /capacity factor (\d+(?:\.\d+)?)/i);
  if (stated !== undefined) return stated;
  return /token-?drop/i.test(notes) || SIMUMAX.test(notes) ? 1 : undefined;
}

/** SimuMax measures with `--moe-expert-capacity-factor 1 --moe-pad-expert-input-to-capacity` (simu_tools/megatron_scripts of its repository). */
const SIMUMAX = /\bSimuMax predicted\b/;

/** `partial CUDA graphs`, `CUDA graphs (attn + moe_router)`, `TE-scoped CUDA graph`. */
const PARTIAL_GRAPHS =
  /\b(partial|scoped) CUDA graphs?\b|\bCUDA graphs? (of|for|over|\()\s*(parts|attn|attention|mamba|moe)/i;

/**
 * Fully sharded within a group and replicated across groups: `HSDP`, `dp_shard=8`, or InternEvo's words. Without a number the group is a node.
 */
function shardGroupOf(text: string): number | 'node' | undefined {
  const stated = numberIn(text, /optimizer states sharded over (-?\d+)/) ?? numberIn(text, /dp_shard[ =:]+(\d+)/i);
  if (stated !== undefined) return stated;
  return /\bHSDP\b|hybrid[- _]shard/i.test(text)
    ? (numberIn(text, /HSDP[^;,]*?\bshard(?:ed|s)?[ =](?:over )?(\d+)/i) ?? 'node')
    : undefined;
}

function cudaGraphsOf(notes: string): CandidateLayout['cudaGraphs'] | undefined {
  const stated = /cuda_graph=(\w+):(\S+)/.exec(notes);
  if (stated !== null) {
    const [, implementation = '', scope = ''] = stated;
    if (implementation === 'none') return 'none';
    return /full_iteration/.test(implementation + scope) ? 'full' : 'partial';
  }
  const graphs = switchOf(notes, /CUDA graphs (on|off)/i);
  if (graphs !== undefined) return graphs ? 'full' : 'none';
  if (/full-iteratio/i.test(notes)) return 'full';
  if (PARTIAL_GRAPHS.test(notes)) return 'partial';
  // Submissions name the configuration file after its options: `..._cg.sh` runs CUDA graphs, and so do those of the 8B benchmark.
  return /\bCUDA graphs\b|config_[\w-]*_(cg|8b)(_|\.)/.test(notes) ? 'full' : undefined;
}

/** By the names of Megatron-Core's `cuda_graph_scope`. */
const GRAPHED_PARTS: readonly (readonly [RegExp, GraphedPart])[] = [
  [/\battn\b|attention/, 'attention'],
  [/\bmamba\b/, 'stateSpace'],
  [/\bmoe_router\b/, 'router'],
];

/** Of `cuda_graph=transformer_engine:['attn', 'moe_router', 'moe_preprocess']` or `CUDA graphs (attn + mamba)`. */
function graphedPartsOf(notes: string): readonly GraphedPart[] | undefined {
  const scope = /cuda_graph=\w+:\[([^\]]+)\]/.exec(notes)?.[1] ?? /CUDA graphs? \(([^)]+)\)/.exec(notes)?.[1];
  if (scope === undefined) return undefined;
  const parts = GRAPHED_PARTS.flatMap(([words, part]) => (words.test(scope) ? [part] : []));
  return parts.length === 0 ? undefined : parts;
}

function flashAttentionOf(notes: string): boolean | undefined {
  if (/unfused attention|no FlashAttention/i.test(notes)) return false;
  return /flash-?attention|memory-efficient attention/i.test(notes) ? true : undefined;
}

function contextAlgorithmOf(text: string): CandidateLayout['contextAlgorithm'] | undefined {
  if (/ulysses/i.test(text)) return 'ulysses';
  if (/ring attention|ring_attn|megatron_cp_algo/i.test(text)) return 'ring';
  const gathers = /(CP|context|KV)\b[^;]*all-?gather|all-?gather[- ](based )?(CP|KV|context)|\bllama 3\b/i.test(text);
  return gathers ? 'allgather' : undefined;
}

/** The first pattern that fits a word of `recompute_detail` wins. */
const MODULE_WORDS: readonly (readonly [RegExp, RecomputeModule])[] = [
  [/core_?attn|core attention/, 'core_attn'],
  [/layer_?norm/, 'layernorm'],
  [/shared_?experts?/, 'shared_experts'],
  [/moe[_ ]act/, 'moe_act'],
  [/^moe$/, 'moe'],
  [/up_proj/, 'mla_up_proj'],
  [/mlp/, 'mlp'],
  [/mamba/, 'mamba'],
];

function recomputeModulesOf(detail: string): readonly RecomputeModule[] {
  const modules = detail
    .split(/\+|,| and /)
    .map((word) => MODULE_WORDS.find(([words]) => words.test(word.trim().toLowerCase()))?.[1])
    .filter((module) => module !== undefined);
  return [...new Set(modules)];
}

/** 8-bit Adam keeps two moments in a byte each, Muon one in fp32. */
function momentBytesOf(text: string): number | undefined {
  if (/8-bit (adam|optimizer)/i.test(text)) return 2;
  return /\bMuon\b/i.test(text) ? 4 : undefined;
}

/** Composer's PURE mode reduces in low precision, its DEFAULT mode in fp32, and so do Megatron-Bridge's recipes but for those of benchmarks. */
function gradientBytesOf(notes: string): 2 | 4 | undefined {
  if (/FSDP mode PURE/.test(notes)) return 2;
  return /FSDP mode DEFAULT|canonical recipe/.test(notes) ? 4 : undefined;
}

function switchOf(text: string, pattern: RegExp): boolean | undefined {
  const value = pattern.exec(text)?.[1];
  return value === undefined ? undefined : value.toLowerCase() === 'on';
}

function numberIn(text: string, pattern: RegExp): number | undefined {
  const value = pattern.exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}
