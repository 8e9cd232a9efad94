/** A cluster of blocks and racks whose nodes are taken one by one, and what the least is that a gang can do with there. */

const RACKS_PER_BLOCK = 10;
const NODES_PER_RACK = 10;
/** The share of nodes that somebody else holds. */
const TAKEN = 0.6;

/** Where a node stands. */
export interface Place {
  readonly rack: string;
  readonly block: string;
}

/** A node by its index: names are made of it alone, and say nothing of places. */
export interface ScatteredNode {
  readonly place: Place;
  readonly isTaken: boolean;
}

/** Blocks of ten racks of ten nodes, dealt to places, and six in ten of them taken, both by `seed`. */
export function scatteredNodes({ blocks, seed }: { blocks: number; seed: number }): readonly ScatteredNode[] {
  const random = randomFrom(seed);
  const places = Array.from({ length: blocks * RACKS_PER_BLOCK * NODES_PER_RACK }, (_, index): Place => {
    const rack = Math.floor(index / NODES_PER_RACK);
    return { rack: `rack-${rack}`, block: `block-${Math.floor(rack / RACKS_PER_BLOCK)}` };
  });
  const order = shuffled(places, random);
  const takenIndices = new Set(shuffled([...order.keys()], random).slice(0, Math.round(TAKEN * order.length)));
  return order.map((place, index) => ({ place, isTaken: takenIndices.has(index) }));
}

/** Labels by which topograph (0.x) tells of the place; its names of switches say nothing either. */
export function topographLabels({ rack, block }: Place): Readonly<Record<string, string>> {
  return {
    'network.topology.nvidia.com/leaf': switchName(rack),
    'network.topology.nvidia.com/spine': switchName(block),
    'network.topology.nvidia.com/core': switchName('core'),
  };
}

/**
 * The fewest blocks that have room for as many pods as `pods`, one on each free node, and the fewest racks in so many blocks. Any blocks do that have
 * room; of given ones a set of racks has most room that has the roomiest, so no other set of as many holds more.
 */
export function fewestPlaces(
  free: readonly Place[],
  pods: number,
): { readonly blocks: number; readonly racks: number } {
  const roomsOf = (places: readonly Place[], key: keyof Place): readonly number[] =>
    [...Map.groupBy(places, (place) => place[key]).values()].map(({ length }) => length);
  const blocks = countToHold(roomsOf(free, 'block'), pods);
  const inBlocks = [...Map.groupBy(free, ({ block }) => block).values()];
  const racks = setsOf(inBlocks, blocks)
    .map((set) => set.flat())
    .filter(({ length }) => length >= pods)
    .map((places) => countToHold(roomsOf(places, 'rack'), pods));
  return { blocks, racks: Math.min(...racks) };
}

/** How many of the rooms it takes, the largest first. */
function countToHold(rooms: readonly number[], pods: number): number {
  let left = pods;
  const taken = rooms.toSorted((one, other) => other - one).findIndex((room) => (left -= room) <= 0);
  return taken < 0 ? Infinity : taken + 1;
}

function setsOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  if (size === 0) return [[]];
  return items.flatMap((item, at) => setsOf(items.slice(at + 1), size - 1).map((rest) => [item, ...rest]));
}

/** As a switch calls itself: by a number of its maker's. */
function switchName(place: string): string {
  const number = [...place].reduce(
    (hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0,
    0x811c9dc5,
  );
  return `sw-${number.toString(16).padStart(8, '0')}`;
}

/** Numbers in [0, 1) from a seed (mulberry32, T. Ettinger). */
function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map((item) => ({ item, key: random() }))
    .toSorted((one, other) => one.key - other.key)
    .map(({ item }) => item);
}
