/** What does a user ask for? The spec of a TrainingJob, with the rules that the API server itself enforces. */
import { MAX_WORLD_SIZE, ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import { cel, type CelRule } from './cel.ts';
import { CheckpointSpec } from './checkpoint-spec.ts';
import { CODE_DESCRIPTION, CodeSpec } from './code-spec.ts';
import { DataSpec, InitialWeights } from './data-spec.ts';
import { EngineSpec } from './engine-spec.ts';
import { FailurePolicy } from './failure-policy.ts';
import { CpuQuantity, MemoryQuantity, PriorityClassName } from './field-names.ts';
import { ModelSpec } from './model-spec.ts';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { PreflightSpec } from './preflight.ts';
import { ResumeFrom } from './resume-from.ts';
import { ScratchSpec } from './scratch-spec.ts';
import { refuseStandbys, Standby, STANDBY_RULES } from './standby-spec.ts';
import { RuntimeRef } from './training-runtime.ts';
import { MAX_STEPS, stepsOf, TrainingSpec } from './training-spec.ts';

/** What each pod of a gang requests, and whether a gang may span islands. */
export const ResourcesSpec = z
  .strictObject({
    gpusPerNode: z
      .int()
      .min(1)
      .max(MAX_RANKS_PER_POD)
      .optional()
      .describe('Ranks per pod; default: as many as the nodes have GPUs, at most the world size.'),
    cpuPerGpu: CpuQuantity.optional().describe('CPU for each GPU of a pod. Absent: no request.'),
    memoryPerGpu: MemoryQuantity.optional().describe('Memory for each GPU of a pod. Absent: no request.'),
    acrossIslands: z
      .enum(['Never', 'Pipeline', 'Sockets'])
      .optional()
      .describe(
        'Placement of a gang that no network island can hold. Never: the job waits. Pipeline: pipeline stages may be in several islands of one NIC class, if these islands can reach each other; other groups stay in one island. Sockets: any islands, with every rank on TCP sockets, which costs most of the speed between nodes. Absent: Never.',
      ),
  })
  .meta({ id: 'ResourcesSpec' });
export type ResourcesSpec = z.infer<typeof ResourcesSpec>;

/** How often and after which delay a job restarts. */
export const RestartPolicy = z
  .strictObject({
    maxRestarts: z
      .int()
      .min(0)
      .max(1000)
      .default(3)
      .describe(
        'Failures that may be answered with a new attempt or incarnation; lost nodes, lost port races and failures of the environment are not charged.',
      ),
    delaySeconds: z
      .int()
      .min(0)
      .max(3600)
      .default(5)
      .describe('Delay before the first restart; doubles with each charged restart up to 300 s.'),
    inPlace: z
      .enum(['WhenPossible', 'Never'])
      .default('WhenPossible')
      .describe(
        'WhenPossible: if a rank failed and every pod of the gang is alive, the ranks restart in the same pods; after a second failure without progress, or if that is impossible, in new pods. Never: always in new pods.',
      ),
    preloadPyTorch: z
      .enum(['WhenPossible', 'Never'])
      .optional()
      .describe(
        'WhenPossible: while the ranks train, a second process of each rank imports PyTorch and waits. If the ranks restart in the same pods, it takes over, and the restart does not wait for imports. It needs 1 GiB of memory for each rank below the limit of the pod, and a command that begins with python; if that is missing, the log of the pod says so. A change applies to pods that are created after it. Never: a restart imports PyTorch anew. Absent: Never.',
      ),
    sameTraceback: z
      .enum(['Fail', 'Restart'])
      .optional()
      .describe(
        'Fail: the job fails if its program raises the same exception twice before its first step, on more than one node. Restart: it restarts while the budget lasts. Absent: Fail.',
      ),
  })
  .meta({ id: 'RestartPolicy' });
export type RestartPolicy = z.infer<typeof RestartPolicy>;

const dividesRule = (options: { field: string; whole: string; wholeName: string; unless?: string }): CelRule => ({
  rule: `${options.unless === undefined ? '' : `${options.unless} || `}!has(self.model) || !has(self.model.${options.whole}) || !has(self.layout) || self.model.${options.whole} % self.layout.${options.field} == 0`,
  messageExpression: `'layout.${options.field} %d does not divide model.${options.wholeName} %d'.format([self.layout.${options.field}, self.model.${options.whole}])`,
  fieldPath: `.layout.${options.field}`,
});

const unchanged = (field: string): string =>
  `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`;

const immutable = (field: string, optional = false): CelRule => ({
  rule: optional ? unchanged(field) : `self.${field} == oldSelf.${field}`,
  message: `${field} cannot change; make another job instead`,
  fieldPath: `.${field}`,
});

/** As {@link immutable}, but for these fields of the object. A field is compared by name, because CEL cannot leave one out. */
const immutableBut = (field: string, shape: object, changeable: readonly string[]): CelRule => {
  const fixed = Object.keys(shape).filter((name) => !changeable.includes(name));
  const inside = fixed.map((name) => `(${unchanged(`${field}.${name}`)})`).join(' && ');
  return {
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || (${inside}))`,
    message: `${field} cannot change, except ${changeable.join(', ')}; make another job instead`,
    fieldPath: `.${field}`,
  };
};

const LAYOUT_OR_GPUS = 'give either layout, or gpus without a layout to let the planner choose one';
const MEMORY_SAVES_NEED_A_LIMIT =
  'checkpoint.memory needs resources.memoryPerGpu: its saves are added to the memory that the pods request';
const RESUME_NEEDS_CHECKPOINTS = 'resumeFrom needs checkpoint: a job without checkpoints always starts from scratch';
const NO_IMAGE = 'engine.image is required unless the job names a runtime, which may provide one';
const LEAST_NEEDS_MOST = 'minGpus needs gpus and cannot be larger; give gpus, or leave minGpus out';
const LEAST_NEEDS_CHECKPOINTS =
  'minGpus needs checkpoint: each change of the number of GPUs restarts the job from a checkpoint';
const GPUS_NEED_A_MODEL = 'gpus without a layout needs model and training, because the planner divides them';
/** In CEL: what applies where the field is absent. */
const MICRO_BATCH = '(has(self.training.microBatchSize) ? self.training.microBatchSize : 1)';
const degreeOrOne = (field: string): string => `(has(self.layout.${field}) ? self.layout.${field} : 1)`;
const WORLD_SIZE = `self.layout.tensorParallelDegree * self.layout.pipelineParallelDegree * self.layout.dataParallelDegree * ${degreeOrOne('contextParallelDegree')} * ${degreeOrOne('weightShardDegree')}`;

/** A year. */
const MAX_RUNTIME_SECONDS = 31_536_000;

/** Reserved for jobs with several programs, such as actor and critic. Not read yet. */
const Roles = z
  .record(z.string(), z.unknown())
  .meta({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    additionalProperties: undefined,
    propertyNames: undefined,
  })
  .describe('Reserved for jobs of several roles, and refused.');
/** NCCL's choice of network, which the operator sets if the gang must use sockets. */
const NETWORK_VARIABLES = ['NCCL_NET', 'NCCL_IB_DISABLE'];
const SOCKETS_ARE_TOLD =
  'NCCL_NET and NCCL_IB_DISABLE are set by the operator where resources.acrossIslands is Sockets; leave them out of engine.env and engine.secretEnv';
const namesNoNetwork = (list: string): string =>
  `(!has(self.engine.${list}) || self.engine.${list}.all(one, !(one.name in ['${NETWORK_VARIABLES.join("', '")}'])))`;
const NO_ROLES =
  'jobs of several roles are not run yet: make a job of each role, whose programs find each other as they do elsewhere; `coxswain layout check` reads layouts of several roles';
const TOKENS_NEED_A_MODEL = 'tokens needs model.sequenceLength to count the tokens of a step; give model, or use steps';
const TOO_MANY_STEPS = `training.tokens come to more than ${MAX_STEPS} steps; give fewer, or a larger globalBatchSize`;

/** What a user asks for. The layout's rules that need the model are checked by `layoutViolations` (API, operator) and by CEL (API server). */
export const TrainingJobSpec = z
  .strictObject({
    engine: EngineSpec.describe('The program that trains, and its image.'),
    runtimeRef: RuntimeRef.optional().describe(
      'Runtime that adds devices, networks, sidecars and node selection to the pods. Absent: nothing is added.',
    ),
    model: ModelSpec.optional().describe('Required by engine reference.'),
    training: TrainingSpec.optional().describe('Required by engine reference.'),
    data: DataSpec.optional().describe('Training data. Absent: the program finds its own.'),
    initialWeights: InitialWeights.optional().describe(
      'Initial weights of the first attempt, if there is no checkpoint yet. Absent: random numbers.',
    ),
    scratch: ScratchSpec.optional(),
    code: CodeSpec.optional().describe(CODE_DESCRIPTION),
    offline: z
      .boolean()
      .optional()
      .describe(
        'true: pods cannot reach the network outside the cluster, and libraries are set to offline mode (HF_HUB_OFFLINE and similar variables). Absent: libraries may download.',
      ),
    roles: Roles.optional(),
    layout: ParallelLayout.optional().describe(
      'How the ranks are divided. Absent: the planner chooses, for gpus GPUs.',
    ),
    gpus: z
      .int()
      .min(1)
      .max(MAX_WORLD_SIZE)
      .optional()
      .describe('GPUs of a job whose layout the planner chooses. Exactly one of layout and gpus is given.'),
    minGpus: z
      .int()
      .min(1)
      .max(MAX_WORLD_SIZE)
      .optional()
      .describe(
        'Smallest number of GPUs to continue with if gpus are not available: the planner then chooses a layout for fewer GPUs with the same global batch. The job returns to all GPUs at a checkpoint once they have been free for a while. Absent: the job waits for gpus.',
      ),
    standby: Standby,
    priorityClassName: PriorityClassName.optional().describe(
      'PriorityClass of the cluster. Of the jobs that wait, those with a higher value go first. It can change at any time, and a change applies as long as the job waits and each time it waits again; it stops no other job. Absent: the default class of the cluster, else value 0.',
    ),
    maxRuntimeSeconds: z
      .int()
      .min(60)
      .max(MAX_RUNTIME_SECONDS)
      .optional()
      .describe(
        'How long one run of the job may hold GPUs, summed over its attempts. Time in which the job waits or is suspended does not count, and a job that is resumed after spec.suspend starts at 0. The job is announced the end, asked to save in time, and then ends as Failed with reason MaxRuntimeReached. It can change at any time. Absent: no limit.',
      ),
    resources: ResourcesSpec.default({}).describe('What pods ask for, and where the gang may be placed.'),
    checkpoint: CheckpointSpec.optional().describe('Absent: nothing is saved and a restart begins from scratch.'),
    expects: z
      .enum(['Training', 'Nothing'])
      .optional()
      .describe(
        'Training (default): exit code 0 of every rank completes the job only if it made a step or a checkpoint, where the spec asks for steps, tokens or checkpoints. Nothing: exit code 0 completes the job in any case; for evaluation, conversion and smoke tests.',
      ),
    resumeFrom: ResumeFrom.optional().describe(
      'Checkpoint from which the next attempt starts, once. Required if no checkpoint can be used, because training never restarts from scratch by itself. Absent, or already used: the newest checkpoint.',
    ),
    preflight: PreflightSpec.optional().describe(
      'Preflight of a gang before its first rank starts. Coxswain avoids a node that differs from its peers, and does not charge the restart budget. Absent: the value of the runtime, else level Quick.',
    ),
    restartPolicy: RestartPolicy.default({ maxRestarts: 3, delaySeconds: 5, inPlace: 'WhenPossible' }).describe(
      'How often the gang restarts after failures, and how.',
    ),
    failurePolicy: FailurePolicy.optional().describe(
      'Rules and budgets for failures. With a policy, the delay before a restart grows by 0, 0, 30 s, 2, 8 and 15 min while no checkpoint is saved, and restartPolicy.delaySeconds is ignored. Absent: the value of the runtime, else only restartPolicy.',
    ),
    terminationGracePeriodSeconds: z
      .int()
      .min(1)
      .max(3600)
      .default(60)
      .describe('Time to save after SIGTERM before SIGKILL.'),
    suspend: z
      .boolean()
      .default(false)
      .describe('true: save, stop and hold; layout and gpus may change meanwhile. false: run.'),
    cancel: z.boolean().default(false).describe('true: stop for good. One-way.'),
  })
  .meta({
    id: 'TrainingJobSpec',
    ...cel(
      {
        rule: "self.engine.name != 'reference' || (has(self.model) && has(self.training) && has(self.data) && has(self.checkpoint))",
        message: 'engine "reference" needs model, training, data and checkpoint',
      },
      { rule: 'has(self.engine.image) || has(self.runtimeRef)', message: NO_IMAGE, fieldPath: '.engine.image' },
      dividesRule({ field: 'tensorParallelDegree', whole: 'attentionHeads', wholeName: 'attentionHeads' }),
      dividesRule({
        field: 'pipelineParallelDegree',
        whole: 'layers',
        wholeName: 'layers',
        // Listed stages need not be even, and the vocabulary may count as layers: what holds then is for the rules of layouts.
        unless: '(has(self.layout) && has(self.layout.pipeline))',
      }),
      {
        rule: 'has(self.layout) != has(self.gpus)',
        message: LAYOUT_OR_GPUS,
        fieldPath: '.layout',
      },
      {
        rule: '!has(self.gpus) || (has(self.model) && has(self.training))',
        message: GPUS_NEED_A_MODEL,
        fieldPath: '.gpus',
      },
      {
        rule: '!has(self.minGpus) || (has(self.gpus) && self.minGpus <= self.gpus)',
        message: LEAST_NEEDS_MOST,
        fieldPath: '.minGpus',
      },
      {
        rule: '!has(self.minGpus) || has(self.checkpoint)',
        message: LEAST_NEEDS_CHECKPOINTS,
        fieldPath: '.minGpus',
      },
      {
        rule: `!has(self.training) || !has(self.layout) || self.training.globalBatchSize % (self.layout.dataParallelDegree * ${MICRO_BATCH}) == 0`,
        messageExpression: `'layout.dataParallelDegree %d times training.microBatchSize %d does not divide training.globalBatchSize %d'.format([self.layout.dataParallelDegree, ${MICRO_BATCH}, self.training.globalBatchSize])`,
        fieldPath: '.layout.dataParallelDegree',
      },
      {
        rule: `!has(self.layout) || ${WORLD_SIZE} <= ${MAX_WORLD_SIZE}`,
        message: `the product of the degrees is the number of GPUs; at most ${MAX_WORLD_SIZE} are supported`,
        fieldPath: '.layout',
      },
      {
        rule: `oldSelf.suspend || (${unchanged('layout')} && ${unchanged('gpus')} && ${unchanged('minGpus')})`,
        message: 'layout, gpus and minGpus may change only while the job is suspended; set suspend to true first',
        fieldPath: '.layout',
      },
      {
        rule: `oldSelf.suspend || (${unchanged('runtimeRef')})`,
        message: 'runtimeRef may change only while the job is suspended; set suspend to true first',
        fieldPath: '.runtimeRef',
      },
      {
        rule: '!has(self.training) || !has(self.training.tokens) || has(self.model)',
        message: TOKENS_NEED_A_MODEL,
        fieldPath: '.training.tokens',
      },
      {
        rule: `!has(self.training) || !has(self.training.tokens) || !has(self.model) || self.training.tokens / ${MAX_STEPS} <= self.training.globalBatchSize * self.model.sequenceLength`,
        message: TOO_MANY_STEPS,
        fieldPath: '.training.tokens',
      },
      ...STANDBY_RULES,
      { rule: '!has(self.roles)', message: NO_ROLES, fieldPath: '.roles' },
      {
        rule: `!has(self.resources) || !has(self.resources.acrossIslands) || self.resources.acrossIslands != 'Sockets' || (${namesNoNetwork('env')} && ${namesNoNetwork('secretEnv')})`,
        message: SOCKETS_ARE_TOLD,
        fieldPath: '.engine',
      },
      {
        rule: '!has(self.checkpoint) || !has(self.checkpoint.memory) || (has(self.resources) && has(self.resources.memoryPerGpu))',
        message: MEMORY_SAVES_NEED_A_LIMIT,
        fieldPath: '.checkpoint.memory',
      },
      {
        rule: '!has(self.resumeFrom) || has(self.checkpoint)',
        message: RESUME_NEEDS_CHECKPOINTS,
        fieldPath: '.resumeFrom',
      },
      {
        rule: '!oldSelf.cancel || self.cancel',
        message: 'a cancelled job cannot be revived; make another job instead',
        fieldPath: '.cancel',
      },
      immutable('engine'),
      immutable('model', true),
      immutable('training', true),
      immutable('data', true),
      immutable('initialWeights', true),
      immutable('scratch', true),
      immutable('code', true),
      immutable('offline', true),
      immutableBut('checkpoint', CheckpointSpec.shape, ['retention']),
      immutable('resources'),
    ),
  })
  .refine((spec) => spec.engine.image !== undefined || spec.runtimeRef !== undefined, {
    path: ['engine', 'image'],
    message: NO_IMAGE,
  })
  .refine((spec) => (spec.layout === undefined) !== (spec.gpus === undefined), {
    path: ['layout'],
    message: LAYOUT_OR_GPUS,
  })
  .refine(({ gpus = 0, minGpus = 0 }) => minGpus <= gpus, { path: ['minGpus'], message: LEAST_NEEDS_MOST })
  .refine(({ minGpus, checkpoint }) => minGpus === undefined || checkpoint !== undefined, {
    path: ['minGpus'],
    message: LEAST_NEEDS_CHECKPOINTS,
  })
  .refine((spec) => spec.gpus === undefined || (spec.model !== undefined && spec.training !== undefined), {
    path: ['gpus'],
    message: GPUS_NEED_A_MODEL,
  })
  .refine((spec) => spec.training?.tokens === undefined || spec.model !== undefined, {
    path: ['training', 'tokens'],
    message: TOKENS_NEED_A_MODEL,
  })
  .refine((spec) => spec.training?.tokens === undefined || (stepsOf(spec) ?? 0) <= MAX_STEPS, {
    path: ['training', 'tokens'],
    message: TOO_MANY_STEPS,
  })
  .superRefine(refuseStandbys)
  .refine((spec) => spec.roles === undefined, { path: ['roles'], message: NO_ROLES })
  .refine(
    ({ engine: { env = [], secretEnv = [] }, resources }) =>
      resources.acrossIslands !== 'Sockets' ||
      ![...env, ...secretEnv].some(({ name }) => NETWORK_VARIABLES.includes(name)),
    { path: ['engine'], message: SOCKETS_ARE_TOLD },
  )
  .refine(({ checkpoint, resources }) => checkpoint?.memory === undefined || resources.memoryPerGpu !== undefined, {
    path: ['checkpoint', 'memory'],
    message: MEMORY_SAVES_NEED_A_LIMIT,
  })
  .refine((spec) => spec.resumeFrom === undefined || spec.checkpoint !== undefined, {
    path: ['resumeFrom'],
    message: RESUME_NEEDS_CHECKPOINTS,
  });
export type TrainingJobSpec = z.infer<typeof TrainingJobSpec>;
/** As a user may write it: everything with a default may be left out. */
export type TrainingJobSpecInput = z.input<typeof TrainingJobSpec>;
