/** Refuses what DeepSpeed does not support, including settings that it would accept and ignore. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { RAMP_UP_FIELD, rejectTwoOptimizers, rejectLongSchedule, rejectRisingRate } from '../../training-checks.ts';
import { type Check, rejectUnsupported, requirePart } from '../check.ts';
import { formatOfWeights, isAutomatic, OPTIMIZERS } from './config.ts';

const ENGINE = 'deepspeed';

const FIELDS = rejectUnsupported(ENGINE, [
  RAMP_UP_FIELD,
  {
    field: 'training.optimizer.name',
    valueOf: ({ training }) => training?.optimizer?.name,
    taken: Object.keys(OPTIMIZERS),
    fallback: 'set it to adamw',
  },
  {
    field: 'layout.states.optimizer',
    valueOf: ({ layout }) => layout.states?.optimizer,
    taken: Object.keys(OPTIMIZERS),
    fallback: 'set it to adamw, or have the script make its own',
  },
  {
    field: 'layout.states.implementation',
    valueOf: ({ layout }) => layout.states?.implementation,
    taken: ['deepspeed'],
    fallback: 'set it to deepspeed',
  },
  {
    field: 'training.schedule.name',
    valueOf: ({ training }) => training?.schedule?.name,
    taken: ['cosine', 'constant', 'linear'],
    fallback: 'use cosine, linear or constant',
  },
  {
    field: 'layout.memory.recompute.mode',
    valueOf: ({ layout }) => layout.memory?.recompute?.mode,
    taken: ['none', 'full'],
    fallback: 'use full',
  },
  {
    field: 'layout.checkpointPolicy.asyncSave',
    valueOf: ({ layout }) => layout.checkpointPolicy?.asyncSave,
    taken: [false],
    fallback: 'leave it out: the script saves, and waits for it',
  },
]);

/** Checks of a job, in the order in which they refuse. */
export const REFUSALS: readonly Check[] = [
  requirePart(ENGINE, 'training', 'set training, whose batch DeepSpeed divides'),
  FIELDS,
  wrongStage,
  wrongShards,
  wrongGradients,
  wrongOffload,
  wrongOverlaps,
  wrongExperts,
  wrongContext,
  wrongRate,
  wrongBetas,
  wrongPrecision,
  rejectTwoOptimizers,
];

/** deepspeed/runtime/pipe/engine.py. */
function wrongStage({ layout }: EffectiveSpec): ReturnType<Check> {
  const stage = layout.states?.zeroStage ?? 0;
  if (layout.pipelineParallelDegree === 1 || stage <= 1) return undefined;
  return {
    rule: 'deepspeed-pipeline-stages',
    field: 'layout.states.zeroStage',
    why: `deepspeed has no pipeline with layout.states.zeroStage ${stage}: gradients are kept over micro-batches`,
    fallback: 'set it to 1 or 0',
  };
}

/** deepspeed/runtime/zero/config.py: hpZ divides stage 3 alone. MiCS, which kept whole states in small groups, left before 0.19.8 (issue 8489). */
function wrongShards({ layout }: EffectiveSpec): ReturnType<Check> {
  const { states, dataParallelDegree, dataParallelShardDegree, contextParallelDegree = 1 } = layout;
  const ranks = dataParallelDegree * contextParallelDegree;
  if (dataParallelShardDegree !== undefined && dataParallelShardDegree !== ranks)
    return {
      rule: 'deepspeed-shard-groups',
      field: 'layout.dataParallelShardDegree',
      why: `deepspeed shares states over all ${ranks} ranks that hold the same part of the model: MiCS has been removed`,
      fallback: 'leave it out, or keep a second copy of weights in small groups by layout.states.secondaryShardDegree',
    };
  const degree = states?.secondaryShardDegree ?? 1;
  if (degree === 1 || (states?.zeroStage === 3 && ranks % degree === 0)) return undefined;
  return {
    rule: 'deepspeed-shard-groups',
    field: 'layout.states.secondaryShardDegree',
    why: `layout.states.secondaryShardDegree ${degree} divides the ${ranks} ranks of stage 3 alone`,
    fallback: `set layout.states.zeroStage to 3 and layout.states.secondaryShardDegree to a divisor of ${ranks}`,
  };
}

/** Of a mix of formats, deepspeed/runtime/engine.py (_do_optimizer_sanity_check) has fp32 beside bf16, where states are sharded. */
function wrongGradients(spec: EffectiveSpec): ReturnType<Check> {
  const { gradientPrecision, zeroStage = 0 } = spec.layout.states ?? {};
  const weights = formatOfWeights(spec);
  if (gradientPrecision === undefined || gradientPrecision === weights) return undefined;
  if (gradientPrecision === 'fp32' && weights === 'bf16' && zeroStage > 0) return undefined;
  return {
    rule: 'deepspeed-gradients',
    field: 'layout.states.gradientPrecision',
    why: `deepspeed adds gradients up in the format of the weights, or beside bf16 in fp32 from layout.states.zeroStage 1 on; weights are ${weights}, gradients ${gradientPrecision}, and the stage is ${zeroStage}`,
    fallback: `leave it out, or set it to ${weights}`,
  };
}

/** deepspeed/runtime/zero/offload_config.py. */
function wrongOffload({ layout, scratch }: EffectiveSpec): ReturnType<Check> {
  const stage = layout.states?.zeroStage ?? 0;
  for (const [index, rule] of (layout.memory?.offload ?? []).entries()) {
    const field = `layout.memory.offload.${index}`;
    const needed = rule.what === 'parameters' || rule.fraction !== undefined || rule.to === 'nvme' ? 3 : 1;
    const isOfStates = rule.what !== 'activations';
    if (isOfStates && stage < needed)
      return {
        rule: 'deepspeed-offload-stage',
        field,
        why: `deepspeed offloads ${rule.what} like this from layout.states.zeroStage ${needed} on, and it is ${stage}`,
        fallback: `set layout.states.zeroStage to ${needed}, or leave the rule out`,
      };
    if (rule.to === 'nvme' && scratch === undefined)
      return {
        rule: 'offload-has-room',
        field: `${field}.to`,
        why: 'what is offloaded to nvme needs room, and the job has no scratch',
        fallback: 'set scratch, or offload to cpu',
      };
    const strange = wrongPart(rule);
    if (strange !== undefined)
      return {
        rule: 'engine-lacks-word',
        field: `${field}.${strange}`,
        why: `deepspeed cannot do ${strange} of ${rule.what}`,
        fallback: 'leave it out',
      };
    // `cpu_checkpointing` keeps what recomputation begins from on the host, and nothing else (runtime/activation_checkpointing/checkpointing.py).
    if (rule.what === 'activations' && layout.memory?.recompute?.mode !== 'full')
      return {
        rule: 'deepspeed-offloads-recomputed',
        field,
        why: `deepspeed offloads the inputs of recomputed layers alone, and layout.memory.recompute.mode is ${layout.memory?.recompute?.mode ?? 'none'}`,
        fallback: 'set layout.memory.recompute.mode to full, or leave the rule out',
      };
  }
  return undefined;
}

/** deepspeed/runtime/zero/config.py: overlap_comm is one switch for both. */
function wrongOverlaps({ layout }: EffectiveSpec): ReturnType<Check> {
  const { overlapGradReduce, overlapParamGather = overlapGradReduce } = layout.communication ?? {};
  if (overlapGradReduce === undefined || overlapGradReduce === overlapParamGather) return undefined;
  return {
    rule: 'deepspeed-overlaps-both',
    field: 'layout.communication.overlapParamGather',
    why: `deepspeed has one switch for both overlaps: layout.communication.overlapGradReduce is ${overlapGradReduce}, and overlapParamGather ${overlapParamGather}`,
    fallback: 'give both the same value, or leave one of them out',
  };
}

type Rule = NonNullable<NonNullable<EffectiveSpec['layout']['memory']>['offload']>[number];

/** A part of the rule that DeepSpeed has for something else. */
function wrongPart({ what, fraction, overlap, to, subgroupElements }: Rule): string | undefined {
  if (fraction !== undefined && fraction !== 1 && what !== 'optimizer') return 'fraction';
  if (overlap === true && (what !== 'optimizer' || to !== 'nvme')) return 'overlap';
  if (subgroupElements !== undefined && what === 'activations') return 'subgroupElements';
  return to === 'nvme' && what === 'activations' ? 'to' : undefined;
}

/** deepspeed/module_inject/auto_ep_folding.py; MoE layers of the script: deepspeed/utils/groups.py. */
function wrongExperts({ layout }: EffectiveSpec): ReturnType<Check> {
  const { expert, tensorParallelDegree: tensor, pipelineParallelDegree, contextParallelDegree = 1, memory } = layout;
  if (!isAutomatic(layout) || tensor === 1) return undefined;
  const isOffloaded = memory?.offload?.some(({ what }) => what !== 'activations') === true;
  const field =
    (pipelineParallelDegree > 1 ? 'pipelineParallelDegree' : undefined) ??
    (contextParallelDegree > 1 ? 'contextParallelDegree' : undefined) ??
    (isOffloaded ? 'memory.offload' : undefined);
  if (field === undefined) return undefined;
  return {
    rule: 'deepspeed-folding',
    field: `layout.${field}`,
    why: `deepspeed folds layout.expert.expertParallelDegree ${expert?.expertParallelDegree} onto layout.tensorParallelDegree ${tensor} without layout.${field} alone`,
    fallback: `leave layout.${field} out, or set layout.tensorParallelDegree to 1`,
  };
}

/** Ulysses is a mesh of data and sequence (deepspeed/runtime/config.py, engine.py). */
function wrongContext({ layout }: EffectiveSpec): ReturnType<Check> {
  const { contextParallelDegree = 1, tensorParallelDegree, pipelineParallelDegree } = layout;
  if (contextParallelDegree === 1 || tensorParallelDegree * pipelineParallelDegree === 1) return undefined;
  const field = tensorParallelDegree > 1 ? 'tensorParallelDegree' : 'pipelineParallelDegree';
  return {
    rule: 'deepspeed-sequence-mesh',
    field: `layout.${field}`,
    why: `deepspeed has Ulysses and data parallelism together, and nothing beside: layout.${field} is above 1`,
    fallback: `set layout.${field} to 1`,
  };
}

/** Only its cosine schedule has a minimum rate, and its file sets rates only if the job gives a schedule. */
function wrongRate(spec: EffectiveSpec): ReturnType<Check> {
  const { training } = spec;
  if (training?.schedule === undefined) return undefined;
  return (training.schedule.name === 'cosine' ? rejectRisingRate(training) : undefined) ?? rejectLongSchedule(spec);
}

/** Its file has both in one list. */
function wrongBetas({ training }: EffectiveSpec): ReturnType<Check> {
  const { beta1, beta2 } = training?.optimizer ?? {};
  if ((beta1 === undefined) === (beta2 === undefined)) return undefined;
  const missing = beta1 === undefined ? 'beta1' : 'beta2';
  return {
    rule: 'betas-are-two',
    field: `training.optimizer.${missing}`,
    why: `deepspeed needs both betas, and training.optimizer.${missing} is absent`,
    fallback: `set training.optimizer.${missing}`,
  };
}

function wrongPrecision({ layout, training }: EffectiveSpec): ReturnType<Check> {
  const kernel = layout.kernel?.precision;
  const trained = training?.precision;
  if (kernel === undefined || kernel === trained || (kernel !== 'fp32' && trained !== 'fp32')) return undefined;
  return {
    rule: 'precision-is-said-once',
    field: 'layout.kernel.precision',
    why: `layout.kernel.precision ${kernel} is not training.precision ${trained}`,
    fallback: `leave it out, or set training.precision to ${kernel === 'fp32' ? 'fp32' : 'bf16'}`,
  };
}
