/** ShardedObjects of Megatron-Core: an object of each position in a grid, stored under `<key>/shard_<position>_<sizes>`. */

/** One object of the grid. */
interface GridShard {
  readonly key: string;
  /** Such as `0.1`. */
  readonly position: string;
  /** Sizes of the grid, such as `2.2`. */
  readonly sizes: string;
}

/** Between the key and the position. */
const MARK = '/shard_';
/** PyTorch has tensors of at most 64 dims, and grids have fewer. */
const PLACE = /^((?:\d{1,9}\.){0,63}\d{1,9})_((?:\d{1,9}\.){0,63}\d{1,9})$/;

/** Shards of a key that are missing: Megatron-Core saves all of them. `first`: the name of one. */
export interface MissingShards {
  readonly key: string;
  readonly found: number;
  readonly all: number;
  readonly first: string;
}

/** The keys whose grids have holes, in the order of the save. */
export function missingShards(names: readonly string[]): readonly MissingShards[] {
  const grids = Map.groupBy(names.flatMap(shardOf), ({ key, sizes }) => `${key}/${sizes}`);
  return [...grids.values()].flatMap((shards) => missingIn(shards) ?? []);
}

/** Whether an object of this name is one of a grid. */
export function isShard(name: string): boolean {
  return shardOf(name).length > 0;
}

function shardOf(name: string): readonly GridShard[] {
  const at = name.lastIndexOf(MARK);
  const [, position, sizes] = at < 0 ? [] : (PLACE.exec(name.slice(at + MARK.length)) ?? []);
  return position === undefined || sizes === undefined ? [] : [{ key: name.slice(0, at), position, sizes }];
}

function missingIn(shards: readonly GridShard[]): MissingShards | undefined {
  const [{ key, sizes } = { key: '', sizes: '' }] = shards;
  const dims = sizes.split('.').map(Number);
  const all = dims.reduce((product, size) => product * size, 1);
  const positions = new Set(shards.map(({ position }) => position));
  // Of so many positions one is missing, so the search ends early in a grid of any size.
  for (let index = 0; index < all && index <= positions.size; index++) {
    const position = positionAt(index, dims);
    if (!positions.has(position))
      return { key, found: positions.size, all, first: `${key}/shard_${position}_${sizes}` };
  }
  return undefined;
}

/** The position with this number, where the last dim moves fastest. */
function positionAt(index: number, dims: readonly number[]): string {
  let rest = index;
  const position: number[] = [];
  for (const size of dims.toReversed()) {
    position.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return position.join('.');
}
