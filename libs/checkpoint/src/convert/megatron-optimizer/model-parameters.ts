/** The parameters of a model of Megatron-Core as its ranks hold them, by the chunks of a save. */
import type { Box, SavedTensor } from '../../read/saved-state.ts';

/** A parameter of one layer, or one outside of layers. */
export interface ModelParameter {
  readonly tensor: SavedTensor;
  /** undefined: it is in no layer. */
  readonly layer: number | undefined;
  /** The boxes of the tensor that each tensor-parallel rank holds, one after the other in its memory. */
  readonly boxesOfRanks: readonly (readonly Box[])[];
}

/** The parameters of a model, by what each is called in its layer, or as a whole. */
export interface ModelParameters {
  readonly layers: number;
  /** By name and layer. */
  readonly inLayers: ReadonlyMap<string, ReadonlyMap<number, ModelParameter>>;
  readonly outside: ReadonlyMap<string, ModelParameter>;
}

/** `decoder.layers.` and the number of the layer, if each layer has a tensor of its own. */
const LAYER = /^decoder\.layers\.(?:(\d{1,6})\.)?(.+)$/;
/** The gate lies above the up projection; each rank holds a part of both. */
const GATED = /^mlp\.linear_fc1\.(?:weight|bias)$/;

/** Reads chunks alone. */
export function readModelParameters(
  weights: readonly SavedTensor[],
  ranks: number,
): { readonly model: ModelParameters; readonly problems: readonly string[] } {
  const inLayers = new Map<string, Map<number, ModelParameter>>();
  const outside = new Map<string, ModelParameter>();
  const problems: string[] = [];
  const add = (tensor: SavedTensor, chunks: readonly Box[], name: string, layer?: number): void => {
    const boxesOfRanks = boxesOf(chunks, name, ranks);
    if (boxesOfRanks === undefined)
      problems.push(
        `Tensor ${tensor.key} is stored in ${String(chunks.length)} chunks${layer === undefined ? '' : ` of layer ${String(layer)}`}, which do not show what each of ${String(ranks)} tensor-parallel ranks held.`,
      );
    else if (layer === undefined) outside.set(name, { tensor, layer, boxesOfRanks });
    else
      inLayers.set(
        name,
        (inLayers.get(name) ?? new Map<number, ModelParameter>()).set(layer, { tensor, layer, boxesOfRanks }),
      );
  };
  for (const tensor of weights) {
    const [, number, name] = LAYER.exec(tensor.key) ?? [];
    if (name === undefined) add(tensor, tensor.chunks, tensor.key);
    else if (number !== undefined) add(tensor, tensor.chunks, name, Number(number));
    else
      for (const [layer, chunks] of Map.groupBy(tensor.chunks, ({ offsets }) => offsets[0] ?? 0))
        // A chunk of several layers is not what a rank held: the boxes of the others are missing then.
        add(tensor, chunks.every(({ sizes }) => sizes[0] === 1) ? chunks : [], name, layer);
  }
  const layers = Math.max(
    0,
    ...[...inLayers.values()].flatMap((byLayer) => [...byLayer.keys()].map((layer) => layer + 1)),
  );
  return { model: { layers, inLayers, outside }, problems };
}

/** undefined: the chunks do not show what each rank held. */
function boxesOf(chunks: readonly Box[], name: string, ranks: number): readonly (readonly Box[])[] | undefined {
  const sorted = chunks.toSorted(byOffsets).map(({ offsets, sizes }) => ({ offsets, sizes }));
  const each = Array.from({ length: ranks }, (_, rank) => rank);
  if (sorted.length === 1) return each.map(() => sorted);
  if (sorted.length === ranks) return each.map((rank) => sorted.slice(rank, rank + 1));
  if (sorted.length !== 2 * ranks || !GATED.test(name)) return undefined;
  return each.map((rank) => [rank, ranks + rank].flatMap((at) => sorted[at] ?? []));
}

function byOffsets({ offsets: one }: Box, { offsets: other }: Box): number {
  const dim = one.findIndex((offset, at) => offset !== other[at]);
  return dim < 0 ? 0 : (one[dim] ?? 0) - (other[dim] ?? 0);
}
