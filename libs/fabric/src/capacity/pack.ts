import type { GangShape } from '../traffic/gang-shape.ts';
import { byText, type DomainNodes, type IslandNodes } from './islands.ts';

/** What one island takes of the gang: whole rows, and perhaps the rest. */
interface Share {
  readonly island: IslandNodes;
  readonly rows: number;
  readonly withRest: boolean;
}

/**
 * Node names, pod by pod, or undefined when the gang does not fit.
 *
 * Exact for the question whether it fits: rows are interchangeable, an island takes whole rows, a domain whole blocks, and every island is
 * tried as the host of the rest. Among the ways it fits: fewest islands, the tightest of those that hold what is left; the same for
 * domains within an island. `most`: only one island, or as many as are needed.
 */
export function pack(
  shape: GangShape,
  islands: readonly IslandNodes[],
  most: 'one' | 'several',
): readonly string[] | undefined {
  const shares = shareOut(shape, islands, most);
  return shares?.flatMap((share) => nodesOf(shape, share));
}

function shareOut(
  shape: GangShape,
  islands: readonly IslandNodes[],
  most: 'one' | 'several',
): readonly Share[] | undefined {
  const hasRest = shape.restBlocks > 0 || shape.restPods > 0;
  const sized = islands
    .map((island) => ({
      island,
      blocks: blocksIn(shape, island),
      rows: rowsIn(shape, island, false),
      rowsBesideRest: hasRest ? rowsIn(shape, island, true) : -1,
    }))
    .sort((left, right) => left.blocks - right.blocks || byText(left.island.island, right.island.island));

  const alone = sized.find((one) => (hasRest ? one.rowsBesideRest : one.rows) >= shape.rows);
  if (alone !== undefined) return [{ island: alone.island, rows: shape.rows, withRest: hasRest }];
  if (most === 'one') return undefined;

  if (!hasRest) return spread(shape.rows, sized);
  const hosts = sized
    .filter((one) => one.rowsBesideRest >= 0)
    .sort((left, right) => right.rowsBesideRest - left.rowsBesideRest || left.blocks - right.blocks);
  for (const host of hosts) {
    const others = spread(
      shape.rows - host.rowsBesideRest,
      sized.filter((one) => one !== host),
    );
    // The rest holds the last ranks, so its island comes last.
    if (others !== undefined) return [...others, { island: host.island, rows: host.rowsBesideRest, withRest: true }];
  }
  return undefined;
}

/** `rows` over islands sorted tightest first: the roomiest are filled until one island holds what is left; of those the tightest. */
function spread(
  rows: number,
  tightestFirst: readonly { readonly island: IslandNodes; readonly rows: number }[],
): readonly Share[] | undefined {
  const chosen = takeWhole(
    rows,
    tightestFirst.map((one) => ({ holder: one.island, room: one.rows, name: one.island.island })),
  );
  return chosen?.map(({ holder, taken }) => ({ island: holder, rows: taken, withRest: false }));
}

/** Something that takes whole units of a gang; of equal room the first in the caller's order is preferred. */
interface Holder<H> {
  readonly holder: H;
  readonly room: number;
  readonly name: string;
}

/**
 * `wanted` units over holders, fewest holders first: the roomiest whole, then the tightest that holds what is left. Units are
 * interchangeable, so the chosen holders are given in the order of their names.
 */
function takeWhole<H>(
  wanted: number,
  holders: readonly Holder<H>[],
): readonly { readonly holder: H; readonly taken: number }[] | undefined {
  const roomiestFirst = holders.filter(({ room }) => room > 0).sort((left, right) => right.room - left.room);
  const chosen: { readonly holder: H; readonly taken: number; readonly name: string }[] = [];
  let left = wanted;
  for (const [index, { holder, room, name }] of roomiestFirst.entries()) {
    if (left === 0) break;
    if (room >= left) {
      const tightest = tightestFor(left, roomiestFirst.slice(index)) ?? { holder, name };
      chosen.push({ ...tightest, taken: left });
      left = 0;
      break;
    }
    chosen.push({ holder, name, taken: room });
    left -= room;
  }
  return left === 0 ? chosen.sort((one, other) => byText(one.name, other.name)) : undefined;
}

function tightestFor<H>(wanted: number, roomiestFirst: readonly Holder<H>[]): Holder<H> | undefined {
  const enough = roomiestFirst.filter(({ room }) => room >= wanted);
  return enough.find(({ room }) => room === enough.at(-1)?.room);
}

function blocksIn(shape: GangShape, island: IslandNodes): number {
  return island.domains.reduce((sum, domain) => sum + Math.floor(domain.full.length / shape.podsPerBlock), 0);
}

/** Rows that the island can take, beside the rest if asked; negative when it cannot even take the rest. */
function rowsIn(shape: GangShape, island: IslandNodes, withRest: boolean): number {
  const blocks = blocksIn(shape, island);
  if (!withRest) return Math.floor(blocks / shape.blocksPerRow);
  // The rest's loose pods use nodes that are left over from whole blocks, where a domain has enough of them, and a block's worth elsewhere.
  const looseCost = shape.restPods === 0 || island.domains.some((domain) => holdsLoosePods(shape, domain)) ? 0 : 1;
  return Math.floor((blocks - shape.restBlocks - looseCost) / shape.blocksPerRow);
}

/** Whether the domain's nodes beyond its whole blocks can hold the loose pods. */
function holdsLoosePods(shape: GangShape, domain: DomainNodes): boolean {
  const leftOver = domain.full.length % shape.podsPerBlock;
  return leftOver >= shape.restPods || (domain.small.length > 0 && leftOver >= shape.restPods - 1);
}

function nodesOf(shape: GangShape, share: Share): readonly string[] {
  const loose = share.withRest && shape.restPods > 0 ? looseNodes(shape, share.island) : [];
  const taken = new Set(loose);
  const blocks = share.rows * shape.blocksPerRow + (share.withRest ? shape.restBlocks : 0);
  const domains = share.island.domains.map((domain) => {
    const full = domain.full.filter((name) => !taken.has(name));
    return { holder: full, room: Math.floor(full.length / shape.podsPerBlock), name: domain.domain };
  });
  const chosen = takeWhole(blocks, domains) ?? [];
  return [...chosen.flatMap(({ holder, taken: count }) => holder.slice(0, count * shape.podsPerBlock)), ...loose];
}

/** Nodes of the loose pods, the last pod's last: from the domain where fewest nodes stay over. */
function looseNodes(shape: GangShape, island: IslandNodes): readonly string[] {
  const tightestFirst = island.domains
    .filter((domain) => domain.full.length + Math.min(1, domain.small.length) >= shape.restPods)
    .map((domain) => ({ domain, costsBlock: !holdsLoosePods(shape, domain) }))
    .sort(
      (left, right) =>
        Number(left.costsBlock) - Number(right.costsBlock) || left.domain.full.length - right.domain.full.length,
    );
  const domain = tightestFirst[0]?.domain;
  if (domain === undefined) return [];
  const small = domain.small.slice(0, 1);
  return [...domain.full.slice(0, shape.restPods - small.length), ...small];
}
