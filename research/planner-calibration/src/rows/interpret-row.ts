/** From a row of published measurements to the facts that a prediction reads. Rules fill what was not printed; each is counted by name. */
import type { ModelShape } from '@coxswain/layout';
import { type ClusterFacts, type CandidateLayout, type Precision, type RunFacts } from '@coxswain/planner';
import { recomputedLayersOf } from '@coxswain/planner/calibration';
import { requiredNumber, wholeNumber } from './cells.ts';
import { clusterOfRow } from './cluster-of-row.ts';
import {
  defaultPrecision,
  defaultZeroStage,
  gradientBytesOf,
  hasAmpereFlashAttention,
  hasFlashAttention,
  hasPageableHostMemory,
  hasSequenceParallel,
  isNemoLine,
  overlapsOf,
  rankOrderOf,
  zeroImplementationOf,
} from './engine-defaults.ts';
import {
  hasBalancedRouting,
  recipeAlsoIn8Bits,
  recipeDefaults,
  recipeKeptInBf16,
  recipeMomentBytes,
  recipeRecompute,
  recipeStepsPerCollection,
  type RecipeDefaults,
} from './recipes.ts';
import { FilledValues, Unpredicted } from './filled-values.ts';
import type { MeasuredRow, StatedCells } from './measured-row.ts';
import { modelOfRow } from './model-of-row.ts';
import { stackOfEngine } from './stack-of-engine.ts';
import { stagesOfRow } from './stages-of-row.ts';
import { statedFacts, type StatedFacts } from './stated-facts.ts';

/** The facts of a run, or the reason why the row is not predicted. */
export type Interpretation =
  | { readonly run: RunFacts; /** Names of the rules that filled a value. */ readonly filled: readonly string[] }
  | { readonly unpredicted: string };

/** Interprets a row. Never throws: an unclear row has a reason why it is not predicted. */
export function interpretRow(row: MeasuredRow): Interpretation {
  if (row.fault !== undefined) return { unpredicted: row.fault };
  const filled = new FilledValues();
  try {
    return { run: runOf(row.stated, filled), filled: filled.rules };
  } catch (error) {
    if (error instanceof Unpredicted) return { unpredicted: error.message };
    return { unpredicted: `not understood: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function runOf(cells: StatedCells, filled: FilledValues): RunFacts {
  const facts = statedFacts(cells);
  const degrees = degreesOf(cells, filled);
  const cluster = clusterOfRow(cells, filled);
  const model = modelOfRow(cells, filled);
  const precision = precisionOf(cells, cluster, filled);
  const candidate = layoutOf({ cells, facts, filled, degrees, model, cluster });
  return {
    model,
    cluster,
    stack: stackOfEngine(cells.engine),
    precision,
    ...keptInBf16Of(cells, precision),
    ...alsoIn8BitsOf(cells, precision, candidate),
    ...(hasAmpereFlashAttention(cells.engine) ? { ampereFlashAttention: true } : {}),
    ...(facts.tf32 ? { tf32: true } : {}),
    ...(facts.firstFlashAttention ? { firstFlashAttention: true } : {}),
    ...(hasPageableHostMemory(cells) ? { pageableHostMemory: true } : {}),
    flashAttention: filled.or(facts.flashAttention, 'flash attention by engine', () => hasFlashAttention(cells)),
    gradientBytes: facts.gradientBytes ?? gradientBytesOf(cells.engine, precision),
    ...momentBytesOf(cells, facts),
    loraRank: facts.loraRank ?? 0,
    ...(hasBalancedRouting(cells) ? { balancedRouting: true } : {}),
    ...collectionsOf(cells),
    candidate,
    globalBatchSize: degrees.globalBatchSize,
    sequenceLength: requiredNumber(cells, 'seq_len'),
  };
}

function momentBytesOf(cells: StatedCells, facts: StatedFacts): Pick<RunFacts, 'momentBytes'> {
  const momentBytes = facts.momentBytes ?? recipeMomentBytes(cells);
  return momentBytes === undefined ? {} : { momentBytes };
}

function keptInBf16Of(cells: StatedCells, precision: Precision): Pick<RunFacts, 'keptInBf16'> {
  const keptInBf16 = recipeKeptInBf16(cells, precision);
  return keptInBf16 === undefined ? {} : { keptInBf16 };
}

function alsoIn8BitsOf(
  cells: StatedCells,
  precision: Precision,
  candidate: CandidateLayout,
): Pick<RunFacts, 'alsoIn8Bits'> {
  const alsoIn8Bits = recipeAlsoIn8Bits(cells, precision, candidate);
  return alsoIn8Bits === undefined ? {} : { alsoIn8Bits };
}

function collectionsOf(cells: StatedCells): Pick<RunFacts, 'stepsPerCollection'> {
  const stepsPerCollection = recipeStepsPerCollection(cells);
  return stepsPerCollection === undefined ? {} : { stepsPerCollection };
}

interface Degrees {
  readonly tensor: number;
  readonly pipeline: number;
  readonly context: number;
  readonly data: number;
  readonly microBatchSize: number;
  readonly globalBatchSize: number;
}

function degreesOf(cells: StatedCells, filled: FilledValues): Degrees {
  const tensor = requiredNumber(cells, 'tp');
  const pipeline = requiredNumber(cells, 'pp');
  const context = filled.or(wholeNumber(cells, 'cp'), 'cp = 1', () => 1);
  const gpus = requiredNumber(cells, 'gpus');
  const replica = tensor * pipeline * context;
  const stated = wholeNumber(cells, 'dp');
  // Tables disagree on what dp counts: the number of GPUs decides.
  const data = filled.or(
    stated === gpus / replica ? stated : undefined,
    'dp = gpus / (tp pp cp)',
    () => gpus / replica,
  );
  if (!Number.isInteger(data)) throw new Unpredicted('gpus is not a multiple of tp x pp x cp');
  const microBatchSize = requiredNumber(cells, 'mbs');
  const globalBatchSize = globalBatchOf(cells, microBatchSize * data, filled);
  if (globalBatchSize % (microBatchSize * data) !== 0) throw new Unpredicted('gbs is not a multiple of mbs x dp');
  return { tensor, pipeline, context, data, microBatchSize, globalBatchSize };
}

function globalBatchOf(cells: StatedCells, samplesPerMicroBatch: number, filled: FilledValues): number {
  const microBatches = Number(
    /micro_num (\d+)|(\d+) ?micro-?batches|grad-accum (\d+)/.exec(cells.notes)?.slice(1).join(''),
  );
  if (!(microBatches > 0)) return requiredNumber(cells, 'gbs');
  const stated = wholeNumber(cells, 'gbs');
  return filled.or(stated, 'gbs = mbs x dp x micro-batches', () => samplesPerMicroBatch * microBatches);
}

interface LayoutInput {
  readonly cells: StatedCells;
  readonly facts: StatedFacts;
  readonly filled: FilledValues;
  readonly degrees: Degrees;
  readonly model: ModelShape;
  readonly cluster: ClusterFacts;
}

function layoutOf(input: LayoutInput): CandidateLayout {
  const { cells, facts, filled, degrees, model } = input;
  const { tensor, pipeline, context, data, microBatchSize } = degrees;
  const schedule = scheduleOf(cells, facts, degrees, filled);
  const zeroStage = zeroStageOf(cells, filled);
  const experts = expertDegrees(input);
  const rankOrder = facts.rankOrder ?? rankOrderOf(cells.engine);
  return {
    tensor,
    context,
    pipeline,
    data,
    shardGroup: shardGroupOf(facts, data * context, input.cluster.gpusPerNode / tensor),
    ...experts,
    sequenceParallel: tensor > 1 && filled.or(flagOf(cells), 'sp by engine', () => hasSequenceParallel(cells.engine)),
    contextAlgorithm: facts.contextAlgorithm ?? 'ring',
    ...(rankOrder === undefined ? {} : { rankOrder }),
    ...schedule,
    ...stagesOfRow(model, pipeline * schedule.chunks, facts),
    zeroStage,
    zeroImplementation: zeroImplementationOf(cells.engine, zeroStage),
    ...recomputeOf(input),
    offloadOptimizer: Math.min(1, facts.offloadOptimizer),
    offloadActivations: offloadedActivations(facts, model),
    offloadWeights: Math.min(1, facts.offloadWeights),
    microBatchSize,
    ...overlapsOf(cells, facts),
    ...expertFeatures(input, { expert: experts.expert, chunks: schedule.chunks, tensor }),
  };
}

const TWO_CHUNK_SCHEDULES = ['zbv', 'v-half', 'v-min', 'dualpipe-v'] as const;

function scheduleOf(
  cells: StatedCells,
  facts: StatedFacts,
  degrees: Degrees,
  filled: FilledValues,
): Pick<CandidateLayout, 'schedule' | 'chunks'> {
  if (degrees.pipeline === 1) return { schedule: '1f1b', chunks: 1 };
  if (TWO_CHUNK_SCHEDULES.some((one) => one === facts.schedule))
    return { schedule: facts.schedule ?? 'zbv', chunks: 2 };
  const chunks = filled.or(wholeNumber(cells, 'vpp'), 'vpp = 1', () => 1);
  if (chunks > 1) return { schedule: 'interleaved-1f1b', chunks };
  return { schedule: facts.schedule === 'interleaved-1f1b' ? '1f1b' : (facts.schedule ?? '1f1b'), chunks };
}

function expertDegrees({
  cells,
  filled,
  degrees,
  model,
}: LayoutInput): Pick<CandidateLayout, 'expert' | 'expertTensor'> {
  const { tensor, context, data } = degrees;
  if (model.experts === undefined) return { expert: 1, expertTensor: 1 };
  const expert = filled.or(wholeNumber(cells, 'ep'), 'ep = 1', () => 1);
  const stageGpus = tensor * context * data;
  const expertTensor = filled.or(wholeNumber(cells, 'etp'), 'etp by engine', () =>
    isNemoLine(cells.engine) || stageGpus % (tensor * expert) !== 0 || expert * tensor > stageGpus ? 1 : tensor,
  );
  if (stageGpus % (expert * expertTensor) !== 0) throw new Unpredicted('ep x etp does not divide the GPUs of a stage');
  if (model.experts.count % expert !== 0) throw new Unpredicted('ep does not divide the number of experts');
  return { expert, expertTensor };
}

function expertFeatures(
  { cells, facts, filled, model, cluster }: LayoutInput,
  { expert, chunks, tensor }: Pick<CandidateLayout, 'expert' | 'chunks' | 'tensor'>,
): Pick<CandidateLayout, 'dispatcher' | 'expertCapacity' | 'cudaGraphs' | 'graphedParts' | 'overlapExpert'> {
  const recipe = recipeDefaults(cells, {
    hasExperts: model.experts !== undefined,
    isHybrid: model.layerPattern !== undefined,
    expertsSpanNodes: expert > cluster.gpusPerNode,
    isInterleaved: chunks > 1,
    splitsTensors: tensor > 1,
  });
  const dispatcher = model.experts === undefined ? 'alltoall' : facts.dispatcher;
  return {
    dispatcher: filled.or(dispatcher, 'dispatcher, graphs and overlap by release', () => recipe.dispatcher),
    ...(facts.expertCapacity === undefined ? {} : { expertCapacity: facts.expertCapacity }),
    cudaGraphs: facts.cudaGraphs ?? recipe.cudaGraphs,
    ...graphedPartsOf(facts, recipe),
    overlapExpert: facts.overlapExpert ?? recipe.overlapExpert,
  };
}

function graphedPartsOf(facts: StatedFacts, recipe: RecipeDefaults): Pick<CandidateLayout, 'graphedParts'> {
  const graphedParts = facts.graphedParts ?? (facts.cudaGraphs === undefined ? recipe.graphedParts : undefined);
  return graphedParts === undefined ? {} : { graphedParts };
}

/** Of `ranks` that hold the same weights, of which a node holds `inNode`: how many share one copy of the sharded states. */
function shardGroupOf(facts: StatedFacts, ranks: number, inNode: number): number {
  const stated = facts.shardGroup === 'node' ? inNode : facts.shardGroup;
  return stated !== undefined && stated > 0 && ranks % stated === 0 ? stated : ranks;
}

function flagOf(cells: StatedCells): boolean | undefined {
  if (cells.sp === '') return undefined;
  return cells.sp !== '0' && cells.sp.toLowerCase() !== 'false';
}

function zeroStageOf(cells: StatedCells, filled: FilledValues): CandidateLayout['zeroStage'] {
  const stated = wholeNumber(cells, 'zero_stage', 0);
  if (stated !== undefined && stated > 3) throw new Unpredicted('zero_stage is above 3');
  return filled.or(stated, 'zero_stage by engine', () =>
    defaultZeroStage(cells.engine),
  ) as CandidateLayout['zeroStage'];
}

type Recomputation = Pick<CandidateLayout, 'recompute' | 'recomputeModules' | 'recomputeLayersPerChunk'>;

/** TorchTitan's selective checkpointing by operator (`selective op`). */
function isByOperator({ recompute, recompute_detail }: StatedCells): boolean {
  return /\bop\b/i.test(`${recompute} ${recompute_detail}`);
}

function recomputedByOperator({ layers }: ModelShape, { pipeline }: Degrees): Recomputation {
  const recomputeLayersPerChunk = recomputedLayersOf('operations', layers / pipeline) ?? 1;
  return { recompute: 'full', recomputeModules: [], recomputeLayersPerChunk };
}

function recomputeOf({ cells, facts, filled, model, degrees }: LayoutInput): Recomputation {
  const stated = recomputeMode(cells.recompute);
  if (facts.recomputeLayersPerChunk !== undefined) {
    return { recompute: 'full', recomputeModules: [], recomputeLayersPerChunk: facts.recomputeLayersPerChunk };
  }
  if (stated === undefined && !cells.notes.includes('layout-matched')) {
    const modules = recipeRecompute(cells) ?? [];
    if (modules.length > 0) {
      return {
        recompute: filled.or(undefined, 'recompute by recipe', () => 'selective' as const),
        recomputeModules: modules,
      };
    }
  }
  const mode = filled.or<CandidateLayout['recompute']>(stated, 'recompute = none', () => 'none');
  if (mode !== 'selective') return { recompute: mode, recomputeModules: [] };
  if (isByOperator(cells)) return recomputedByOperator(model, degrees);
  const modules = facts.recomputeModules.length > 0 ? facts.recomputeModules : (['core_attn'] as const);
  return { recompute: 'selective', recomputeModules: modules };
}

/** `partial`, `selective op` and `uniform` are what some tables call the three modes. */
function recomputeMode(text: string): CandidateLayout['recompute'] | undefined {
  if (text === '') return undefined;
  if (/^(none|no|off|false|0)$/i.test(text)) return 'none';
  if (/select|partial/i.test(text)) return 'selective';
  if (/full|uniform|block|^(yes|on|true|1)$/i.test(text)) return 'full';
  throw new Unpredicted('recompute has an unknown value');
}

function offloadedActivations(facts: StatedFacts, model: ModelShape): number {
  if (facts.offloadsActivations) return 1;
  return Math.min(1, (facts.offloadedActivationLayers ?? 0) / model.layers);
}

/** The first that fits: tables write `FP8-MX`, `fp8_cs`, `amp_bf16`. */
const PRECISION_WORDS: readonly (readonly [RegExp, Precision])[] = [
  [/nvfp4|fp4/i, 'nvfp4'],
  [/mxfp8|fp8.?mx/i, 'mxfp8'],
  [/fp8|float8/i, 'fp8'],
  [/bf16|bfloat16/i, 'bf16'],
  [/fp16|float16|half/i, 'fp16'],
  [/fp32|float32|tf32/i, 'fp32'],
];

function statedPrecision(text: string): Precision | undefined {
  if (text === '') return undefined;
  const found = PRECISION_WORDS.find(([words]) => words.test(text))?.[1];
  if (found === undefined) throw new Unpredicted('precision has an unknown value');
  return found;
}

function precisionOf(cells: StatedCells, cluster: ClusterFacts, filled: FilledValues): Precision {
  const stated = statedPrecision(cells.precision);
  const precision = filled.or(stated, 'precision by engine and GPU', () => defaultPrecision(cells, cluster.gpu));
  if (precision === 'nvfp4' && cluster.gpu.fp4Tflops === 0) throw new Unpredicted('the GPU has no nvfp4');
  if (/fp8/.test(precision) && cluster.gpu.fp8Tflops === 0) throw new Unpredicted('the GPU has no fp8');
  return precision;
}
