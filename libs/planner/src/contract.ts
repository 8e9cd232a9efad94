/** What a planner is asked and what it answers. Plain objects without unions or records, because GraphQL types are made from them. */
import { MAX_PLANNED_GPUS, ModelShape, ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import { ClusterProfile } from './cluster-profile.ts';
import { NIC_KINDS, PRECISIONS, RANK_ORDERS, SCHEDULES } from './facts.ts';

const degree = z.int().min(1).max(MAX_PLANNED_GPUS);
const share = z.number().min(0).max(1);
/** At less than a megabyte a second times and costs outgrow what numbers hold. */
const bandwidthGbPerS = z.number().min(0.001).max(100_000);
const seconds = z.number().min(0);
const gib = z.number().min(0);
const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

export const ZERO_STAGES = [0, 1, 2, 3] as const;
export const CONTEXT_ALGORITHMS = ['ring', 'allgather', 'ulysses'] as const;

/**
 * Named answers to "which activations are computed again", from least to most time and from most to least memory.
 *
 * `core-attention` is Megatron-LM's selective recomputation (what FlashAttention makes pointless); `norms` drops the outputs of norms, of
 * expert activations and of latent up-projections; `mlp` also whole MLPs and experts; `operations` is TorchTitan's selective mode, which keeps attention and every
 * second matrix product, about as much as two layers in five (`recomputation-policies.ts`); `half` is full recomputation of every second layer.
 */
export const RECOMPUTE_POLICIES = ['none', 'core-attention', 'norms', 'mlp', 'operations', 'half', 'full'] as const;
export type RecomputePolicy = (typeof RECOMPUTE_POLICIES)[number];

/**
 * How layers are cut into pipeline stages. `even`: as even as possible, the larger stages first; `vocabulary`: embedding and loss count as
 * one layer each; `balanced`: layers so that the slowest stage is fastest, with vocabulary ends and unequal islands at their predicted speed.
 */
export const PARTITIONS = ['even', 'vocabulary', 'balanced'] as const;
export type Partition = (typeof PARTITIONS)[number];

export const OBJECTIVES = ['time', 'cost', 'gpus', 'memory'] as const;
/** time: fastest step; cost: fewest dollars per token; gpus: fewest GPUs that meet the deadline; memory: lowest peak per GPU. */
export type Objective = (typeof OBJECTIVES)[number];

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
      .describe(
        'Measured speed of one GPU relative to what is predicted of its type; slower islands take fewer layers.',
      ),
  })
  .meta({ id: 'PlanIsland', description: 'GPUs that share one network; islands reach each other over a slower one.' });
export type PlanIsland = z.infer<typeof PlanIsland>;

export const PlanCluster = z
  .strictObject({
    gpu: z.string().min(1).max(100).describe('Name of a GPU preset.'),
    gpus: degree.describe('GPUs that may be used.'),
    gpusPerNode: degree.optional().describe('Absent: as the preset says.'),
    scaleUpDomainGpus: degree.optional().describe('GPUs joined by NVLink or its like; absent: as the preset says.'),
    scaleOutGbPerS: bandwidthGbPerS
      .optional()
      .describe('Per GPU and direction; a 400 Gb/s NIC per GPU is 50. Absent: as the preset says.'),
    nicKind: z.enum(NIC_KINDS).optional(),
    islands: z.array(PlanIsland).min(1).max(64).optional().describe('Absent: one network joins all nodes.'),
    betweenIslandsGbPerS: bandwidthGbPerS.optional().describe('Per GPU and direction.'),
    stagesInOneIsland: z
      .boolean()
      .optional()
      .describe(
        'Each stage of a pipeline lies in one island whole, so that only pipelines cross; islands may then have more GPUs than are used. Absent: ranks fill islands in order.',
      ),
    usdPerGpuHour: z.number().min(0).max(10_000).optional().describe('Absent: as the preset says.'),
    profile: ClusterProfile.optional().describe('What was measured on this cluster; absent: what is usual.'),
  })
  .meta({ id: 'PlanCluster' });
export type PlanCluster = z.infer<typeof PlanCluster>;

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
  .meta({ id: 'PinnedAxes', description: 'Choices that are already made; the others are searched.' });
export type PinnedAxes = z.infer<typeof PinnedAxes>;

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
        'Only even divisions: tensor divides the attention heads, data the batch, and every stage of a pipeline has as many layers. Default false.',
      ),
  })
  .meta({ id: 'AllowedChoices', description: 'What an engine offers; absent lists allow everything.' });
export type AllowedChoices = z.infer<typeof AllowedChoices>;

/** A dense model on eight H100, with so few choices that it is planned at once. */
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
      .describe('Of matrix products. Absent: bf16, or fp16 where a GPU has no bf16 (before Ampere).'),
    stack: z.string().min(1).max(200).optional().describe('Engine and release, as the calibration names them.'),
    objective: z.enum(OBJECTIVES).default('time'),
    tokens: z.number().positive().max(1e18).optional().describe('Tokens of the whole training.'),
    deadlineHours: z.number().positive().max(1e6).optional().describe('The training must be over by then.'),
    top: z.int().min(1).max(100).default(5).describe('How many layouts to answer with.'),
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
/** As a caller writes it, defaults left out. */
export type PlanRequestInput = z.input<typeof PlanRequest>;

/** A layout to be predicted or asked about. */
export const AskedLayout = z
  .strictObject({ layout: ParallelLayout, microBatchSize: z.int().min(1).max(65_536) })
  .meta({ id: 'AskedLayout' });
export type AskedLayout = z.infer<typeof AskedLayout>;

export const TimePart = z
  .strictObject({ part: z.string().describe('What the time is spent on.'), seconds })
  .meta({ id: 'TimePart' });
export type TimePart = z.infer<typeof TimePart>;

export const MemoryPart = z
  .strictObject({ part: z.string().describe('What the memory holds.'), gib })
  .meta({ id: 'MemoryPart' });
export type MemoryPart = z.infer<typeof MemoryPart>;

export const StageMemory = z
  .strictObject({
    stage: z.int().min(0).max(MAX_PLANNED_GPUS).describe('Position in the pipeline, from 0.'),
    peakGib: gib,
    parts: z.array(MemoryPart).describe('They sum to peakGib.'),
  })
  .meta({ id: 'StageMemory' });
export type StageMemory = z.infer<typeof StageMemory>;

export const PredictionError = z
  .strictObject({
    basis: z.string().describe('Which measurements the error is taken from.'),
    medianAbsPct: z.number().min(0),
    p90AbsPct: z.number().min(0),
    n: count.describe('How many measurements.'),
  })
  .meta({
    id: 'PredictionError',
    description:
      'How far predictions of this kind were from published measurements that their constants were fitted without: all rows of one source, model and GPU are left out together.',
  });
export type PredictionError = z.infer<typeof PredictionError>;

/** Rows that an interval can stand on, those that tell most first. */
export const STANDS_ON = ['chip', 'engineFamily', 'allEngines', 'otherSources'] as const;

export const PredictionInterval = z
  .strictObject({
    lowS: seconds,
    highS: seconds,
    coveragePct: z.number().min(0).max(100).describe('How many of a hundred such step times lie between the two.'),
    standsOn: z
      .enum(STANDS_ON)
      .describe(
        'chip: rows of this chip, engine family and kind of model (dense, experts). engineFamily: of the family and kind, since fewer than 20 are of the chip. allEngines: of the kind, since fewer than 20 are of the family. otherSources: of the kind, whole sources left out, since no constant was fitted on the engine.',
      ),
    rows: count.describe('How many rows that is.'),
  })
  .meta({
    id: 'PredictionInterval',
    description:
      'Where the step time will lie, by how far off predictions were on published rows that were left out of the fit by whole groups. It holds the prediction.',
  });
export type PredictionInterval = z.infer<typeof PredictionInterval>;

export const MEMORY_VERDICTS = ['fits', 'tight', 'doesNotFit'] as const;
export type MemoryVerdict = (typeof MEMORY_VERDICTS)[number];

export const Prediction = z
  .strictObject({
    stepTimeS: seconds,
    interval: PredictionInterval.optional().describe('Absent in answers that were kept before there were intervals.'),
    tokensPerSPerGpu: z.number().min(0),
    modelFlopsUtilizationPct: z.number().min(0),
    breakdown: z.array(TimePart).describe('Parts of the step; they sum to stepTimeS.'),
    memory: z.array(StageMemory).describe('One per pipeline stage.'),
    peakGib: gib.describe('Of the stage that needs most.'),
    capacityGib: gib,
    verdict: z.enum(MEMORY_VERDICTS),
    bubbleShare: share.describe('Share of the pipeline phase in which a GPU waits.'),
    error: PredictionError,
  })
  .meta({ id: 'Prediction' });
export type Prediction = z.infer<typeof Prediction>;

export const Plan = z
  .strictObject({
    layout: ParallelLayout,
    microBatchSize: z.int().min(1).max(65_536),
    gpus: degree,
    prediction: Prediction,
    costUsd: z.number().min(0).optional().describe('Of the whole training where tokens are given, else of one step.'),
    trainingHours: z.number().min(0).optional().describe('Where tokens are given.'),
    stagesOfIslands: z
      .array(count)
      .max(64)
      .optional()
      .describe(
        'How many consecutive stages each island of the request takes, in its order. Absent where the network has one island, or stages lie in several.',
      ),
    stageGpus: z
      .array(z.strictObject({ stages: count, gpu: z.string().describe('Name of a GPU preset.') }))
      .max(64)
      .optional()
      .describe(
        'Told beside stagesOfIslands where these have several types of GPU: for which of them consecutive stages are cut.',
      ),
    whyStages: z
      .string()
      .optional()
      .describe('Told beside stagesOfIslands: which stages are where, and why they have the layers that they have.'),
  })
  .meta({ id: 'Plan' });
export type Plan = z.infer<typeof Plan>;

export const RuledOut = z
  .strictObject({
    rule: z.string(),
    count: count.describe('Combinations that break it; one that breaks several rules counts under the first.'),
    example: z.string().describe('The refusal of one of them, near the answer where one is.'),
  })
  .meta({ id: 'RuledOut' });
export type RuledOut = z.infer<typeof RuledOut>;

export const SearchCounts = z
  .strictObject({
    enumerated: count.describe('Layouts of the searched space, with those that equal another one.'),
    legal: count.describe('Of them, those that no rule had excluded before a bound or the memory did.'),
    fitting: count.describe('Of the legal ones, those that neither memory nor the deadline excluded.'),
    bounded: count.describe(
      'Of those, the ones that lower bounds of time and memory showed to be worse than what is answered.',
    ),
    timed: count.describe('The others: their time and memory were predicted in full.'),
  })
  .meta({ id: 'SearchCounts' });
export type SearchCounts = z.infer<typeof SearchCounts>;

export const ClosestPlan = z
  .strictObject({
    plan: Plan,
    exceedsGib: gib.describe('Missing GPU memory; 0 where the deadline is what fails.'),
    relax: z.array(z.string()).describe('What would make it fit, each with what it would cost.'),
  })
  .meta({ id: 'ClosestPlan', description: 'Told where nothing fits: the layout that comes closest.' });
export type ClosestPlan = z.infer<typeof ClosestPlan>;

const ADVICE_KINDS = ['fewerGpus', 'otherBatch', 'largerBatch', 'tensorInDomain'] as const;

export const PlanAdvice = z
  .strictObject({
    kind: z.enum(ADVICE_KINDS).describe('otherBatch: near the asked one. largerBatch: two to eight times as large.'),
    sentence: z.string().describe('What would be faster, with both step times.'),
    globalBatchSize: z.int().min(1).max(33_554_432),
    plan: Plan.describe(
      'On the GPUs and with the batch that are advised; the best layout of the asked ones or a usual one, so a search of its own may find a faster one.',
    ),
  })
  .meta({
    id: 'PlanAdvice',
    description: 'A change of what was asked that is predicted to be faster, or possible at all.',
  });
export type PlanAdvice = z.infer<typeof PlanAdvice>;

export const PlanAnswer = z
  .strictObject({
    best: Plan.optional().describe('Absent where nothing fits.'),
    plans: z
      .array(Plan)
      .describe(
        'The best layout, which is the simplest of those that predictions cannot tell from the fastest; then others by the objective, so that a faster one may follow: those that differ in more than a trifle first of all. Where all of them keep something in host memory, the last is the best one that does not, if one fits and is at most a quarter slower.',
      ),
    advice: z.array(PlanAdvice).optional().describe('Fewer GPUs or another batch, where they are faster.'),
    whyNothing: z.string().optional().describe('Told where no layout is legal: the rule in the way and what would do.'),
    pareto: z
      .array(Plan)
      .describe(
        'Of the layouts at most a quarter slower than the fastest on as many GPUs, those that no other one beats in time, memory and GPUs. Fastest first.',
      ),
    closest: ClosestPlan.optional(),
    ruledOut: z.array(RuledOut),
    counted: SearchCounts,
    calibration: z.string().describe('What the predictions are calibrated on and how far off they were.'),
    assumptions: z.array(z.string()),
  })
  .meta({ id: 'PlanAnswer' });
export type PlanAnswer = z.infer<typeof PlanAnswer>;

export const WHY_NOT_VERDICTS = ['best', 'tied', 'illegal', 'doesNotFit', 'worse', 'outsideSearch'] as const;

export const WhyNotAnswer = z
  .strictObject({
    verdict: z
      .enum(WHY_NOT_VERDICTS)
      .describe(
        'tied: faster by less than predictions tell apart, and less simple. outsideSearch: better than what the search found, because it makes a choice the search does not consider.',
      ),
    reason: z.string().describe('One sentence: the first broken rule, the missing memory, or how much worse it is.'),
    brokenRules: z.array(z.string()).describe('Every rule it breaks, in order.'),
    prediction: Prediction.optional().describe('Absent where the layout is illegal.'),
    best: Plan.optional(),
    difference: z
      .array(z.strictObject({ part: z.string(), seconds: z.number() }).meta({ id: 'TimeDifference' }))
      .describe('Seconds per step over the best layout, largest first; they sum to the difference of the step times.'),
  })
  .meta({ id: 'WhyNotAnswer' });
export type WhyNotAnswer = z.infer<typeof WhyNotAnswer>;
