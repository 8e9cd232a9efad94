/** Converts layouts between the planner's options, which are those of Megatron-LM, and the options of other engines. */
import {
  type LayoutEngine,
  type ModelShape,
  type OffloadRule,
  type ParallelLayout,
  resolveDataOverlaps,
} from '@coxswain/layout';
import type { RecomputePolicy } from '../contract.ts';
import { isFsdpAlone, namedEngineOf, policiesOf, refusalOf } from '../request/engine-choices.ts';
import { recomputeOf } from '../request/layout-conversion.ts';
import { modeOf, recomputedLayersOf } from '../recomputation-policies.ts';
import { modulesOf } from '../space/recomputed-modules.ts';

type States = NonNullable<ParallelLayout['states']>;
type Memory = NonNullable<ParallelLayout['memory']>;
type Communication = NonNullable<ParallelLayout['communication']>;

interface EngineDialect {
  /** `states.implementation` by ZeRO stage. Absent: the engine takes only the stage. */
  readonly implementations: Readonly<Record<number, States['implementation']>>;
  /** How recomputation is written. method: method and number of layers; operations: full, or selective, where the engine chooses operations; full: full only. */
  readonly recomputation: 'method' | 'operations' | 'full';
  /** Whether `fraction` is written if it is 1. DeepSpeed supports `ratio` only in ZeRO stage 3. */
  readonly writesFullFraction: boolean;
}

/** Options of these engines, as their adapters accept them. */
const DIALECTS: Partial<Record<LayoutEngine, EngineDialect>> = {
  torchtitan: { implementations: { 3: 'fsdp2' }, recomputation: 'operations', writesFullFraction: true },
  'torchtitan-toml': { implementations: { 3: 'fsdp2' }, recomputation: 'operations', writesFullFraction: true },
  'hugging-face': {
    implementations: { 1: 'deepspeed', 2: 'deepspeed', 3: 'fsdp2' },
    recomputation: 'full',
    writesFullFraction: true,
  },
  deepspeed: { implementations: {}, recomputation: 'method', writesFullFraction: false },
  'megatron-deepspeed': { implementations: {}, recomputation: 'method', writesFullFraction: false },
  'deep-optimizer-states': { implementations: {}, recomputation: 'method', writesFullFraction: false },
  libai: { implementations: {}, recomputation: 'full', writesFullFraction: true },
};

/** A planned layout with the options of the engine that `stack` names; unchanged for an unknown engine. */
export function layoutForEngine(stack: string, layout: ParallelLayout): ParallelLayout {
  const engine = namedEngineOf(stack);
  if (engine === undefined) return layout;
  const { communication, expert, ...rest } = layout;
  const options = communication === undefined ? undefined : supportedOverlaps(engine, communication);
  const written = {
    ...rest,
    ...(expert === undefined || hasUndividedExperts(engine, expert) ? {} : { expert }),
    ...(options === undefined ? {} : { communication: options }),
  };
  const dialect = dialectOf(stack, engine);
  if (dialect === undefined) return written;
  const { states, memory } = written;
  return {
    ...written,
    ...(states === undefined ? {} : { states: statesIn(dialect, states) }),
    ...(memory === undefined ? {} : { memory: memoryIn(dialect, memory) }),
  };
}

function dialectOf(stack: string, engine: LayoutEngine): EngineDialect | undefined {
  const dialect = DIALECTS[engine];
  return dialect && isFsdpAlone(stack) ? { ...dialect, implementations: { 2: 'fsdp2', 3: 'fsdp2' } } : dialect;
}

/** Overlap options that the engine has. An engine without an option overlaps by default. */
function supportedOverlaps(engine: LayoutEngine, communication: Communication): Communication | undefined {
  const options = Object.entries(communication).filter(([word]) => hasOverlapOption(engine, word));
  return options.length === 0 ? undefined : Object.fromEntries(options);
}

/** Whether experts are undivided and the engine has no option for dividing them. */
function hasUndividedExperts(engine: LayoutEngine, expert: NonNullable<ParallelLayout['expert']>): boolean {
  const { expertParallelDegree = 1, expertTensorParallelDegree = 1 } = expert;
  const asked = { expert: { expertParallelDegree: 2, expertTensorParallelDegree: 1 } };
  const isUndivided = expertParallelDegree * expertTensorParallelDegree === 1;
  return isUndivided && refusalOf(engine, 'expert.expertParallelDegree', asked) !== undefined;
}

function hasOverlapOption(engine: LayoutEngine, overlap: string): boolean {
  return refusalOf(engine, `communication.${overlap}`, { communication: { [overlap]: true } }) === undefined;
}

/** Sharded states with the implementation of the engine; `precisionAwareOptimizer` exists only in Megatron-Core. */
function statesIn(
  { implementations }: EngineDialect,
  { implementation: _planned, precisionAwareOptimizer: _aware, ...states }: States,
): States {
  const implementation = implementations[states.zeroStage ?? 0];
  return implementation === undefined ? states : { ...states, implementation };
}

/** The recomputation policies of an engine, each with its `memory` options for a chunk of two layers; undefined for policy `none`. */
export function recomputationsOf(
  stack: string,
  model: ModelShape,
): readonly { readonly policy: RecomputePolicy; readonly memory: Memory | undefined }[] {
  return policiesOf(stack).map((policy) => {
    if (policy === 'none') return { policy, memory: undefined };
    const recompute = recomputeOf({
      recompute: modeOf(policy),
      recomputeModules: modulesOf(policy, model),
      recomputeLayersPerChunk: recomputedLayersOf(policy, 2),
    });
    return { policy, memory: layoutForEngine(stack, { ...ONE_RANK, memory: { recompute } }).memory };
  });
}

const ONE_RANK = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 };

function memoryIn({ recomputation, writesFullFraction }: EngineDialect, memory: Memory): Memory {
  const { recompute, offload } = memory;
  return {
    ...memory,
    ...(recomputation === 'method' || recompute?.mode !== 'full'
      ? {}
      : { recompute: { mode: isByOperations(recomputation, recompute) ? 'selective' : 'full' } }),
    ...(writesFullFraction || offload === undefined ? {} : { offload: offload.map(withoutFullFraction) }),
  };
}

/** Whether recomputation of some layers stands for recomputation of chosen operations. */
function isByOperations(
  recomputation: EngineDialect['recomputation'],
  { method }: NonNullable<Memory['recompute']>,
): boolean {
  return recomputation === 'operations' && method === 'block';
}

/** A layout of an engine with the options that the models read: adds what the engine does by default. */
export function layoutForModels(stack: string, layout: ParallelLayout, modelLayers: number): ParallelLayout {
  const engine = namedEngineOf(stack);
  return engine === undefined ? layout : withOverlaps(engine, withChosenLayers(engine, layout, modelLayers));
}

/** Adds the overlaps of the engine, where an engine without an option for one always does it. */
function withOverlaps(engine: LayoutEngine, layout: ParallelLayout): ParallelLayout {
  const resolved = resolveDataOverlaps(engine, layout);
  const done = (['overlapGradReduce', 'overlapParamGather'] as const).filter(
    (one) => resolved[one] || !hasOverlapOption(engine, one),
  );
  if (done.length === 0) return layout;
  const overlaps = Object.fromEntries(done.map((one) => [one, true]));
  return { ...layout, communication: { ...layout.communication, ...overlaps } };
}

/** Replaces `selective`, with which the engine chooses operations itself, by as many completely recomputed layers. */
function withChosenLayers(engine: LayoutEngine, layout: ParallelLayout, modelLayers: number): ParallelLayout {
  const { recompute } = layout.memory ?? {};
  const chooses = DIALECTS[engine]?.recomputation === 'operations';
  if (!chooses || recompute?.mode !== 'selective' || recompute.modules !== undefined) return layout;
  const chunks = layout.pipelineParallelDegree * (layout.pipeline?.chunksPerRank ?? 1);
  const layers = recomputedLayersOf('operations', Math.ceil(modelLayers / chunks)) ?? 1;
  return { ...layout, memory: { ...layout.memory, recompute: { mode: 'full', method: 'block', layers } } };
}

function withoutFullFraction({ fraction, ...rule }: OffloadRule): OffloadRule {
  return fraction === undefined || fraction === 1 ? rule : { ...rule, fraction };
}
