/** Refuses what no supported release of TorchTitan can do. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { startFormats } from '@coxswain/checkpoint';
import { worldSize } from '@coxswain/layout';
import { modelOfJob } from '../../model-of-job.ts';
import {
  RAMP_UP_FIELD,
  rejectTwoOptimizers,
  WITH_ADAPTERS,
  rejectLongSchedule,
  rejectRisingRate,
} from '../../training-checks.ts';
import { type Check, rejectUnsupported, requirePart } from '../check.ts';
import { dataDegrees, dataRefusal } from './data-degrees.ts';
import { pipelineRefusal } from './pipeline.ts';

const ENGINE = 'torchtitan';

/** torchtitan/components/optimizer: Adam and AdamW; a mask is causal within each document. */
const FIELDS = rejectUnsupported(ENGINE, [
  { field: 'training.lora', valueOf: ({ training }) => training?.lora, fallback: WITH_ADAPTERS },
  RAMP_UP_FIELD,
  {
    field: 'training.schedule.decayStyle',
    valueOf: ({ training }) => training?.schedule?.decayStyle,
    taken: ['linear', 'cosine', 'sqrt'],
    fallback: 'use linear, cosine or sqrt',
  },
  {
    field: 'layout.kernel.fusedLoss',
    valueOf: ({ layout }) => layout.kernel?.fusedLoss,
    taken: [false],
    fallback: 'leave it out, or set layout.kernel.compile: a compiled loss is fused',
  },
  {
    field: 'layout.kernel.scaling',
    valueOf: ({ layout }) => layout.kernel?.scaling,
    taken: ['current'],
    fallback: 'leave it out: torchtitan scales by the present values',
  },
  {
    field: 'training.optimizer.name',
    valueOf: ({ training }) => training?.optimizer?.name,
    taken: ['adamw', 'adam'],
    fallback: 'set it to adamw',
  },
  {
    field: 'training.optimizer.momentum',
    valueOf: ({ training }) => training?.optimizer?.momentum,
    fallback: 'leave it out: adamw has beta1 in its place',
  },
  {
    field: 'layout.kernel.attentionMask',
    valueOf: ({ layout }) => layout.kernel?.attentionMask,
    taken: ['causal', 'document'],
    fallback: 'leave it out: torchtitan masks causally within each document',
  },
  {
    field: 'layout.kernel.softmax',
    valueOf: ({ layout }) => layout.kernel?.softmax,
    taken: ['vanilla'],
    fallback: 'leave it out',
  },
  {
    field: 'layout.sequence.causalBalance',
    valueOf: ({ layout }) => layout.sequence?.causalBalance,
    taken: ['none', 'head-tail', 'ptrr'],
    fallback: 'use head-tail',
  },
  {
    field: 'layout.memory.recompute.modules',
    valueOf: ({ layout }) => layout.memory?.recompute?.modules,
    fallback: 'leave it out: torchtitan chooses by the operations of a layer',
  },
  {
    field: 'layout.memory.recompute.method',
    valueOf: ({ layout }) => layout.memory?.recompute?.method,
    fallback: 'leave it out: full recomputes every layer',
  },
  {
    field: 'layout.memory.recompute.layers',
    valueOf: ({ layout }) => layout.memory?.recompute?.layers,
    fallback: 'leave it out: full recomputes every layer',
  },
  {
    field: 'layout.memory.offload.to',
    valueOf: ({ layout }) => layout.memory?.offload?.find(({ to }) => to === 'nvme')?.to,
    fallback: 'use cpu',
  },
  {
    field: 'layout.communication.overlapGradReduce',
    valueOf: ({ layout }) => layout.communication?.overlapGradReduce,
    taken: [true],
    fallback: 'leave it out: FSDP2 always overlaps',
  },
  {
    field: 'layout.communication.overlapParamGather',
    valueOf: ({ layout }) => layout.communication?.overlapParamGather,
    taken: [true],
    fallback: 'leave it out: FSDP2 always overlaps',
  },
  {
    field: 'data.split',
    valueOf: ({ data }) => ((data?.split?.validation ?? 0) + (data?.split?.test ?? 0) > 0 ? data?.split : undefined),
    fallback: 'leave it out: all of the data is trained on',
  },
  {
    field: 'initialWeights.format',
    valueOf: ({ initialWeights }) => initialWeights?.format,
    taken: startFormats(ENGINE),
    fallback: `give weights as ${startFormats(ENGINE).join(' or ')}`,
  },
]);

/** Checks of a job, in the order in which they refuse. */
export const REFUSALS: readonly Check[] = [
  requirePart(ENGINE, 'training', 'set training'),
  FIELDS,
  wrongRate,
  dataRefusal,
  wrongRecipe,
  expertsWithoutModel,
  wrongExperts,
  wrongTensor,
  pipelineRefusal,
  wrongOffload,
  rejectTwoOptimizers,
  wrongPrecision,
];

/** TorchTitan would shorten a warm-up and a decay that are longer than the training. */
function wrongRate(spec: EffectiveSpec): ReturnType<Check> {
  return spec.training && (rejectRisingRate(spec.training) ?? rejectLongSchedule(spec));
}

/** What is built into a model, which a recipe brings along. */
function wrongRecipe({ engine, layout }: EffectiveSpec): ReturnType<Check> {
  if (engine.recipe === undefined) return undefined;
  const { kernel, expert } = layout;
  const isQuantized = kernel?.precision === 'fp8' || kernel?.precision === 'mxfp8';
  const field =
    (isQuantized ? 'kernel.precision' : undefined) ??
    (expert?.dispatcher === undefined ? undefined : 'expert.dispatcher') ??
    (expert?.balance === undefined ? undefined : 'expert.balance');
  if (field === undefined) return undefined;
  return {
    rule: 'recipe-has-the-model',
    field: `layout.${field}`,
    why: `layout.${field} is built into the model, which ${engine.recipe} brings along`,
    fallback: 'leave it out, and set it in the recipe',
  };
}

function expertsWithoutModel({ layout, model, engine }: EffectiveSpec): ReturnType<Check> {
  if (layout.expert === undefined || engine.recipe !== undefined) return undefined;
  const shape = model === undefined ? undefined : modelOfJob(model)?.model;
  if (shape === undefined || shape.experts !== undefined) return undefined;
  const why = 'layout.expert divides experts, and the model has none';
  return { rule: 'experts-are-there', field: 'layout.expert', why, fallback: 'leave layout.expert out' };
}

/** torchtitan/distributed/parallel_dims.py: experts take ranks from shards, context and tensors of one stage. */
function wrongExperts({ layout }: EffectiveSpec): ReturnType<Check> {
  const degree = layout.expert?.expertParallelDegree ?? 1;
  const ranks = worldSize(layout) / layout.pipelineParallelDegree / dataDegrees(layout).replicate;
  if (ranks % degree === 0) return undefined;
  return {
    rule: 'torchtitan-expert-ranks',
    field: 'layout.expert.expertParallelDegree',
    why: `layout.expert.expertParallelDegree ${degree} does not divide the ${ranks} ranks of a stage that share one copy of states`,
    fallback: `use a divisor of ${ranks}, or raise layout.dataParallelShardDegree`,
  };
}

/** torchtitan/models/common/decoder.py, update_from_config. */
function wrongTensor({ layout, model }: EffectiveSpec): ReturnType<Check> {
  const shape = model === undefined ? undefined : modelOfJob(model)?.model;
  const { tensorParallelDegree: tensor } = layout;
  if (shape === undefined || shape.latentAttention !== undefined || shape.keyValueHeads % tensor === 0)
    return undefined;
  return {
    rule: 'torchtitan-key-value-heads',
    field: 'layout.tensorParallelDegree',
    why: `layout.tensorParallelDegree ${tensor} does not divide model.keyValueHeads ${shape.keyValueHeads}`,
    fallback: `use ${shape.keyValueHeads} or one of its divisors`,
  };
}

/** FSDP2 offloads what it shards, all of it or nothing. */
function wrongOffload({ layout }: EffectiveSpec): ReturnType<Check> {
  const offloads = layout.memory?.offload ?? [];
  if (offloads.length === 0 || dataDegrees(layout).shard > 1) return undefined;
  return {
    rule: 'torchtitan-offloads-shards',
    field: 'layout.memory.offload',
    why: 'torchtitan offloads what FSDP2 shards, and layout.states.zeroStage is not 3',
    fallback: 'set layout.states.zeroStage to 3, or leave layout.memory.offload out',
  };
}

function wrongPrecision({ layout, training }: EffectiveSpec): ReturnType<Check> {
  const kernel = layout.kernel?.precision;
  const trained = training?.precision;
  if (kernel === undefined || kernel === trained || (trained === 'bf16' && kernel !== 'fp32')) return undefined;
  return {
    rule: 'precision-is-said-once',
    field: 'layout.kernel.precision',
    why: `layout.kernel.precision ${kernel} is not training.precision ${trained}`,
    fallback: `leave it out, or set training.precision to ${kernel === 'fp32' ? 'fp32' : 'bf16'}`,
  };
}
