/** Refuses what Trainer does not support. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { RAMP_UP_FIELD, rejectLongSchedule, rejectRisingRate } from '../../training-checks.ts';
import { type Check, firstRefusal, rejectUnsupported, requirePart } from '../check.ts';
import { REFUSALS as OF_DEEPSPEED } from '../deepspeed/refusals.ts';

const ENGINE = 'hugging-face';

/** Whether the Trainer runs with DeepSpeed. */
export function isDeepSpeed({ states }: ParallelLayout): boolean {
  return states?.implementation === 'deepspeed';
}

/** Whether the Trainer runs with FSDP2. */
export function isFsdp(layout: ParallelLayout): boolean {
  return !isDeepSpeed(layout) && layout.states?.zeroStage === 3;
}

const FIELDS = rejectUnsupported(ENGINE, [
  RAMP_UP_FIELD,
  {
    field: 'training.schedule.decayStyle',
    valueOf: ({ training }) => training?.schedule?.decayStyle,
    taken: ['linear', 'cosine', 'sqrt'],
    fallback: 'use linear, cosine or sqrt',
  },
  {
    field: 'training.optimizer.name',
    valueOf: ({ training, layout }) => (isDeepSpeed(layout) ? undefined : training?.optimizer?.name),
    taken: ['adamw', 'sgd', 'lion', 'adafactor'],
    fallback: 'set it to adamw',
  },
  {
    field: 'training.optimizer.momentum',
    valueOf: ({ training }) => (training?.optimizer?.name === 'sgd' ? undefined : training?.optimizer?.momentum),
    fallback: 'leave it out: only sgd has it',
  },
  {
    field: 'layout.memory.recompute.mode',
    valueOf: ({ layout }) => layout.memory?.recompute?.mode,
    taken: ['none', 'full'],
    fallback: 'use full',
  },
  {
    field: 'layout.memory.recompute.modules',
    valueOf: ({ layout }) => layout.memory?.recompute?.modules,
    fallback: 'leave it out',
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
    field: 'layout.memory.recompute.budget',
    valueOf: ({ layout }) => layout.memory?.recompute?.budget,
    fallback: 'leave it out',
  },
]);

/** Checks of a job, in the order in which they refuse. */
export const REFUSALS: readonly Check[] = [
  requirePart(ENGINE, 'training', 'set training'),
  FIELDS,
  wrongImplementation,
  wrongGroups,
  wrongRate,
  (spec) => (isDeepSpeed(spec.layout) ? firstRefusal(OF_DEEPSPEED, spec) : undefined),
  wrongPrecision,
];

/** Accelerate: DDP, FSDP2, or DeepSpeed by its file. */
function wrongImplementation({ layout }: EffectiveSpec): ReturnType<Check> {
  const { implementation, zeroStage = 0 } = layout.states ?? {};
  if (implementation === 'deepspeed') return undefined;
  const wanted = zeroStage === 3 ? 'fsdp2' : 'ddp';
  const isRight = implementation === undefined || implementation === wanted;
  if (isRight && zeroStage !== 1 && zeroStage !== 2) return undefined;
  return {
    rule: 'trainer-shards-by-fsdp2',
    field: 'layout.states.implementation',
    why: `Trainer has layout.states.zeroStage ${zeroStage} by ${zeroStage === 0 || zeroStage === 3 ? wanted : 'deepspeed'} alone`,
    fallback: `set it to ${zeroStage === 0 || zeroStage === 3 ? wanted : 'deepspeed'}`,
  };
}

function wrongGroups({ layout }: EffectiveSpec): ReturnType<Check> {
  const { dataParallelShardDegree, dataParallelDegree } = layout;
  if (dataParallelShardDegree === undefined || isDeepSpeed(layout)) return undefined;
  if (isFsdp(layout) && dataParallelShardDegree === dataParallelDegree) return undefined;
  return {
    rule: 'trainer-shard-groups',
    field: 'layout.dataParallelShardDegree',
    why: 'the arguments of Trainer shard over all ranks or over none',
    fallback: `leave it out, or set layout.states.implementation to deepspeed`,
  };
}

/** A schedule that does not fall has no lowest rate. */
function wrongRate(spec: EffectiveSpec): ReturnType<Check> {
  const { training } = spec;
  if (training === undefined) return undefined;
  const falls = training.schedule !== undefined && training.schedule.name !== 'constant';
  return (falls ? rejectRisingRate(training) : undefined) ?? rejectLongSchedule(spec);
}

function wrongPrecision({ layout, training }: EffectiveSpec): ReturnType<Check> {
  const kernel = layout.kernel?.precision;
  const trained = training?.precision;
  if (kernel === undefined || kernel === trained || (kernel === 'fp16' && trained === 'bf16')) return undefined;
  return {
    rule: 'precision-is-said-once',
    field: 'layout.kernel.precision',
    why: `layout.kernel.precision ${kernel} is not training.precision ${trained}`,
    fallback: 'leave one of them out',
  };
}
