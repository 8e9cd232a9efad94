/** Rejects pinned or allowed choices that the engine of the request does not support; they are never replaced by others. */
import type { Violation } from '@coxswain/domain-error';
import type { LayoutEngine, ParallelLayout } from '@coxswain/layout';
import type { AllowedChoices, PinnedAxes, PlanRequest } from '../contract.ts';
import {
  namedEngineOf,
  refusalOf,
  supportedChoicesOf,
  unsupportedDegreesOf,
  type SupportedChoices,
} from './engine-choices.ts';

/** One violation for each pinned or allowed choice that the engine does not support. */
export function enginePins(request: PlanRequest): readonly Violation[] {
  const { stack, pinned = {}, allow = {} } = request;
  if (stack === undefined) return [];
  const degrees = pinnedDegrees(stack, pinned);
  const engine = namedEngineOf(stack);
  if (engine === undefined) return degrees;
  const taken = supportedChoicesOf(stack, engine);
  const refused = refusedOptions(engine, request);
  const isNew = ({ pointer }: Violation): boolean => refused.every((violation) => violation.pointer !== pointer);
  return [
    ...degrees,
    ...refused,
    ...unsupportedPins(stack, pinned, taken).filter(isNew),
    ...unsupportedLists(stack, allow, taken),
    ...groupPins(engine, stack, request),
    ...hostPins(engine, stack, pinned),
  ];
}

function pinnedDegrees(stack: string, pinned: PinnedAxes): readonly Violation[] {
  return unsupportedDegreesOf(stack).flatMap((name) => {
    const degree = pinned[name] ?? 1;
    if (degree === 1) return [];
    const detail = `${stack} does not support ${name} ${degree}; remove it, or name another engine with stack`;
    return [{ pointer: `/pinned/${name}`, detail }];
  });
}

/** Pins and precision that layout rules check, with their reason and alternative. */
function refusedOptions(
  engine: LayoutEngine,
  { pinned = {}, precision, gradientPrecision, stack = '' }: PlanRequest,
): readonly Violation[] {
  const { schedule, zeroStage } = pinned;
  // Only a stack with the engine's own name is checked: Composer supports fp8, Trainer does not. The job states 16-bit and 32-bit formats.
  const isEngineFormat =
    precision !== undefined && !['bf16', 'fp16', 'fp32'].includes(precision) && stack.startsWith(engine);
  const asked = [
    ['/pinned/schedule', 'pipeline.schedule', { pipelineParallelDegree: 2, pipeline: { schedule } }],
    ['/pinned/zeroStage', 'states.zeroStage', { states: { zeroStage } }],
    ['/precision', 'kernel.precision', isEngineFormat ? { kernel: { precision } } : {}],
    [
      '/gradientPrecision',
      'states.gradientPrecision',
      gradientPrecision === 'bf16' ? { states: { gradientPrecision } } : {},
    ],
  ] as const satisfies readonly (readonly [string, string, Partial<ParallelLayout>])[];
  return asked.flatMap(([pointer, option, layout]) => {
    const refusal = refusalOf(engine, option, layout);
    return refusal === undefined ? [] : [{ pointer, detail: `${refusal.reason}; ${refusal.fallback}` }];
  });
}

const PINNED_LISTS = [
  ['zeroStage', 'zeroStages'],
  ['recompute', 'recompute'],
  ['contextAlgorithm', 'contextAlgorithms'],
  ['rankOrder', 'rankOrders'],
] as const satisfies readonly (readonly [keyof PinnedAxes, keyof SupportedChoices])[];

function unsupportedPins(stack: string, pinned: PinnedAxes, taken: SupportedChoices): readonly Violation[] {
  return PINNED_LISTS.flatMap(([name, list]) => {
    const value = pinned[name];
    if (value === undefined || isAmong(taken[list], value)) return [];
    return [{ pointer: `/pinned/${name}`, detail: formatUnsupported(stack, `${name} ${value}`, taken[list]) }];
  });
}

const ALLOWED_LISTS = ['schedules', 'zeroStages', 'contextAlgorithms', 'rankOrders', 'recompute'] as const;

/** Rejects lists without a supported value. A list with some supported values is restricted to these. */
function unsupportedLists(stack: string, allow: AllowedChoices, taken: SupportedChoices): readonly Violation[] {
  return ALLOWED_LISTS.flatMap((list) => {
    const allowed: readonly (string | number)[] | undefined = allow[list];
    if (allowed === undefined || allowed.some((one) => isAmong(taken[list], one))) return [];
    const detail = formatUnsupported(stack, `${list} ${allowed.join(', ')}`, taken[list]);
    return [{ pointer: `/allow/${list}`, detail }];
  });
}

function isAmong(taken: readonly (string | number)[], value: string | number): boolean {
  return taken.includes(value);
}

function formatUnsupported(stack: string, what: string, taken: readonly (string | number)[]): string {
  const instead = taken.length === 0 ? 'remove it' : `use one of ${taken.join(', ')}`;
  return `${stack} does not support ${what}; ${instead}, or name another engine with stack`;
}

/**
 * The arguments of Transformers' Trainer shard over all ranks or over none, and DeepSpeed's MiCS is gone. PyTorch's FSDP, Accelerate and Composer, which take
 * the other choices of Trainer, have groups.
 */
function hasGroups(engine: LayoutEngine, stack: string): boolean {
  return !OF_DEEPSPEED.has(engine) && !/^(hugging-?face|transformers)\b/.test(stack);
}

function groupPins(engine: LayoutEngine, stack: string, { pinned = {}, cluster }: PlanRequest): readonly Violation[] {
  const { shardGroup, data, context = 1, tensor = 1, pipeline = 1 } = pinned;
  if (shardGroup === undefined || hasGroups(engine, stack)) return [];
  const replicas = data === undefined ? Math.floor(cluster.gpus / (tensor * pipeline)) : data * context;
  if (shardGroup === replicas) return [];
  const what = `${stack} does not support shardGroup ${shardGroup}`;
  const why = `it shards states over all ranks that hold the same part of the model, ${replicas} here`;
  return [{ pointer: '/pinned/shardGroup', detail: `${what}: ${why}; remove it, or name another engine with stack` }];
}

const HOST_PINS = [
  ['offloadOptimizer', 'optimizer'],
  ['offloadActivations', 'activations'],
] as const;

function hostPins(engine: LayoutEngine, stack: string, pinned: PinnedAxes): readonly Violation[] {
  return HOST_PINS.flatMap(([name, what]) => {
    const share = pinned[name] ?? 0;
    if (share === 0) return [];
    const asked = { memory: { offload: [{ what, fraction: share }] } };
    const refusal = refusalOf(engine, 'memory.offload.what', asked);
    const instead = refusal === undefined ? partialOffloadHint(engine, name, pinned) : 'remove it';
    if (instead === undefined) return [];
    const detail = `${stack} does not support ${name} ${share}; ${instead}, or name another engine with stack`;
    return [{ pointer: `/pinned/${name}`, detail }];
  });
}

const ALL_OR_NONE = 'pin 1, because it offloads all or nothing';

/**
 * DeepSpeed keeps inputs of recomputed layers on the host (`cpu_checkpointing` of runtime/activation_checkpointing/checkpointing.py). It offloads a
 * part of the optimizer in stage 3 alone (`ratio` of runtime/zero/offload_config.py). The Megatron-LM that Megatron-Bridge ships (core_v0.18) has no
 * `--activation-offload-fraction`.
 */
function partialOffloadHint(
  engine: LayoutEngine,
  name: (typeof HOST_PINS)[number][0],
  { offloadOptimizer = 0, offloadActivations = 0, zeroStage, recompute }: PinnedAxes,
): string | undefined {
  if (name === 'offloadActivations' && offloadActivations < 1)
    return engine === 'megatron-bridge' || OF_DEEPSPEED.has(engine) ? ALL_OR_NONE : undefined;
  if (!OF_DEEPSPEED.has(engine)) return undefined;
  if (name === 'offloadActivations')
    return recompute === 'full'
      ? undefined
      : 'also pin recompute full, because it offloads only the inputs of recomputed layers';
  const isWhole = offloadOptimizer === 1 || zeroStage === 3;
  return isWhole ? undefined : 'pin 1, or also pin zeroStage 3';
}

const OF_DEEPSPEED: ReadonlySet<LayoutEngine> = new Set(['deepspeed', 'megatron-deepspeed', 'deep-optimizer-states']);
