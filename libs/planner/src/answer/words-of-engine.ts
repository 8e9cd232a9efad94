/** How is an engine told what was chosen for it, where the words of Megatron-LM are not its own? */
import type { LayoutEngine, ModelShape, OffloadRule, ParallelLayout } from '@coxswain/layout';
import type { RecomputePolicy } from '../contract.ts';
import { engineOfStack, policiesOf } from '../request/engine-choices.ts';
import { recomputeOf } from '../request/layout-conversion.ts';
import { modeOf, recomputedLayersOf } from '../recomputation-policies.ts';
import { modulesOf } from '../space/recomputed-modules.ts';

type States = NonNullable<ParallelLayout['states']>;
type Memory = NonNullable<ParallelLayout['memory']>;

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
};

/** The same layout as the engine that `stack` names is told it; of any other engine as it is. */
export function inWordsOf(stack: string, layout: ParallelLayout): ParallelLayout {
  const engine = engineOfStack(stack);
  const words = engine && WORDS[engine];
  if (words === undefined) return layout;
  const { states, memory } = layout;
  return {
    ...layout,
    ...(states === undefined ? {} : { states: statesIn(words, states) }),
    ...(memory === undefined ? {} : { memory: memoryIn(words, memory) }),
  };
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

/** The same layout in the words of the models, of an engine that is told `selective` and chooses by itself what that is. */
export function inWordsOfModels(stack: string, layout: ParallelLayout, modelLayers: number): ParallelLayout {
  const engine = engineOfStack(stack);
  const { recompute } = layout.memory ?? {};
  const chooses = engine !== undefined && WORDS[engine]?.recomputation === 'operations';
  if (!chooses || recompute?.mode !== 'selective' || recompute.modules !== undefined) return layout;
  const chunks = layout.pipelineParallelDegree * (layout.pipeline?.chunksPerRank ?? 1);
  const layers = recomputedLayersOf('operations', Math.ceil(modelLayers / chunks)) ?? 1;
  return { ...layout, memory: { ...layout.memory, recompute: { mode: 'full', method: 'block', layers } } };
}

function withoutWhole({ fraction, ...rule }: OffloadRule): OffloadRule {
  return fraction === undefined || fraction === 1 ? rule : { ...rule, fraction };
}
