/**
 * Requests to the planner and its answers. Plain objects without unions or records, because GraphQL types are generated from them.
 *
 * More than 400 lines: the schemas of one contract, with a description of each field.
 */
import { LoraSpec, MAX_PLANNED_GPUS, ModelShape, NIC_KINDS, ParallelLayout, SequencePacking } from '@coxswain/layout';
import { z } from 'zod';
import { ClusterProfile } from './cluster-profile.ts';
import { PRECISIONS, RANK_ORDERS, SCHEDULES } from './facts.ts';

const degree = z.int().min(1).max(MAX_PLANNED_GPUS);
const share = z.number().min(0).max(1);
/** The lower limit keeps times and costs within the range of numbers. */
const bandwidthGbPerS = z.number().min(0.001).max(100_000);
const seconds = z.number().min(0);
const gib = z.number().min(0);
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** ZeRO stages: 1 shards optimizer states, 2 also gradients, 3 also parameters. */
export const ZERO_STAGES = [0, 1, 2, 3] as const;
/** Context-parallel algorithms that the planner has models for. */
export const CONTEXT_ALGORITHMS = ['ring', 'allgather', 'ulysses'] as const;

/**
 * Named choices of which activations to recompute, from least to most time and from most to least memory.
 *
 * `core-attention` is Megatron-LM's selective recomputation (without effect if FlashAttention is used). `norms` drops the outputs of norms, expert
 * activations and latent up-projections. `mlp` also drops whole MLPs and experts. `operations` is TorchTitan's selective mode: it keeps attention and every
 * second matrix product, about as much as two layers in five (`recomputation-policies.ts`). `half` is full recomputation of every second layer.
 */
export const RECOMPUTE_POLICIES = ['none', 'core-attention', 'norms', 'mlp', 'operations', 'half', 'full'] as const;
/** One of {@link RECOMPUTE_POLICIES}. */
export type RecomputePolicy = (typeof RECOMPUTE_POLICIES)[number];

/**
 * How layers are divided into pipeline stages. `even`: as even as possible, the larger stages first. `vocabulary`: embedding and loss count as
 * one layer each. `balanced`: layers minimise the time of the slowest stage, by the predicted speed of layers, embedding, loss and islands.
 */
export const PARTITIONS = ['even', 'vocabulary', 'balanced'] as const;
/** One of {@link PARTITIONS}. */
export type Partition = (typeof PARTITIONS)[number];

/** What a plan optimises; see {@link Objective}. */
export const OBJECTIVES = ['time', 'cost', 'gpus', 'memory'] as const;
/** time: fastest step; cost: fewest dollars per token; gpus: fewest GPUs that meet the deadline; memory: lowest peak per GPU. */
export type Objective = (typeof OBJECTIVES)[number];

/** GPUs of the cluster that share one network. */
export const PlanIsland = z
  .strictObject({
    gpus: degree,
    gpu: z.string().min(1).max(100).optional().describe('Name of a GPU preset. Absent: the GPU of the cluster.'),
    scaleOutGbPerS: bandwidthGbPerS.optional(),
    nicKind: z.enum(NIC_KINDS).optional(),
    relativeSpeed: z
      .number()
      .min(0.01)
      .max(100)
      .default(1)
      .describe('Measured speed of one GPU relative to the prediction for its type; slower islands get fewer layers.'),
  })
  .meta({ id: 'PlanIsland', description: 'GPUs that share one network; islands reach each other over a slower one.' });
export type PlanIsland = z.infer<typeof PlanIsland>;

/** The GPUs to plan for and their networks. */
export const PlanCluster = z
  .strictObject({
    gpu: z.string().min(1).max(100).describe('Name of a GPU preset.'),
    gpus: degree.describe('GPUs that may be used.'),
    gpusPerNode: degree.optional().describe('Absent: as in the preset.'),
    scaleUpDomainGpus: degree
      .optional()
      .describe('GPUs joined by NVLink or a similar network. Absent: as in the preset.'),
    scaleOutGbPerS: bandwidthGbPerS
      .optional()
      .describe('Per GPU and direction; a 400 Gb/s NIC per GPU is 50. Absent: as in the preset.'),
    nicKind: z.enum(NIC_KINDS).optional(),
    islands: z.array(PlanIsland).min(1).max(64).optional().describe('Absent: one network joins all nodes.'),
    betweenIslandsGbPerS: bandwidthGbPerS.optional().describe('Per GPU and direction.'),
    stagesInOneIsland: z
      .boolean()
      .optional()
      .describe(
        'Each pipeline stage is placed in one island, so only pipeline traffic crosses islands; islands may then have more GPUs than are used. Absent: ranks fill islands in order.',
      ),
    usdPerGpuHour: z.number().min(0).max(10_000).optional().describe('Absent: as in the preset.'),
    profile: ClusterProfile.optional().describe('Measurements of this cluster. Absent: usual values of its GPU type.'),
  })
  .meta({ id: 'PlanCluster' });
export type PlanCluster = z.infer<typeof PlanCluster>;

/** Choices of the layout that the caller fixes. */
export const PinnedAxes = z
  .strictObject({
    tensor: degree.optional(),
    context: degree.optional(),
    pipeline: degree.optional(),
    data: degree.optional(),
    expert: degree.optional(),
    expertTensor: degree.optional(),
    shardGroup: degree.optional().describe('Ranks that share one copy of sharded states.'),
    chunks: degree.optional().describe('Model chunks per rank (virtual pipeline).'),
    microBatchSize: z.int().min(1).max(65_536).optional(),
    zeroStage: z.int().min(0).max(3).optional(),
    schedule: z.enum(SCHEDULES).optional(),
    recompute: z.enum(RECOMPUTE_POLICIES).optional(),
    partition: z.enum(PARTITIONS).optional(),
    contextAlgorithm: z.enum(CONTEXT_ALGORITHMS).optional(),
    rankOrder: z.enum(RANK_ORDERS).optional(),
    offloadOptimizer: share.optional(),
    offloadActivations: share.optional(),
  })
  .meta({ id: 'PinnedAxes', description: 'Fixed choices; the planner searches the others.' });
export type PinnedAxes = z.infer<typeof PinnedAxes>;

/** Choices that the planner may make. */
export const AllowedChoices = z
  .strictObject({
    schedules: z.array(z.enum(SCHEDULES)).min(1).max(SCHEDULES.length).optional(),
    recompute: z.array(z.enum(RECOMPUTE_POLICIES)).min(1).max(RECOMPUTE_POLICIES.length).optional(),
    zeroStages: z.array(z.int().min(0).max(3)).min(1).max(ZERO_STAGES.length).optional(),
    partitions: z.array(z.enum(PARTITIONS)).min(1).max(PARTITIONS.length).optional(),
    contextAlgorithms: z.array(z.enum(CONTEXT_ALGORITHMS)).min(1).max(CONTEXT_ALGORITHMS.length).optional(),
    rankOrders: z.array(z.enum(RANK_ORDERS)).min(1).max(RANK_ORDERS.length).optional(),
    offload: z.boolean().optional().describe('Host memory may hold optimizer states or activations. Default true.'),
    evenOnly: z
      .boolean()
      .optional()
      .describe(
        'Only even divisions: tensor divides the attention heads, data divides the batch, and all pipeline stages have the same number of layers. Default false.',
      ),
  })
  .meta({
    id: 'AllowedChoices',
    description: 'Allowed choices. An absent list allows every choice that the engine supports.',
  });
export type AllowedChoices = z.infer<typeof AllowedChoices>;

/** A dense model on 8 H100 GPUs, with few choices, so that planning takes less than a second. */
const EXAMPLE_PLAN = {
  modelShape: {
    name: 'small',
    layers: 8,
    hiddenSize: 1_024,
    ffnHiddenSize: 4_096,
    attentionHeads: 16,
    keyValueHeads: 16,
    headDim: 64,
    vocabularySize: 32_000,
    gatedMlp: true,
  },
  cluster: { gpu: 'h100', gpus: 8 },
  globalBatchSize: 64,
  sequenceLength: 2_048,
  top: 3,
  allow: { schedules: ['1f1b'], offload: false },
};

/** A question to the planner: which layout is best for a model on a cluster. */
export const PlanRequest = z
  .strictObject({
    model: z.string().min(1).max(200).optional().describe('Name of a model preset; or give modelShape.'),
    modelShape: ModelShape.optional(),
    cluster: PlanCluster,
    globalBatchSize: z.int().min(1).max(16_777_216).describe('Samples per step over all data-parallel ranks.'),
    sequenceLength: z.int().min(1).max(16_777_216).describe('Tokens per sample.'),
    precision: z
      .enum(PRECISIONS)
      .optional()
      .describe('Format of matrix products. Absent: bf16, or fp16 if a GPU has no bf16 (before Ampere).'),
    gradientPrecision: z
      .enum(['fp32', 'bf16'])
      .optional()
      .describe(
        'Format in which gradients are summed. Absent: fp32; bf16 for megatron-bridge, as its performance recipes have it.',
      ),
    lora: LoraSpec.optional().describe('Only adapters are trained. Absent: all weights.'),
    packing: SequencePacking.optional().describe(
      'Attention stays within documents, as training.packing of a job. Absent: it spans the sample.',
    ),
    stack: z.string().min(1).max(200).optional().describe('Engine and release, such as megatron-lm core_v0.15.'),
    objective: z.enum(OBJECTIVES).default('time'),
    tokens: z.number().positive().max(1e18).optional().describe('Tokens of the whole training.'),
    deadlineHours: z.number().positive().max(1e6).optional().describe('Longest training time in hours.'),
    top: z.int().min(1).max(100).default(5).describe('Number of layouts in the answer.'),
    memoryMarginShare: z
      .number()
      .min(0)
      .max(0.5)
      .optional()
      .describe('Share of GPU memory that a layout must leave free to count as fitting.'),
    pinned: PinnedAxes.optional(),
    allow: AllowedChoices.optional(),
  })
  .superRefine((request, context) => {
    const refuse = (field: string, message: string): void => {
      context.addIssue({ code: 'custom', path: field.split('.'), message });
    };
    if ((request.model === undefined) === (request.modelShape === undefined)) {
      refuse('model', 'give exactly one of model and modelShape');
    }
    if (request.deadlineHours !== undefined && request.tokens === undefined) {
      refuse('tokens', 'deadlineHours needs the tokens of the training; set tokens, or remove deadlineHours');
    }
    if (request.objective === 'gpus' && request.deadlineHours === undefined) {
      refuse('deadlineHours', 'objective gpus needs a deadline; set deadlineHours and tokens');
    }
    const { islands, gpus, stagesInOneIsland } = request.cluster;
    const inIslands = islands?.reduce((sum, island) => sum + island.gpus, 0) ?? gpus;
    if (inIslands < gpus || (inIslands > gpus && stagesInOneIsland !== true)) {
      refuse(
        'cluster.islands',
        `islands have ${inIslands} GPUs together, but cluster.gpus is ${gpus}; list every island, or correct cluster.gpus`,
      );
    }
  })
  .meta({ id: 'PlanRequest', examples: [EXAMPLE_PLAN] });
export type PlanRequest = z.infer<typeof PlanRequest>;
/** A request before defaults are filled in. */
export type PlanRequestInput = z.input<typeof PlanRequest>;

/** A layout to predict or to explain. */
export const AskedLayout = z
  .strictObject({ layout: ParallelLayout, microBatchSize: z.int().min(1).max(65_536) })
  .meta({ id: 'AskedLayout' });
export type AskedLayout = z.infer<typeof AskedLayout>;

/** A part of the step time. */
export const TimePart = z
  .strictObject({ part: z.string().describe('What the time is spent on.'), seconds })
  .meta({ id: 'TimePart' });
export type TimePart = z.infer<typeof TimePart>;

/** A part of the GPU memory. */
export const MemoryPart = z
  .strictObject({ part: z.string().describe('What the memory holds.'), gib })
  .meta({ id: 'MemoryPart' });
export type MemoryPart = z.infer<typeof MemoryPart>;

/** Predicted GPU memory of one pipeline stage. */
export const StageMemory = z
  .strictObject({
    stage: z.int().min(0).max(MAX_PLANNED_GPUS).describe('Position in the pipeline, from 0.'),
    peakGib: gib,
    parts: z.array(MemoryPart).describe('They sum to peakGib.'),
  })
  .meta({ id: 'StageMemory' });
export type StageMemory = z.infer<typeof StageMemory>;

/** The error of similar predictions. */
export const PredictionError = z
  .strictObject({
    basis: z.string().describe('Which measurements the error is computed from.'),
    medianAbsPct: z.number().min(0),
    p90AbsPct: z.number().min(0),
    n: count.describe('How many measurements.'),
  })
  .meta({
    id: 'PredictionError',
    description:
      'Error of similar predictions against published measurements that were left out of the fit. All rows of one source, model and GPU are left out together.',
  });
export type PredictionError = z.infer<typeof PredictionError>;

/** Groups of measured rows that an interval can be computed from, most specific first. */
export const STANDS_ON = ['chip', 'engineFamily', 'pytorchEngines', 'allEngines', 'otherSources'] as const;

/** The range that contains the step time with a given probability. */
export const PredictionInterval = z
  .strictObject({
    lowS: seconds,
    highS: seconds,
    coveragePct: z.number().min(0).max(100).describe('Share of such step times between lowS and highS, in percent.'),
    standsOn: z
      .enum(STANDS_ON)
      .describe(
        'chip: rows of this chip, engine family and kind of model (dense, experts). engineFamily: rows of the family and kind, because the chip has fewer than 20. pytorchEngines: rows of the engines that run on PyTorch alone (DeepSpeed, FSDP, Hugging Face, TorchTitan), because few runs of each are published. allEngines: rows of the kind, because the family has fewer than 20. otherSources: rows of the kind with whole sources left out, because no constant was fitted on the engine.',
      ),
    rows: count.describe('Number of these rows.'),
  })
  .meta({
    id: 'PredictionInterval',
    description:
      'Interval of the step time, from the errors of predictions on published rows that were left out of the fit by whole groups. It contains the prediction.',
  });
export type PredictionInterval = z.infer<typeof PredictionInterval>;

/** The range that contains the peak of memory with a given probability. */
export const MemoryInterval = z
  .strictObject({
    lowGib: gib,
    highGib: gib,
    coveragePct: z.number().min(0).max(100).describe('Share of such peaks between lowGib and highGib, in percent.'),
    standsOn: z
      .enum(STANDS_ON)
      .describe('As for the step time. No constant of memory was fitted, so no rows are left out.'),
    rows: count.describe('Number of these rows.'),
  })
  .meta({
    id: 'MemoryInterval',
    description:
      'Interval of the peak of memory, from the errors of predictions on published peaks. It contains the prediction.',
  });
export type MemoryInterval = z.infer<typeof MemoryInterval>;

/** Whether a layout fits into GPU memory; `tight` means that it fits only without the memory margin. */
export const MEMORY_VERDICTS = ['fits', 'tight', 'doesNotFit'] as const;
/** One of {@link MEMORY_VERDICTS}. */
export type MemoryVerdict = (typeof MEMORY_VERDICTS)[number];

/** Predicted time and memory of one layout. */
export const Prediction = z
  .strictObject({
    stepTimeS: seconds,
    interval: PredictionInterval.optional().describe('Absent in answers that were stored before intervals existed.'),
    tokensPerSPerGpu: z.number().min(0),
    modelFlopsUtilizationPct: z.number().min(0),
    breakdown: z.array(TimePart).describe('Parts of the step; they sum to stepTimeS.'),
    memory: z.array(StageMemory).describe('One per pipeline stage.'),
    peakGib: gib.describe('Peak of the stage that needs most memory.'),
    peakInterval: MemoryInterval.optional().describe('Absent in answers that were stored before it existed.'),
    capacityGib: gib,
    verdict: z.enum(MEMORY_VERDICTS),
    bubbleShare: share.describe('Share of the pipeline phase in which a GPU waits.'),
    error: PredictionError,
  })
  .meta({ id: 'Prediction' });
export type Prediction = z.infer<typeof Prediction>;

/** A layout with its prediction and price. */
export const Plan = z
  .strictObject({
    layout: ParallelLayout,
    microBatchSize: z.int().min(1).max(65_536),
    gpus: degree,
    prediction: Prediction,
    costUsd: z.number().min(0).optional().describe('Cost of the whole training if tokens are given, else of one step.'),
    trainingHours: z.number().min(0).optional().describe('Present if tokens are given.'),
    stagesOfIslands: z
      .array(count)
      .max(64)
      .optional()
      .describe(
        'Number of consecutive stages on each island, in the order of the request. Absent if the network has one island, or if a stage spans several.',
      ),
    stageGpus: z
      .array(z.strictObject({ stages: count, gpu: z.string().describe('Name of a GPU preset.') }))
      .max(64)
      .optional()
      .describe(
        'Present with stagesOfIslands if islands have several types of GPU: the GPU type of consecutive stages.',
      ),
    whyStages: z
      .string()
      .optional()
      .describe('Present with stagesOfIslands: which island each stage is on, and why it has its number of layers.'),
  })
  .meta({ id: 'Plan' });
export type Plan = z.infer<typeof Plan>;

/** How many layouts one rule excluded. */
export const RuledOut = z
  .strictObject({
    rule: z.string(),
    count: count.describe('Combinations that break the rule; a combination that breaks several counts for the first.'),
    example: z.string().describe('Message for one of these combinations, near the best layout if there is one.'),
  })
  .meta({ id: 'RuledOut' });
export type RuledOut = z.infer<typeof RuledOut>;

/** How many layouts the search excluded, and why. */
export const SearchCounts = z
  .strictObject({
    enumerated: count.describe('Layouts of the searched space, including duplicates.'),
    legal: count.describe('Enumerated layouts that no rule excluded before a bound or the memory limit did.'),
    fitting: count.describe('Legal layouts that neither memory nor the deadline excluded.'),
    bounded: count.describe('Fitting layouts that lower bounds of time and memory proved to be worse than the answer.'),
    timed: count.describe('The remaining layouts, whose time and memory were predicted in full.'),
  })
  .meta({ id: 'SearchCounts' });
export type SearchCounts = z.infer<typeof SearchCounts>;

/** The layout that is closest to fitting if nothing fits. */
export const ClosestPlan = z
  .strictObject({
    plan: Plan,
    exceedsGib: gib.describe('Missing GPU memory; 0 if only the deadline is missed.'),
    relax: z.array(z.string()).describe('Changes that would make it fit.'),
  })
  .meta({ id: 'ClosestPlan', description: 'The layout that is closest to fitting. Present if nothing fits.' });
export type ClosestPlan = z.infer<typeof ClosestPlan>;

const ADVICE_KINDS = ['fewerGpus', 'otherBatch', 'largerBatch', 'tensorInDomain'] as const;

/** A change of the request that is predicted to be faster. */
export const PlanAdvice = z
  .strictObject({
    kind: z.enum(ADVICE_KINDS).describe('otherBatch: near the requested one. largerBatch: 2 to 8 times as large.'),
    sentence: z.string().describe('The advised change, with the step times before and after.'),
    globalBatchSize: z.int().min(1).max(33_554_432),
    plan: Plan.describe(
      'A plan for the advised GPUs and batch. It is one of the requested layouts or a usual one, so a search for these GPUs and this batch may find a faster plan.',
    ),
  })
  .meta({
    id: 'PlanAdvice',
    description: 'A change of the request that is predicted to be faster, or that makes training possible.',
  });
export type PlanAdvice = z.infer<typeof PlanAdvice>;

/** The answer to a {@link PlanRequest}. */
export const PlanAnswer = z
  .strictObject({
    best: Plan.optional().describe('Absent if nothing fits.'),
    plans: z
      .array(Plan)
      .describe(
        'The first plan is the simplest of those within the prediction error of the fastest. The others follow by the objective, so a faster one may come later; near duplicates are left out. Plans that use host memory come after those that do not. If all of them use it, the last gives way to the best plan that does not, if one fits and is at most 25 % slower. If the request names no engine, all have what Megatron-LM runs; only the last may have another schedule, if that is faster.',
      ),
    advice: z.array(PlanAdvice).optional().describe('Fewer GPUs or another batch, if that is faster.'),
    whyNothing: z
      .string()
      .optional()
      .describe('Present if no layout is legal: the rule that excludes them, and what to change.'),
    pareto: z
      .array(Plan)
      .describe(
        'Pareto front of time, memory and GPUs, of layouts at most 25 % slower than the fastest on the same number of GPUs. Fastest first.',
      ),
    closest: ClosestPlan.optional(),
    ruledOut: z.array(RuledOut),
    counted: SearchCounts,
    calibration: z.string().describe('What the predictions are calibrated on, and their error.'),
    assumptions: z.array(z.string()),
  })
  .meta({ id: 'PlanAnswer' });
export type PlanAnswer = z.infer<typeof PlanAnswer>;

/** How a layout compares with the best one. */
export const WHY_NOT_VERDICTS = ['best', 'tied', 'illegal', 'doesNotFit', 'worse', 'outsideSearch'] as const;

/** Why a layout is not the best one. */
export const WhyNotAnswer = z
  .strictObject({
    verdict: z
      .enum(WHY_NOT_VERDICTS)
      .describe(
        'tied: faster by less than the prediction error, and less simple. outsideSearch: better than every layout of the search, because it uses a choice that the search does not consider.',
      ),
    reason: z.string().describe('One sentence: the first broken rule, the missing memory, or how much worse it is.'),
    brokenRules: z.array(z.string()).describe('Every broken rule, in order.'),
    prediction: Prediction.optional().describe('Absent if the layout is illegal.'),
    best: Plan.optional(),
    difference: z
      .array(z.strictObject({ part: z.string(), seconds: z.number() }).meta({ id: 'TimeDifference' }))
      .describe(
        'Additional seconds per step compared with the best layout, largest first; they sum to the difference of the step times.',
      ),
  })
  .meta({ id: 'WhyNotAnswer' });
export type WhyNotAnswer = z.infer<typeof WhyNotAnswer>;
