/** Where in its buckets a parameter is stored, by the rules with which Megatron-Core fills them (megatron/core/distributed/param_and_grad_buffer.py). */
import { volumeOf } from '../../read/saved-state.ts';
import type { ModelParameter } from './model-parameters.ts';
import { type OptimizerBuffer, type OptimizerBucket } from './optimizer-buckets.ts';

/** A parameter of a rank, and where in a bucket its elements begin. */
export interface PlacedParameter {
  readonly parameter: ModelParameter;
  readonly bucket: OptimizerBucket;
  readonly at: number;
  readonly elements: number;
}

/** Parameters begin at multiples of so many elements. */
const ALIGNMENT = 64;

/**
 * The place of each parameter of a tensor-parallel rank, which are stored in this order. A whole sentence if the buckets do not have exactly these parameters: not their total,
 * their padding, or the length of a shard.
 */
export function placeInBuckets(
  parameters: readonly ModelParameter[],
  rank: number,
  { buckets }: OptimizerBuffer,
): readonly PlacedParameter[] | string {
  const placed: PlacedParameter[] = [];
  let [number, end] = [0, 0];
  for (const parameter of parameters) {
    const elements = (parameter.boxesOfRanks[rank] ?? []).reduce((sum, { sizes }) => sum + volumeOf(sizes), 0);
    let at = aligned(end);
    if (at + elements > (buckets[number]?.elements ?? 0)) {
      const problem = unfilled(buckets[number], end);
      if (problem !== undefined)
        return `${nameOf(parameter)} does not follow where bucket ${String(number)} ${problem}.`;
      [number, at] = [number + 1, 0];
    }
    const bucket = buckets[number];
    if (bucket === undefined || at + elements > bucket.elements)
      return `${nameOf(parameter)} has ${String(elements)} elements, and bucket ${String(number)} has ${String(bucket?.elements ?? 0)}.`;
    placed.push({ parameter, bucket, at, elements });
    end = at + elements;
  }
  const problem = unfilled(buckets[number], end);
  if (problem !== undefined) return `Bucket ${String(number)} ${problem}, and no parameter is left.`;
  if (number + 1 < buckets.length) return `Bucket ${String(number + 1)} has no parameter.`;
  return strayShard(placed) ?? placed;
}

function aligned(at: number): number {
  return Math.ceil(at / ALIGNMENT) * ALIGNMENT;
}

/** A bucket ends with its last parameter, or with the padding before a parameter that begins another bucket. */
function unfilled(bucket: OptimizerBucket | undefined, end: number): string | undefined {
  return bucket === undefined || bucket.elements === end || bucket.elements === aligned(end)
    ? undefined
    : `has ${String(bucket.elements)} elements, and ${String(end)} are used`;
}

/** Each shard is a part of one parameter or of one padding: Megatron-Core stores them apart. */
function strayShard(placed: readonly PlacedParameter[]): string | undefined {
  for (const [bucket, parameters] of Map.groupBy(placed, (one) => one.bucket)) {
    const cuts = parameters.flatMap(({ at, elements }) => [at, at + elements]);
    for (const { key, chunks } of bucket.states.values()) {
      const sorted = chunks.map(({ offsets: [from = 0], sizes: [size = 0] }) => ({ from, to: from + size }));
      sorted.sort((one, other) => one.from - other.from);
      let next = 0;
      for (const { from, to } of sorted) {
        while ((cuts[next] ?? Infinity) <= from) next++;
        const cut = cuts[next];
        if (cut !== undefined && cut < to)
          return `A shard of ${key} has the elements ${String(from)} to ${String(to)}, and ${nameOf(parameters[Math.floor(next / 2)]?.parameter)} would begin or end at ${String(cut)}.`;
      }
    }
  }
  return undefined;
}

function nameOf(parameter: ModelParameter | undefined): string {
  if (parameter === undefined) return 'a parameter';
  const { tensor, layer } = parameter;
  return layer === undefined ? tensor.key : `${tensor.key} of layer ${String(layer)}`;
}
