/** The buckets in which Megatron-Core's distributed optimizer stores its state (`dp_reshardable`), by the names of tensors. */
import type { SavedState, SavedTensor } from '../../read/saved-state.ts';
import { UnplannableSave } from '../../reshard/plan-reshard.ts';

/** A bucket: a tensor of one dim for each state of the optimizer, all of them as long. */
export interface OptimizerBucket {
  /** By the name of the state: `param`, `exp_avg`, `exp_avg_sq`. */
  readonly states: ReadonlyMap<string, SavedTensor>;
  readonly elements: number;
}

/** The buckets of all parameters of one dtype that a rank of the model holds, in their order. */
export interface OptimizerBuffer {
  readonly dtype: string;
  readonly buckets: readonly OptimizerBucket[];
}

const KEY =
  /^optimizer\.distributed\.dp_group_idx_(\d{1,6})\.gbuf_idx_(\d{1,6})\.dtype_\(torch\.(\w{1,32}), torch\.\w{1,32}\)\.bucket_idx_(\d{1,6})\.(\w{1,32})$/;
/** The copy of parameters, which shows to which parameter elements belong. */
export const MASTER = 'param';

/** The buffers of each rank of the model, by its number among tensor- and pipeline-parallel ranks. */
export function readBuckets(optimizer: readonly SavedTensor[]): {
  readonly buffers: ReadonlyMap<number, readonly OptimizerBuffer[]>;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const parts: {
    readonly group: number;
    readonly dtype: string;
    readonly bucket: number;
    readonly state: string;
    readonly tensor: SavedTensor;
  }[] = [];
  const numbers = new Map<string, number>();
  for (const tensor of optimizer) {
    const [, group, buffer, dtype, bucket, state] = KEY.exec(tensor.key) ?? [];
    if (dtype === undefined || state === undefined) {
      problems.push(
        `Tensor ${tensor.key} is no bucket of one optimizer: optimizers of models with experts are not read here.`,
      );
      continue;
    }
    const known = numbers.get(`${String(group)} ${dtype}`) ?? Number(buffer);
    if (known !== Number(buffer))
      problems.push(`Tensor ${tensor.key} is of a second buffer of ${dtype}, which a virtual pipeline has.`);
    numbers.set(`${String(group)} ${dtype}`, known);
    parts.push({ group: Number(group), dtype, bucket: Number(bucket), state, tensor });
  }
  const buffers = new Map<number, OptimizerBuffer[]>();
  for (const [group, ofGroup] of Map.groupBy(parts, (part) => part.group))
    for (const [dtype, ofBuffer] of Map.groupBy(ofGroup, (part) => part.dtype)) {
      const byNumber = Map.groupBy(ofBuffer, (part) => part.bucket);
      const buckets = Array.from({ length: byNumber.size }, (_, bucket) => bucketOf(byNumber.get(bucket) ?? []));
      const broken = buckets.findIndex((bucket) => bucket === undefined);
      if (broken >= 0)
        problems.push(
          `Bucket ${String(broken)} of model-parallel rank ${String(group)} is missing, or its states differ in length.`,
        );
      buffers.set(group, [
        ...(buffers.get(group) ?? []),
        { dtype, buckets: buckets.filter((bucket) => bucket !== undefined) },
      ]);
    }
  return { buffers, problems };
}

/** undefined: its states differ, or it has no copy of parameters. */
function bucketOf(
  parts: readonly { readonly state: string; readonly tensor: SavedTensor }[],
): OptimizerBucket | undefined {
  const states = new Map(parts.map(({ state, tensor }) => [state, tensor]));
  const [elements = 0] = states.get(MASTER)?.shape ?? [];
  return elements > 0 && [...states.values()].every(({ shape }) => shape.length === 1 && shape[0] === elements)
    ? { states, elements }
    : undefined;
}

const SHARDING = 'dp_reshardable';

/** @throws UnplannableSave if the optimizer of a save is not stored in buckets. */
export function requireBuckets({ facts }: SavedState): void {
  const sharding = facts?.optimizerSharding;
  if (sharding === SHARDING) return;
  throw new UnplannableSave([
    `The optimizer of the save is ${sharding ?? 'not sharded'}, and only ${SHARDING} is converted. "coxswain checkpoint loads" says which layouts load it.`,
  ]);
}
