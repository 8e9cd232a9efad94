/** ShardedObjects of Megatron-Core: an object of each position in a grid, stored under `<key>/shard_<position>_<sizes>`. */

/** One object of the grid. */
interface GridShard {
  readonly key: string;
  /** Such as `0.1`. */
  readonly position: string;
  /** Sizes of the grid, such as `2.2`. */
  readonly sizes: string;
}

const SHARD = /^(.+)\/shard_((?:\d{1,9}\.)*\d{1,9})_((?:\d{1,9}\.)*\d{1,9})$/;

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
  return SHARD.test(name);
}

function shardOf(name: string): readonly GridShard[] {
  const [, key, position, sizes] = SHARD.exec(name) ?? [];
  return key === undefined || position === undefined || sizes === undefined ? [] : [{ key, position, sizes }];
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
