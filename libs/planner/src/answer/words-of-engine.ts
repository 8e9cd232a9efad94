/** How is an engine told what was chosen for it, where the words of Megatron-LM are not its own? */
import type { LayoutEngine, OffloadRule, ParallelLayout } from '@coxswain/layout';
import { engineOfStack } from '../request/engine-choices.ts';

type States = NonNullable<ParallelLayout['states']>;
type Memory = NonNullable<ParallelLayout['memory']>;

interface Words {
  /** By ZeRO stage; absent: the stage says it. */
  readonly implementations: Readonly<Record<number, States['implementation']>>;
  /** Whether full recomputation is told a method and a number of layers. */
  readonly saysMethod: boolean;
  /** Whether states in host memory are told as a share also where they are all of them; DeepSpeed's `ratio` is one of stage 3. */
  readonly saysWhole: boolean;
}

/** What the adapters of these engines take, and what Accelerate does with each stage. */
const WORDS: Partial<Record<LayoutEngine, Words>> = {
  torchtitan: { implementations: { 3: 'fsdp2' }, saysMethod: false, saysWhole: true },
  'torchtitan-toml': { implementations: { 3: 'fsdp2' }, saysMethod: false, saysWhole: true },
  'hugging-face': {
    implementations: { 1: 'deepspeed', 2: 'deepspeed', 3: 'fsdp2' },
    saysMethod: false,
    saysWhole: true,
  },
  deepspeed: { implementations: {}, saysMethod: true, saysWhole: false },
  'megatron-deepspeed': { implementations: {}, saysMethod: true, saysWhole: false },
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

function memoryIn({ saysMethod, saysWhole }: Words, memory: Memory): Memory {
  const { recompute, offload } = memory;
  return {
    ...memory,
    ...(saysMethod || recompute?.mode !== 'full' ? {} : { recompute: { mode: 'full' as const } }),
    ...(saysWhole || offload === undefined ? {} : { offload: offload.map(withoutWhole) }),
  };
}

function withoutWhole({ fraction, ...rule }: OffloadRule): OffloadRule {
  return fraction === undefined || fraction === 1 ? rule : { ...rule, fraction };
}
