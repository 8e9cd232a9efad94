import { type ParallelLayout, worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import { assumedTraffic } from '../traffic/assumed-traffic.ts';
import { weightedBytes } from '../traffic/boundary-weights.ts';
import { crossingBytes } from '../traffic/crossing-bytes.ts';
import type { FabricCapacity, FabricNode } from '../nodes/fabric.ts';
import type { GangRequest } from '../traffic/gang-shape.ts';
import { placeGang } from './placement.ts';
import { keptUnlessWorse, type PlacedGang, replaceNodes } from './replace.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const tp8 = (more: Partial<ParallelLayout> = {}): GangRequest => ({
  layout: aLayout({ tensorParallelDegree: 8, ...more }),
});
/** Nodes below a leaf each, named leaf-0, leaf-1, ... */
const leaf = (name: string, count: number, alike: Partial<FabricNode> = {}): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) =>
    aFabricNode({ name: `${name}-${index}`, switches: [name, 'spine', 'core'], ...alike }),
  );
const without = (nodes: readonly FabricNode[], ...lost: readonly string[]): readonly FabricNode[] =>
  nodes.map((node) => (lost.includes(node.name) ? { ...node, usable: false } : node));
const gangOn = (...nodes: readonly string[]): PlacedGang => ({ nodes, ranksPerPod: 8 });

describe('a gang that lost nodes', () => {
  const twoLeaves = [...leaf('a', 3), ...leaf('b', 3)];
  it.each<[string, GangRequest, FabricCapacity, PlacedGang, readonly string[] | undefined]>([
    [
      'gets a spare below the same switch',
      tp8({ dataParallelDegree: 2 }),
      aFabricCapacity(without(twoLeaves, 'b-0')),
      gangOn('b-0', 'b-1'),
      ['b-2', 'b-1'],
    ],
    [
      'gets the spare of its own rack where that of a fuller rack costs no less',
      tp8({ dataParallelDegree: 7 }),
      aFabricCapacity(without([...leaf('a', 4, { nvlinkDomain: 'a' }), ...leaf('b', 5, { nvlinkDomain: 'b' })], 'a-0')),
      gangOn('b-0', 'a-1', 'a-0', 'a-2', 'b-1', 'b-2', 'b-3'),
      ['b-0', 'a-1', 'a-3', 'a-2', 'b-1', 'b-2', 'b-3'],
    ],
    [
      'gets one from farther where none is near, and keeps its others',
      tp8({ dataParallelDegree: 3 }),
      aFabricCapacity(without(twoLeaves, 'b-0'), { 'a-0': 4 }),
      gangOn('b-0', 'b-1', 'b-2'),
      ['a-1', 'b-1', 'b-2'],
    ],
    [
      'stays as it is where all of them are back',
      tp8({ dataParallelDegree: 2 }),
      aFabricCapacity(twoLeaves),
      gangOn('a-2', 'b-0'),
      ['a-2', 'b-0'],
    ],
    [
      'leaves a node that others have taken since',
      tp8({ dataParallelDegree: 2 }),
      aFabricCapacity(twoLeaves, { 'a-0': 1 }),
      gangOn('a-0', 'a-1'),
      ['a-2', 'a-1'],
    ],
    [
      'gets a spare of its own GPUs, not the nearer one of others',
      tp8({ dataParallelDegree: 2 }),
      aFabricCapacity([
        ...without(leaf('a', 2, { gpuType: 'H100' }), 'a-0'),
        ...leaf('b', 1, { gpuType: 'H100' }),
        { ...aFabricNode({ name: 'a-2', gpuType: 'A100' }), switches: ['a', 'spine', 'core'] },
      ]),
      gangOn('a-0', 'a-1'),
      ['b-0', 'a-1'],
    ],
    [
      'has no spare in another island',
      tp8({ dataParallelDegree: 2 }),
      aFabricCapacity(without([...leaf('a', 2), ...leaf('b', 2, { island: 'other' })], 'a-0')),
      gangOn('a-0', 'a-1'),
      undefined,
    ],
    [
      'stays in its one island where sockets would do, too: those would be for all of it',
      { ...tp8({ dataParallelDegree: 2 }), acrossIslands: 'anyGroup' },
      aFabricCapacity(without([...leaf('a', 2), ...leaf('b', 2, { island: 'other' })], 'a-0')),
      gangOn('a-0', 'a-1'),
      undefined,
    ],
    [
      'has no spare with another number of NICs',
      tp8({ dataParallelDegree: 2 }),
      aFabricCapacity(without([...leaf('a', 2, { nicCount: 8 }), ...leaf('b', 2, { nicCount: 4 })], 'a-0')),
      gangOn('a-0', 'a-1'),
      undefined,
    ],
    [
      'takes a spare of the NVLink domain that the rest of the tensor group is in',
      { layout: aLayout({ tensorParallelDegree: 16 }) },
      aFabricCapacity(without([...leaf('a', 3, { nvlinkDomain: 'd' }), ...leaf('b', 4)], 'a-0')),
      gangOn('a-0', 'a-1'),
      ['a-2', 'a-1'],
    ],
    [
      'moves the whole tensor group where its domain has none',
      { layout: aLayout({ tensorParallelDegree: 16, dataParallelDegree: 2 }) },
      aFabricCapacity(
        without(
          [
            ...leaf('a', 2, { nvlinkDomain: 'd' }),
            ...leaf('b', 2, { nvlinkDomain: 'e' }),
            ...leaf('c', 2, { nvlinkDomain: 'f' }),
          ],
          'a-0',
        ),
      ),
      gangOn('a-0', 'a-1', 'b-0', 'b-1'),
      ['c-0', 'c-1', 'b-0', 'b-1'],
    ],
    ['is placed anew where all are lost', tp8(), aFabricCapacity(without(twoLeaves, 'a-0')), gangOn('a-0'), undefined],
    [
      'is placed anew where it has another size by now',
      tp8(),
      aFabricCapacity(twoLeaves),
      gangOn('a-0', 'a-1'),
      undefined,
    ],
  ])('%s', (...[, request, capacity, gang, want]) => {
    expect(replaceNodes(request, capacity, gang)?.nodes).toEqual(want);
  });

  it('keeps its nodes for a little more, and not for much more', () => {
    const request = tp8({ dataParallelDegree: 2 });
    const far = leaf('b', 2, { switches: ['b', 'another spine', 'another core'] });
    const capacity = aFabricCapacity([...leaf('a', 2), ...far]);
    const near = gangOn('a-0', 'a-1');
    expect(keptUnlessWorse(request, capacity, { kept: gangOn('b-0', 'b-1'), anew: near }).nodes).toEqual([
      'b-0',
      'b-1',
    ]);
    expect(keptUnlessWorse(request, capacity, { kept: gangOn('a-0', 'b-0'), anew: near })).toBe(near);
  });
});

const aCluster: fc.Arbitrary<readonly FabricNode[]> = fc
  .array(
    fc.record({
      gpus: fc.constantFrom(2, 4, 4),
      domain: fc.option(fc.nat(3)),
      leaf: fc.nat(3),
      island: fc.nat(1),
      nicCount: fc.option(fc.constantFrom(4, 8, 8, 8, 8)),
    }),
    { minLength: 4, maxLength: 20 },
  )
  .map((drawn) =>
    drawn.map(({ gpus, domain, leaf: name, island, nicCount }, index) =>
      aFabricNode({
        name: `n${index}`,
        gpus,
        island: `i${island}`,
        switches: [`leaf-${name}-${island}`, `spine-${island}`],
        ...(nicCount === null ? {} : { nicCount }),
        ...(domain === null ? {} : { nvlinkDomain: `d${domain}-${island}` }),
      }),
    ),
  );
const aRequest: fc.Arbitrary<GangRequest> = fc
  .record({
    tensor: fc.constantFrom(1, 2, 4, 8),
    data: fc.integer({ min: 1, max: 4 }),
    pipeline: fc.integer({ min: 1, max: 2 }),
    acrossIslands: fc.constantFrom('never', 'pipeline', 'anyGroup'),
  })
  .map(({ tensor, data, pipeline, acrossIslands }) => ({
    acrossIslands,
    layout: aLayout({ tensorParallelDegree: tensor, dataParallelDegree: data, pipelineParallelDegree: pipeline }),
  }));
/** A gang that was placed on a free cluster, which nodes fail since, and what others use by now. */
const aLoss = fc.record({
  cluster: aCluster,
  request: aRequest,
  lost: fc.array(fc.nat(19), { minLength: 1, maxLength: 4 }),
  use: fc.array(fc.nat(4), { maxLength: 20 }),
});

it('a gang of two types of GPUs stays so only where no placement has one', () => {
  const nodes = [...leaf('a', 2, { gpuType: 'H100' }), ...leaf('b', 1, { gpuType: 'A100' })];
  const capacity = aFabricCapacity(nodes);
  const request = tp8({ dataParallelDegree: 2 });
  const mixed = gangOn('a-0', 'b-0');
  expect(replaceNodes(request, capacity, mixed)).toEqual(mixed);
  expect(keptUnlessWorse(request, capacity, { kept: mixed, anew: gangOn('a-0', 'a-1') }).nodes).toEqual(['a-0', 'a-1']);
});

describe('every replacement', () => {
  it('moves no pod that could stay and whose tensor group stays, keeps the rules and overloads nothing', () => {
    let replaced = 0;
    fc.assert(
      fc.property(aLoss, ({ cluster, request, lost, use }) => {
        const gang = placedOn(request, cluster);
        fc.pre(gang !== undefined);
        const capacity = afterLoss(cluster, gang, { lost, use });
        const outcome = replaceNodes(request, capacity, gang);
        if (outcome === undefined) return;
        replaced++;
        const ranksOf = ranksOfPods(request, outcome);
        expect(new Set(outcome.nodes).size).toBe(gang.nodes.length);
        outcome.nodes.forEach((name, pod) => {
          expect(freeOn(capacity, name)).toBeGreaterThanOrEqual(ranksOf[pod] ?? 0);
        });
        const blocks = Map.groupBy(gang.nodes.keys(), (pod) => blockOf(request, gang, pod));
        for (const pods of blocks.values()) {
          const moved = pods.filter((pod) => outcome.nodes[pod] !== gang.nodes[pod]);
          const couldStay = pods.filter((pod) => freeOn(capacity, gang.nodes[pod] ?? '') >= (ranksOf[pod] ?? 0));
          if (couldStay.length === pods.length) expect(moved).toEqual([]);
          expect([pods.length - couldStay.length, pods.length]).toContain(moved.length);
        }
        // A placement by these very nodes is one that the search for placements accepts.
        const onThese = new Set(outcome.nodes);
        const only = capacity.fabric.nodes.filter(({ name }) => onThese.has(name));
        const alone = { ...request, gpusPerNode: outcome.ranksPerPod };
        expect(placeGang(alone, { ...capacity, fabric: { nodes: only } }).kind).toBe('placed');
      }),
      { numRuns: 1_000 },
    );
    expect(replaced).toBeGreaterThan(100);
  });

  it('of one lost pod is the cheapest of all that keep the rules, and is found where there is one', () => {
    let found = 0;
    fc.assert(
      fc.property(aLoss, ({ cluster, request, lost: [lost = 0], use }) => {
        const gang = placedOn(request, cluster);
        fc.pre(gang !== undefined && blockOf(request, gang, 1) === 1);
        fc.pre(gang.nodes.length > 1);
        const pod = lost % gang.nodes.length;
        const capacity = afterLoss(cluster, gang, { lost: [pod], use: [] });
        const free = capacity.fabric.nodes.filter(
          ({ name }, index) => !gang.nodes.includes(name) && (use[index] ?? 0) < 2,
        );
        const some = {
          ...capacity,
          fabric: {
            nodes: [
              ...without(cluster, gang.nodes[pod] ?? '').filter(({ name }) => gang.nodes.includes(name)),
              ...free,
            ],
          },
        };
        const costs = free.flatMap(({ name }) => {
          const nodes = gang.nodes.with(pod, name);
          return isAllowed(request, some, { ...gang, nodes }, gang) ? [costOf(request, some, { ...gang, nodes })] : [];
        });
        const outcome = replaceNodes(request, some, gang);
        expect(outcome !== undefined).toBe(costs.length > 0);
        if (outcome === undefined) return;
        found++;
        expect(costOf(request, some, outcome)).toBeCloseTo(Math.min(...costs), 3);
      }),
      { numRuns: 1_000 },
    );
    expect(found).toBeGreaterThan(50);
  });

  it('is the same whatever the order of the nodes', () => {
    fc.assert(
      fc.property(aLoss, fc.integer(), ({ cluster, request, lost, use }, seed) => {
        const gang = placedOn(request, cluster);
        fc.pre(gang !== undefined);
        const capacity = afterLoss(cluster, gang, { lost, use });
        const turned = capacity.fabric.nodes.toSorted((one, other) => Math.sign(hash(one, seed) - hash(other, seed)));
        expect(replaceNodes(request, { ...capacity, fabric: { nodes: turned } }, gang)).toEqual(
          replaceNodes(request, capacity, gang),
        );
      }),
    );
  });
});

function placedOn(request: GangRequest, cluster: readonly FabricNode[]): PlacedGang | undefined {
  const outcome = placeGang(request, aFabricCapacity(cluster));
  return outcome.kind === 'placed' ? { nodes: outcome.nodes, ranksPerPod: outcome.ranksPerPod } : undefined;
}

/** Nodes of these pods take none any more, and others use GPUs of nodes that are not the gang's. */
function afterLoss(
  cluster: readonly FabricNode[],
  gang: PlacedGang,
  { lost, use }: { readonly lost: readonly number[]; readonly use: readonly number[] },
): FabricCapacity {
  const names = lost.map((pod) => gang.nodes[pod % gang.nodes.length] ?? '');
  const used = use.flatMap((gpus, index): [string, number][] =>
    gang.nodes.includes(`n${index}`) ? [] : [[`n${index}`, gpus]],
  );
  return aFabricCapacity(without(cluster, ...names), Object.fromEntries(used));
}

function freeOn({ fabric, usedGpus }: FabricCapacity, name: string): number {
  const node = fabric.nodes.find((one) => one.name === name);
  return node?.usable === true ? node.gpus - (usedGpus.get(name) ?? 0) : 0;
}

function ranksOfPods({ layout }: GangRequest, { nodes, ranksPerPod }: PlacedGang): readonly number[] {
  return nodes.map((_, pod) => Math.min(ranksPerPod, worldSize(layout) - pod * ranksPerPod));
}

/** Pods that share tensor groups have one number. */
function blockOf({ layout }: GangRequest, { ranksPerPod }: PlacedGang, pod: number): number {
  let ranks = ranksPerPod;
  while (ranks % layout.tensorParallelDegree !== 0) ranks += ranksPerPod;
  return Math.floor((pod * ranksPerPod) / ranks);
}

/** One pod per tensor group: the rules that are left are those of islands and NICs. */
function isAllowed(request: GangRequest, { fabric }: FabricCapacity, gang: PlacedGang, before: PlacedGang): boolean {
  const nodeOf = (name: string): FabricNode => fabric.nodes.find((one) => one.name === name) ?? aFabricNode();
  const nodes = gang.nodes.map(nodeOf);
  const ranks = ranksOfPods(request, gang);
  if (nodes.some(({ gpus }, pod) => gpus < (ranks[pod] ?? 0))) return false;
  const kept = gang.nodes.filter((name, pod) => name === before.nodes[pod]).map(nodeOf);
  const areSockets = request.acrossIslands === 'anyGroup' && new Set(kept.map(({ island }) => island)).size > 1;
  if (areSockets) return true;
  if (new Set(nodes.flatMap(({ nicCount }) => nicCount ?? [])).size > 1) return false;
  if (request.acrossIslands !== 'pipeline') return new Set(nodes.map(({ island }) => island)).size === 1;
  const stage = worldSize(request.layout) / request.layout.pipelineParallelDegree;
  const island = (rank: number): string | undefined => nodes[Math.floor(rank / gang.ranksPerPod)]?.island;
  return Array.from({ length: worldSize(request.layout) }, (_, rank) => rank).every(
    (rank) => island(rank) === island(rank - (rank % stage)),
  );
}

function costOf({ layout }: GangRequest, { fabric }: FabricCapacity, { nodes, ranksPerPod }: PlacedGang): number {
  const nodeOfRank = Array.from(
    { length: worldSize(layout) },
    (_, rank) => nodes[Math.floor(rank / ranksPerPod)] ?? '',
  );
  return weightedBytes(crossingBytes(assumedTraffic(layout), nodeOfRank, fabric));
}

function hash({ name }: FabricNode, seed: number): number {
  return [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0) + seed) % 9_973, 7);
}
