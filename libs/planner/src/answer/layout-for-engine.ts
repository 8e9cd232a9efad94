/** How is an engine told what was chosen for it, where the words of Megatron-LM are not its own? */
import type { LayoutEngine, ModelShape, OffloadRule, ParallelLayout } from '@coxswain/layout';
import type { RecomputePolicy } from '../contract.ts';
import { isFsdpAlone, namedEngineOf, policiesOf, refusalOf } from '../request/engine-choices.ts';
import { recomputeOf } from '../request/layout-conversion.ts';
import { modeOf, recomputedLayersOf } from '../recomputation-policies.ts';
import { modulesOf } from '../space/recomputed-modules.ts';

type States = NonNullable<ParallelLayout['states']>;
type Memory = NonNullable<ParallelLayout['memory']>;
type Communication = NonNullable<ParallelLayout['communication']>;

interface Words {
  /** By ZeRO stage; absent: the stage says it. */
  readonly implementations: Readonly<Record<number, States['implementation']>>;
  /** How recomputation is told: by a method and a number of layers; as full, or selective where it chooses operations; or as full alone. */
  readonly recomputation: 'method' | 'operations' | 'full';
  /** Whether states in host memory are told as a share also where they are all of them; DeepSpeed's `ratio` is one of stage 3. */
  readonly saysWhole: boolean;
}

/** What the adapters of these engines take, and what Accelerate does with each stage. */
const WORDS: Partial<Record<LayoutEngine, Words>> = {
  torchtitan: { implementations: { 3: 'fsdp2' }, recomputation: 'operations', saysWhole: true },
  'torchtitan-toml': { implementations: { 3: 'fsdp2' }, recomputation: 'operations', saysWhole: true },
  'hugging-face': {
    implementations: { 1: 'deepspeed', 2: 'deepspeed', 3: 'fsdp2' },
    recomputation: 'full',
    saysWhole: true,
  },
  deepspeed: { implementations: {}, recomputation: 'method', saysWhole: false },
  'megatron-deepspeed': { implementations: {}, recomputation: 'method', saysWhole: false },
  'deep-optimizer-states': { implementations: {}, recomputation: 'method', saysWhole: false },
  libai: { implementations: {}, recomputation: 'full', saysWhole: true },
};

/** The same layout as the engine that `stack` names is told it; of any other engine as it is. */
export function inWordsOf(stack: string, layout: ParallelLayout): ParallelLayout {
  const engine = namedEngineOf(stack);
  if (engine === undefined) return layout;
  const { communication, expert, ...rest } = layout;
  const told = communication === undefined ? undefined : withoutUntold(engine, communication);
  const written = {
    ...rest,
    ...(expert === undefined || isWhole(engine, expert) ? {} : { expert }),
    ...(told === undefined ? {} : { communication: told }),
  };
  const words = wordsOf(stack, engine);
  if (words === undefined) return written;
  const { states, memory } = written;
  return {
    ...written,
    ...(states === undefined ? {} : { states: statesIn(words, states) }),
    ...(memory === undefined ? {} : { memory: memoryIn(words, memory) }),
  };
}

function wordsOf(stack: string, engine: LayoutEngine): Words | undefined {
  const words = WORDS[engine];
  return words && isFsdpAlone(stack) ? { ...words, implementations: { 2: 'fsdp2', 3: 'fsdp2' } } : words;
}

/** Whoever cannot be told overlaps by itself. */
function withoutUntold(engine: LayoutEngine, communication: Communication): Communication | undefined {
  const told = Object.entries(communication).filter(([word]) => canBeTold(engine, word));
  return told.length === 0 ? undefined : Object.fromEntries(told);
}

/** Experts that no rank shares with another, of an engine that has no word for it. */
function isWhole(engine: LayoutEngine, expert: NonNullable<ParallelLayout['expert']>): boolean {
  const { expertParallelDegree = 1, expertTensorParallelDegree = 1 } = expert;
  const asked = { expert: { expertParallelDegree: 2, expertTensorParallelDegree: 1 } };
  const isUndivided = expertParallelDegree * expertTensorParallelDegree === 1;
  return isUndivided && refusalOf(engine, 'expert.expertParallelDegree', asked) !== undefined;
}

function canBeTold(engine: LayoutEngine, overlap: string): boolean {
  return refusalOf(engine, `communication.${overlap}`, { communication: { [overlap]: true } }) === undefined;
}

/** Moments of half the bytes are Megatron-Core's, and its way to put them into host memory. */
function statesIn(
  { implementations }: Words,
  { implementation: _planned, precisionAwareOptimizer: _aware, ...states }: States,
): States {
  const implementation = implementations[states.zeroStage ?? 0];
  return implementation === undefined ? states : { ...states, implementation };
}

/** What a plan for an engine may compute again, and how that is told it, with a chunk of two layers; nothing where nothing is computed again. */
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
    return { policy, memory: inWordsOf(stack, { ...ONE_RANK, memory: { recompute } }).memory };
  });
}

const ONE_RANK = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 };

function memoryIn({ recomputation, saysWhole }: Words, memory: Memory): Memory {
  const { recompute, offload } = memory;
  return {
    ...memory,
    ...(recomputation === 'method' || recompute?.mode !== 'full'
      ? {}
      : { recompute: { mode: isChosen(recomputation, recompute) ? 'selective' : 'full' } }),
    ...(saysWhole || offload === undefined ? {} : { offload: offload.map(withoutWhole) }),
  };
}

/** Some layers of a chunk are what operations were planned as. */
function isChosen(recomputation: Words['recomputation'], { method }: NonNullable<Memory['recompute']>): boolean {
  return recomputation === 'operations' && method === 'block';
}

/** The same layout in the words of the models, of an engine that is told less than it does. */
export function inWordsOfModels(stack: string, layout: ParallelLayout, modelLayers: number): ParallelLayout {
  const engine = namedEngineOf(stack);
  return engine === undefined ? layout : withOverlaps(engine, withChosen(engine, layout, modelLayers));
}

/** Overlaps that an engine cannot be told are there. */
function withOverlaps(engine: LayoutEngine, layout: ParallelLayout): ParallelLayout {
  const itsOwn = (['overlapGradReduce', 'overlapParamGather'] as const).filter((one) => !canBeTold(engine, one));
  if (itsOwn.length === 0) return layout;
  const overlaps = Object.fromEntries(itsOwn.map((one) => [one, true]));
  return { ...layout, communication: { ...layout.communication, ...overlaps } };
}

/** What an engine computes again that is told `selective` and chooses by itself what that is. */
function withChosen(engine: LayoutEngine, layout: ParallelLayout, modelLayers: number): ParallelLayout {
  const { recompute } = layout.memory ?? {};
  const chooses = WORDS[engine]?.recomputation === 'operations';
  if (!chooses || recompute?.mode !== 'selective' || recompute.modules !== undefined) return layout;
  const chunks = layout.pipelineParallelDegree * (layout.pipeline?.chunksPerRank ?? 1);
  const layers = recomputedLayersOf('operations', Math.ceil(modelLayers / chunks)) ?? 1;
  return { ...layout, memory: { ...layout.memory, recompute: { mode: 'full', method: 'block', layers } } };
}

function withoutWhole({ fraction, ...rule }: OffloadRule): OffloadRule {
  return fraction === undefined || fraction === 1 ? rule : { ...rule, fraction };
}
