/** Describes saves of Llama 3.1 405B with the moments of Adam, in float32, by the names of TorchTitan. */
import { type SavedChunk, type SavedState, type SavedTensor, volumeOf } from '../src/read/saved-state.ts';
import type { Division } from '../src/reshard/divide.ts';

const LAYERS = 126;
const HIDDEN = 16_384;
const KEY_VALUE = 1024;
const FEED_FORWARD = 53_248;
const VOCABULARY = 128_256;

const LAYER: Readonly<Record<string, readonly number[]>> = {
  'attention.wq.weight': [HIDDEN, HIDDEN],
  'attention.wk.weight': [KEY_VALUE, HIDDEN],
  'attention.wv.weight': [KEY_VALUE, HIDDEN],
  'attention.wo.weight': [HIDDEN, HIDDEN],
  'feed_forward.w1.weight': [FEED_FORWARD, HIDDEN],
  'feed_forward.w2.weight': [HIDDEN, FEED_FORWARD],
  'feed_forward.w3.weight': [FEED_FORWARD, HIDDEN],
  'attention_norm.weight': [HIDDEN],
  'ffn_norm.weight': [HIDDEN],
};
const STATES = ['', 'optimizer.exp_avg.', 'optimizer.exp_avg_sq.'];

/** A save that is divided like this. As those of a real save, the chunks of the tensor that was read last are kept, and those of others are made again. */
export function llama405b(divide: Division): SavedState {
  const lastRead: LastRead = { key: '', chunks: [] };
  return {
    tensors: tensors().map(([key, shape]) => tensorOf({ key, shape }, divide, lastRead)),
    objects: [],
  };
}

/** The names of its tensors. */
export function keysOfLlama405b(): readonly string[] {
  return tensors().map(([key]) => key);
}

type Described = readonly [key: string, shape: readonly number[]];

function tensors(): readonly Described[] {
  const layers = Array.from({ length: LAYERS }, (_, layer) =>
    Object.entries(LAYER).map(([name, shape]): Described => [`layers.${String(layer)}.${name}`, shape]),
  );
  const model: readonly Described[] = [
    ['tok_embeddings.weight', [VOCABULARY, HIDDEN]],
    ...layers.flat(),
    ['norm.weight', [HIDDEN]],
    ['output.weight', [VOCABULARY, HIDDEN]],
  ];
  return STATES.flatMap((state) => model.map(([key, shape]): Described => [`${state}${key}`, shape]));
}

interface LastRead {
  key: string;
  chunks: readonly SavedChunk[];
}

function tensorOf(
  { key, shape }: { readonly key: string; readonly shape: readonly number[] },
  divide: Division,
  lastRead: LastRead,
): SavedTensor {
  const make = (): readonly SavedChunk[] =>
    divide({ key, shape }).map(({ rank, offsets, sizes }) => ({
      offsets,
      sizes,
      item: { file: `__${String(rank)}_0.distcp`, offset: 0, length: 4 * volumeOf(sizes) },
    }));
  return {
    key,
    dtype: 'float32',
    shape,
    get chunks() {
      if (lastRead.key !== key) Object.assign(lastRead, { key, chunks: make() });
      return lastRead.chunks;
    },
  };
}
