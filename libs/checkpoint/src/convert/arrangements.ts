/**
 * How tensors of a model are laid out in one tensor of a spelling. All of them move whole rows, so each is a list of runs: elements that follow each other on
 * both sides. Read backwards it is its own inverse.
 */
import { volumeOf } from '../read/saved-state.ts';
import type { ModelConfig } from './model-config.ts';

type Shape = readonly number[];

/** Elements that follow each other in a part, which is a tensor of the model, and in the block of the spelling. */
export interface PartRun {
  readonly part: number;
  /** Elements of the part before them. */
  readonly from: number;
  /** Elements of the block before them. */
  readonly to: number;
  readonly length: number;
}

/** A way to lay out parts in a block. Shapes are those of the model: they were compared with its configuration. */
export interface Arrangement {
  /** The shape of the block of parts with these shapes. */
  readonly blockOf: (parts: readonly Shape[]) => Shape;
  /** In the order of the block. */
  readonly runsOf: (parts: readonly Shape[], model: ModelConfig) => readonly PartRun[];
}

/** The part is the block. */
const plain: Arrangement = {
  blockOf: ([shape = []]) => shape,
  runsOf: ([shape = []]) => [{ part: 0, from: 0, to: 0, length: volumeOf(shape) }],
};

/** Parts one after the other along the first dim: the gate above the up projection in one tensor. */
const stacked: Arrangement = {
  blockOf: (parts) => [rowsOf(parts), ...(parts[0] ?? []).slice(1)],
  runsOf: (parts) => {
    let to = 0;
    return parts.map((shape, part) => {
      const run = { part, from: 0, to, length: volumeOf(shape) };
      to += run.length;
      return run;
    });
  },
};

/** Query, key and value of each query group follow each other: `[group][queries, key, value]`, each of them a head of rows. */
const groupedHeads: Arrangement = {
  blockOf: stacked.blockOf,
  runsOf: (parts, { keyValueHeads }) => {
    const runs: PartRun[] = [];
    let to = 0;
    for (let group = 0; group < keyValueHeads; group++) {
      for (const [part, shape] of parts.entries()) {
        const length = volumeOf(shape) / keyValueHeads;
        runs.push({ part, from: group * length, to, length });
        to += length;
      }
    }
    return runs;
  },
};

/**
 * Rotary positions turn pairs of rows of a head. Hugging Face and Megatron pair row i with row i + half of the head; the original Llama and TorchTitan pair
 * rows 2i and 2i + 1. The model has the former, the block the latter.
 */
const neighbouringPairs: Arrangement = {
  blockOf: plain.blockOf,
  runsOf: ([shape = []], { headSize }) => {
    const [rows = 0] = shape;
    const length = volumeOf(shape.slice(1));
    return Array.from({ length: rows }, (_, row) => {
      const inHead = row % headSize;
      const from = row - inHead + (inHead % 2) * (headSize / 2) + Math.floor(inHead / 2);
      return { part: 0, from: from * length, to: row * length, length };
    });
  },
};

function rowsOf(parts: readonly Shape[]): number {
  return parts.reduce((sum, [rows = 0]) => sum + rows, 0);
}

export const ARRANGEMENTS = { plain, stacked, groupedHeads, neighbouringPairs } as const satisfies Record<
  string,
  Arrangement
>;
