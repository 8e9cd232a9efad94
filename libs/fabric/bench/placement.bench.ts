/**
 * `npm run placement:bench [-- --seeds N]` (`--help` has more): weighted bytes of placements beside a lower bound and beside how others place; the last line is one JSON object.
 *
 * Figures are of what a placement can change: weighted bytes less those that cross GPUs, nodes and one-node domains wherever the pods are. `x bound`
 * columns are sums over the seeds, divided by the sum of the bounds. `closed` is the share of the way from the best of the others, chosen anew for
 * each seed, to the bound that our placements go; `-` where there is no way. Peers get the best of several sizes of slices and segments.
 */
import { parseArgs } from 'node:util';
import { groupsOfAxis, worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { assumedTraffic } from '../src/traffic/assumed-traffic.ts';
import type { FabricCapacity } from '../src/nodes/fabric.ts';
import { gangShape, type GangShape } from '../src/traffic/gang-shape.ts';
import { placementCost } from '../src/place/least-crossing.ts';
import { lowerBound } from '../src/bound/lower-bound.ts';
import { openNodes } from '../src/capacity/open-nodes.ts';
import { placeGang } from '../src/place/placement.ts';
import { bestPlacementCost } from '../src/testing/best-placement.ts';
import { type BenchFabric, loaded, mixed, nvl72, randomFrom, tree, uneven } from './fabrics.ts';
import { type BenchGang, GANGS, SMALL_GANG } from './gangs.ts';
import { ODD_ROWS } from './odd-rows.ts';
import { firstFit, kaiSegments, kueueTopology } from './peers.ts';
import { unchangeableBytes } from './unchangeable-bytes.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    first: { type: 'string', default: '1' },
    row: { type: 'string', default: '' },
    each: { type: 'boolean' },
    beside: { type: 'boolean' },
    odd: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (values.help === true) {
  process.stdout.write(`npm run placement:bench [-- --seeds N] [--first SEED] [--row TEXT] [--each] [--beside | --odd]
  --seeds N     N loads of each fabric; 20 unless said. 200 take hours.
  --first SEED  the first of them; 1 unless said
  --row TEXT    only rows with this in their name, such as "tree of 4 x 8 x 16, 85 %, Llama-70B", and nothing beside rows
  --each        every load of a row in a line of its own, as JSON
  --odd         fabrics as nobody would build them instead, a tenth taken
  --beside      no rows: small fabrics against every placement, racks used, large gangs
`);
  process.exit();
}
const SEEDS = Number(values.seeds);
const FIRST_SEED = Number(values.first);
const LOADS = [0.3, 0.6, 0.85] as const;
const UNITS_TOGETHER = [1, 2, 4, 8, 16] as const;
const FABRICS: readonly BenchFabric[] = [
  tree('tree of 10 x 10 x 10', [10, 10, 10]),
  tree('tree of 4 x 8 x 16', [4, 8, 16]),
  tree('tree of 32 x 32', [32, 32]),
  tree('tree of 2 x 4 x 8 x 8', [2, 4, 8, 8]),
  nvl72('NVL72, 4 x 16 racks of 18 x 4', [4, 16]),
  mixed('mixed, 40/40/20 %', 200),
  uneven('uneven tree', 12),
];

interface Case {
  readonly bound: number;
  readonly ours: number;
  readonly peers: Readonly<Record<'firstFit' | 'kueue' | 'kai', number>>;
  readonly ms: number;
  readonly split: number;
}

/** undefined: nobody places it. */
function caseOf(gang: BenchGang, capacity: FabricCapacity, ranksPerPod: number): Case | 'refused' | undefined {
  const shape = gangShape(gang.layout, ranksPerPod);
  const traffic = assumedTraffic(gang.layout);
  const open = openNodes(capacity);
  const startedMs = performance.now();
  const outcome = placeGang({ layout: gang.layout, gpusPerNode: ranksPerPod, traffic }, capacity);
  const ms = performance.now() - startedMs;
  const { fabric } = capacity;
  const still = unchangeableBytes(shape, traffic, fabric);
  const costOf = (nodes: readonly string[] | undefined): number =>
    nodes === undefined ? Infinity : placementCost({ shape, traffic, fabric }, nodes) - still;
  const islands = [...Map.groupBy(open, ({ node }) => node.island).values()].map((inside) => ({ shape, open: inside }));
  // Jobs name the island by node affinity, as users of the others do by a flavor or a selector: the cheapest one counts.
  const best = (place: (question: (typeof islands)[number]) => readonly string[] | undefined): number =>
    Math.min(...islands.map((island) => costOf(place(island))));
  const peers = {
    firstFit: best(firstFit),
    kueue: Math.min(...UNITS_TOGETHER.map((units) => best((island) => kueueTopology(island, units)))),
    kai: Math.min(...[...UNITS_TOGETHER, Infinity].map((units) => best((island) => kaiSegments(island, units)))),
  };
  if (outcome.kind !== 'placed') return Math.min(...Object.values(peers)) < Infinity ? 'refused' : undefined;
  const ours = costOf(outcome.nodes);
  const known = Math.min(ours, ...Object.values(peers)) + still;
  const bound = lowerBound({ shape, traffic, open, acrossIslands: 'never', known }) - still;
  return { bound, ours, peers, ms, split: splitGroups(gang, shape, capacity, outcome.nodes) };
}

function splitGroups(
  { layout }: BenchGang,
  shape: GangShape,
  { fabric }: FabricCapacity,
  nodes: readonly string[],
): number {
  const domainOf = new Map(fabric.nodes.map(({ name, nvlinkDomain }) => [name, nvlinkDomain]));
  const domain = (rank: number): string => domainOf.get(nodes[Math.floor(rank / shape.ranksPerPod)] ?? '') ?? '';
  return groupsOfAxis(layout, 'tensor').filter((group) => new Set(group.map(domain)).size > 1).length;
}

interface Row {
  readonly fabric: string;
  readonly load: number;
  readonly gang: string;
  readonly placed: number;
  readonly refused: number;
  readonly split: number;
  readonly ours: number;
  readonly firstFit: number;
  readonly kueue: number;
  readonly kai: number;
  readonly closed: number | null;
  /** Seeds with a placement of another at the bound, and ours above it. */
  readonly worse: number;
  readonly ms: number;
}

const EQUAL = 1 + 1e-9;

function rowOf(fabric: BenchFabric, load: number, gang: BenchGang): Row {
  const found = Array.from({ length: SEEDS }, (_, at) => {
    const seed = FIRST_SEED + at;
    const one = caseOf(gang, loaded(fabric, load, seed), fabric.gpusPerNode);
    if (values.each === true)
      console.log(JSON.stringify({ fabric: fabric.name, load, gang: gang.name, seed, found: one }));
    return one;
  });
  const cases = found.filter((one) => one !== undefined && one !== 'refused');
  const sum = (of: (one: Case) => number): number => cases.reduce((total, one) => total + of(one), 0);
  const bound = sum((one) => one.bound);
  const bestPeer = (one: Case): number => Math.min(...Object.values(one.peers));
  const way = sum((one) => Math.min(bestPeer(one), 1e300) - one.bound);
  const ratio = (total: number): number => (bound === 0 ? (total === 0 ? 1 : Infinity) : total / bound);
  return {
    fabric: fabric.name,
    load,
    gang: gang.name,
    placed: cases.length,
    refused: found.filter((one) => one === 'refused').length,
    split: sum((one) => one.split),
    ours: ratio(sum((one) => one.ours)),
    firstFit: ratio(sum((one) => one.peers.firstFit)),
    kueue: ratio(sum((one) => one.peers.kueue)),
    kai: ratio(sum((one) => one.peers.kai)),
    closed: way <= bound * 1e-9 ? null : sum((one) => bestPeer(one) - one.ours) / way,
    worse: cases.filter((one) => bestPeer(one) <= one.bound * EQUAL + 1 && one.ours > one.bound * EQUAL + 1).length,
    ms: Math.max(0, ...cases.map((one) => one.ms)),
  };
}

function tell(row: Row): void {
  const times = (ratio: number): string => ratio.toFixed(3).padStart(8);
  const closed = row.closed === null ? '-' : `${(100 * row.closed).toFixed(0)} %`;
  console.log(
    `${row.fabric.padEnd(30)} ${String(100 * row.load).padStart(3)} % ${row.gang.padEnd(27)} ${String(row.placed).padStart(4)} ${times(row.ours)} ` +
      `${times(row.kueue)} ${times(row.kai)} ${times(row.firstFit)} ${closed.padStart(7)} ${String(row.worse).padStart(5)} ${String(row.split).padStart(5)} ` +
      `${String(row.refused).padStart(7)} ${row.ms.toFixed(0).padStart(6)}`,
  );
}

/** More seeds say nothing new, and each is a search of everything. */
const MOST_SMALL_SEEDS = 10;

/** Eight pods on a dozen nodes, against every placement there is. */
function smallFabrics(): { readonly cases: number; readonly worstOverBest: number; readonly worstOverBound: number } {
  const small = [tree('2 x 3 x 3', [2, 3, 3]), tree('5 x 4', [5, 4]), nvl72('3 racks', [1, 3])];
  let cases = 0;
  let worstOverBest = 1;
  let worstOverBound = 1;
  for (const fabric of small) {
    for (let seed = 1; seed <= Math.min(SEEDS, MOST_SMALL_SEEDS); seed++) {
      const capacity = loaded(fabric, fabric.gpusPerNode === 4 ? 0.6 : 0.4, seed);
      const layout =
        fabric.gpusPerNode === 4
          ? aLayout({ tensorParallelDegree: 4, pipelineParallelDegree: 2, dataParallelDegree: 4 })
          : SMALL_GANG.layout;
      const found = caseOf({ name: SMALL_GANG.name, layout }, capacity, fabric.gpusPerNode);
      if (found === undefined || found === 'refused') continue;
      const shape = gangShape(layout, fabric.gpusPerNode);
      const traffic = assumedTraffic(layout);
      const best = bestPlacementCost(
        { layout, traffic, acrossIslands: 'never' },
        fabric.gpusPerNode,
        openNodes(capacity),
      );
      const least = (best ?? 0) - unchangeableBytes(shape, traffic, capacity.fabric);
      cases++;
      // Below a byte is zero.
      worstOverBest = Math.max(worstOverBest, (found.ours + 1) / (least + 1));
      worstOverBound = Math.max(worstOverBound, (found.ours + 1) / (found.bound + 1));
    }
  }
  return { cases, worstOverBest, worstOverBound };
}

/**
 * 64 pods on 1,000 nodes, 60 % of them taken one by one: racks used, and the fewest in the fewest blocks. `moreRacks`: seeds where we use more than
 * those; `moreNotProven`: of these, seeds where our bytes are above the bound, so that fewer racks might have been cheaper.
 */
function racksUsed(): Readonly<Record<'most' | 'mostNeeded' | 'moreRacks' | 'moreNotProven' | 'atBound', number>> {
  const { layout } = GANGS[0] ?? SMALL_GANG;
  let most = 0;
  let mostNeeded = 0;
  let moreRacks = 0;
  let moreNotProven = 0;
  let atBound = 0;
  const shape = gangShape(layout, 8);
  const traffic = assumedTraffic(layout);
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = randomFrom(seed);
    const { fabric } = loaded(tree('racks', [10, 10, 10]), 0, seed);
    const order = fabric.nodes.map((node) => ({ node, key: random() })).sort((one, other) => one.key - other.key);
    const usedGpus = new Map(order.slice(0, 600).map(({ node }) => [node.name, node.gpus]));
    const outcome = placeGang({ layout }, { fabric, usedGpus });
    const rackOf = new Map(fabric.nodes.map(({ name, switches }) => [name, switches[0]]));
    const used = outcome.kind === 'placed' ? new Set(outcome.nodes.map((name) => rackOf.get(name))).size : Infinity;
    const needed = fewestRacks(
      order.slice(600).map(({ node }) => node.switches),
      64,
    );
    most = Math.max(most, used);
    mostNeeded = Math.max(mostNeeded, needed);
    const cost = outcome.kind === 'placed' ? placementCost({ shape, traffic, fabric }, outcome.nodes) : Infinity;
    const open = openNodes({ fabric, usedGpus });
    const bound = lowerBound({ shape, traffic, open, acrossIslands: 'never', known: cost });
    const isAtBound = cost <= bound * EQUAL;
    if (isAtBound) atBound++;
    if (used > needed) moreRacks++;
    if (used > needed && !isAtBound) moreNotProven++;
  }
  return { most, mostNeeded, moreRacks, moreNotProven, atBound };
}

/** Racks that as many nodes need in the fewest blocks that have room, two here. */
function fewestRacks(free: readonly (readonly string[])[], nodes: number): number {
  const blocks = [...Map.groupBy(free, ([, block]) => block).values()];
  const pairs = blocks.flatMap((one, at) => blocks.slice(at + 1).map((other) => [...one, ...other]));
  const racks = pairs
    .filter((pair) => pair.length >= nodes)
    .map((pair) => {
      let left = nodes;
      const rooms = [...Map.groupBy(pair, ([rack]) => rack).values()].map(({ length }) => length);
      return rooms.sort((one, other) => other - one).filter((room) => (left -= room) > -room).length;
    });
  return Math.min(...racks);
}

/** Milliseconds for 16,384 GPUs, and for 8,192 on 6,000 nodes with 9,600 groups over all tiers. */
function largeOnes(): { readonly gpus16384Ms: number; readonly nodes6000Ms: number } {
  const wide = loaded(tree('20 x 8 x 16', [20, 8, 16]), 0.1, 1);
  const layout = aLayout({ tensorParallelDegree: 8, pipelineParallelDegree: 16, dataParallelDegree: 128 });
  const all = tree('100 x 5 x 6 x 2', [100, 5, 6, 2]);
  // Domains of one node, leaves, spines and cores.
  const groups = new Set(all.nodes.flatMap(({ nvlinkDomain, switches }) => [nvlinkDomain, ...switches])).size;
  if (all.nodes.length !== 6_000 || groups !== 9_600) throw new Error(`${all.nodes.length} nodes, ${groups} groups`);
  const many = loaded(all, 0.6, 1);
  const gang = aLayout({ tensorParallelDegree: 8, pipelineParallelDegree: 8, dataParallelDegree: 128 });
  const msOf = (what: typeof layout, capacity: FabricCapacity): number => {
    const startedMs = performance.now();
    const outcome = placeGang({ layout: what }, capacity);
    const ms = performance.now() - startedMs;
    if (outcome.kind !== 'placed') throw new Error(`${worldSize(what)} GPUs were not placed: ${outcome.message}`);
    return ms;
  };
  return { gpus16384Ms: msOf(layout, wide), nodes6000Ms: msOf(gang, many) };
}

console.log(
  `${'fabric'.padEnd(30)}  load ${'gang'.padEnd(27)}  placed  x bound: ours  Kueue      KAI  firstfit  closed worse split refused max ms`,
);
const rows: Row[] = [];
for (const fabric of FABRICS) {
  for (const load of LOADS) {
    for (const gang of GANGS) {
      const title = `${fabric.name}, ${100 * load} %, ${gang.name}`;
      if (values.beside === true || values.odd === true || !title.includes(values.row)) continue;
      const row = rowOf(fabric, load, gang);
      tell(row);
      rows.push(row);
    }
  }
}
if (values.odd === true) {
  for (const { fabric, gang } of ODD_ROWS) {
    const row = rowOf(fabric, 0.1, gang);
    tell(row);
    rows.push(row);
  }
}
const isOfRows = values.row !== '' || values.odd === true;
const beside =
  isOfRows && values.beside !== true ? {} : { small: smallFabrics(), racks: racksUsed(), large: largeOnes() };
const missed = rows.filter(
  (row) => row.worse > 0 || row.split > 0 || row.refused > 0 || (row.closed !== null && row.closed < 0.8),
);
console.log(
  JSON.stringify({
    seeds: SEEDS,
    firstSeed: FIRST_SEED,
    ...beside,
    rowsBelowBar: missed.map(({ fabric, load, gang, closed }) => ({ fabric, load, gang, closed })),
    rows,
  }),
);
