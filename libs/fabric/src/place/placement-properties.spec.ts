import { groupsOfAxis, type ParallelLayout, rankTable, worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import type { FabricCapacity, FabricNode } from '../nodes/fabric.ts';
import type { GangRequest } from '../traffic/gang-shape.ts';
import { placeGang } from './placement.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

/** Of each island; two are of one class. */
const NIC_TYPES = ['infiniband', 'roce', 'InfiniBand'];
const aCluster: fc.Arbitrary<readonly FabricNode[]> = fc
  .array(
    fc.record({
      gpus: fc.constantFrom(1, 2, 4, 4, 8),
      domain: fc.nat(4),
      island: fc.nat(2),
      usable: fc.boolean(),
      hasDomain: fc.boolean(),
      // Six leaves below three spines below two cores below two more tiers, of which a node may tell the first few.
      leaf: fc.nat(5),
      depth: fc.nat(5),
    }),
    { maxLength: 24 },
  )
  .map((drawn) =>
    drawn.map(({ gpus, domain, island, usable, hasDomain, leaf, depth }, index) => ({
      ...aFabricNode({ name: `n${index}`, gpus, island: `i${island}`, nicType: NIC_TYPES[island] ?? '', usable }),
      switches: [`l${leaf}`, `s${leaf % 3}`, `c${(leaf % 3) % 2}`, 'd', 'e'].slice(0, depth),
      ...(hasDomain ? { nvlinkDomain: `d${domain}` } : {}),
    })),
  );
const aRequest: fc.Arbitrary<GangRequest> = fc
  .record({
    tensor: fc.integer({ min: 1, max: 6 }),
    data: fc.integer({ min: 1, max: 5 }),
    pipeline: fc.integer({ min: 1, max: 3 }),
    perNode: fc.option(fc.integer({ min: 1, max: 8 })),
    acrossIslands: fc.constantFrom('never', 'pipeline', 'pipeline', 'anyGroup'),
  })
  .map(({ tensor, data, pipeline, perNode, acrossIslands }) => ({
    acrossIslands,
    layout: aLayout({ tensorParallelDegree: tensor, dataParallelDegree: data, pipelineParallelDegree: pipeline }),
    ...(perNode === null ? {} : { gpusPerNode: perNode }),
  }));
const someUse = fc.array(fc.nat(8), { maxLength: 24 });

describe('every placement', () => {
  it('keeps tensor groups in one NVLink domain and all others in the islands that they may have, and overloads no node', () => {
    let placed = 0;
    fc.assert(
      fc.property(aCluster, aRequest, someUse, (cluster, request, use) => {
        const capacity = capacityOf(cluster, use);
        const outcome = placeGang(request, capacity);
        if (outcome.kind !== 'placed') return;
        placed++;
        const byName = new Map(cluster.map((node) => [node.name, node]));
        const nodeOf = (rank: number): FabricNode | undefined =>
          byName.get(outcome.nodes[Math.floor(rank / outcome.ranksPerPod)] ?? '');
        const ranks = worldSize(request.layout);
        expect(outcome.nodes).toHaveLength(Math.ceil(ranks / outcome.ranksPerPod));
        expect(new Set(outcome.nodes).size).toBe(outcome.nodes.length);
        for (const group of groupsOfAxis(request.layout, 'tensor')) {
          expect(new Set(group.map((rank) => nodeOf(rank)?.nvlinkDomain)).size).toBe(1);
        }
        expectIslandsAllowed(request, nodeOf);
        outcome.nodes.forEach((name, podIndex) => {
          const node = byName.get(name);
          const wanted = Math.min(outcome.ranksPerPod, ranks - podIndex * outcome.ranksPerPod);
          expect(node?.usable).toBe(true);
          expect(wanted + (capacity.usedGpus.get(name) ?? 0)).toBeLessThanOrEqual(node?.gpus ?? 0);
        });
      }),
      { numRuns: 1_000 },
    );
    expect(placed).toBeGreaterThan(50);
  });

  it('keeps the inner all-to-alls of ulysses-ring in one NVLink domain, in any order of ranks', () => {
    let placed = 0;
    const orders = fc.constantFrom<ParallelLayout['rankOrder'][]>(
      undefined,
      ['context', 'tensor', 'data', 'pipeline'],
      ['tensor', 'data', 'context', 'pipeline'],
      ['data', 'tensor', 'context', 'pipeline'],
    );
    const aUlyssesRing = fc
      .record({
        tensor: fc.integer({ min: 1, max: 2 }),
        inner: fc.integer({ min: 2, max: 3 }),
        ring: fc.integer({ min: 1, max: 2 }),
      })
      .chain(({ tensor, inner, ring }) =>
        orders.map((rankOrder) =>
          aLayout({
            tensorParallelDegree: tensor,
            contextParallelDegree: inner * ring,
            dataParallelDegree: 2,
            sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: inner },
            ...(rankOrder === undefined ? {} : { rankOrder }),
          }),
        ),
      );
    const perNode = fc.integer({ min: 1, max: 4 });
    fc.assert(
      fc.property(aCluster, aUlyssesRing, perNode, (cluster, layout, gpusPerNode) => {
        const twoDomains = cluster.map((node, at) => ({
          ...node,
          nvlinkDomain: `d${at % 2}`,
          island: 'i0',
          nicType: 'roce',
        }));
        const outcome = placeGang({ layout, gpusPerNode }, aFabricCapacity(twoDomains));
        if (outcome.kind !== 'placed') return;
        placed++;
        const domainOf = new Map(twoDomains.map(({ name, nvlinkDomain }) => [name, nvlinkDomain]));
        for (const group of rankTable(layout).dense.combinedGroups['ulysses'] ?? []) {
          const domains = group.map((rank) =>
            domainOf.get(outcome.nodes[Math.floor(rank / outcome.ranksPerPod)] ?? ''),
          );
          expect(new Set(domains).size).toBe(1);
        }
      }),
      { numRuns: 500 },
    );
    expect(placed).toBeGreaterThan(20);
  });

  it('leaves the nodes in reserve that each NVLink domain is to have, and the roomiest', () => {
    let held = 0;
    const reserve = fc.integer({ min: 1, max: 3 });
    const threeDomains = aCluster.map((cluster) =>
      cluster.map((node, at) => ({ ...node, nvlinkDomain: `d${at % 3}`, island: 'i0', nicType: 'roce' })),
    );
    fc.assert(
      fc.property(threeDomains, aRequest, someUse, reserve, (cluster, request, use, nodesPerNvlinkDomain) => {
        const capacity = { ...capacityOf(cluster, use), reserve: { nodesPerNvlinkDomain } };
        const outcome = placeGang(request, capacity);
        if (outcome.kind !== 'placed') return;
        const freeOf = ({ name, gpus, usable }: FabricNode): number =>
          usable ? gpus - (capacity.usedGpus.get(name) ?? 0) : 0;
        for (const domain of Map.groupBy(cluster, ({ nvlinkDomain }) => nvlinkDomain).values()) {
          const [taken, left] = [true, false].map((isTaken) =>
            domain.filter(({ name }) => outcome.nodes.includes(name) === isTaken),
          );
          if (domain.length <= nodesPerNvlinkDomain || taken === undefined || taken.length === 0) continue;
          held++;
          const roomiestTaken = Math.max(...taken.map(freeOf));
          const asRoomy = (left ?? []).filter((node) => freeOf(node) >= roomiestTaken);
          expect(asRoomy.length).toBeGreaterThanOrEqual(nodesPerNvlinkDomain);
        }
      }),
      { numRuns: 2_000 },
    );
    expect(held).toBeGreaterThan(10);
  });

  it('is the same whatever the order of the nodes', () => {
    const orders = aCluster.chain((cluster) =>
      fc.tuple(
        fc.constant(cluster),
        fc.shuffledSubarray([...cluster], { minLength: cluster.length, maxLength: cluster.length }),
      ),
    );
    fc.assert(
      fc.property(orders, aRequest, someUse, ([cluster, shuffled], request, use) => {
        const capacity = capacityOf(cluster, use);
        const turned = { ...capacity, fabric: { nodes: shuffled } };
        expect(placeGang(request, turned)).toEqual(placeGang(request, capacity));
      }),
    );
  });

  it('never uses a GPU twice, gang after gang', () => {
    let placed = 0;
    fc.assert(
      fc.property(aCluster, fc.array(aRequest, { minLength: 2, maxLength: 6 }), (cluster, requests) => {
        const usedGpus = new Map<string, number>();
        for (const request of requests) {
          const outcome = placeGang(request, { fabric: { nodes: cluster }, usedGpus });
          if (outcome.kind !== 'placed') continue;
          placed++;
          const ranks = worldSize(request.layout);
          outcome.nodes.forEach((name, pod) => {
            const taken = Math.min(outcome.ranksPerPod, ranks - pod * outcome.ranksPerPod);
            usedGpus.set(name, (usedGpus.get(name) ?? 0) + taken);
          });
        }
        for (const node of cluster)
          expect(usedGpus.get(node.name) ?? 0).toBeLessThanOrEqual(node.usable ? node.gpus : 0);
      }),
      { numRuns: 400 },
    );
    expect(placed).toBeGreaterThan(50);
  });

  it('is not lost by one more node', () => {
    fc.assert(
      fc.property(aCluster, aRequest, someUse, fc.nat(2), (cluster, request, use, island) => {
        const capacity = capacityOf(cluster, use);
        fc.pre(placeGang(request, capacity).kind === 'placed');
        const more = aFabricNode({ name: 'one-more', island: `i${island}`, nicType: NIC_TYPES[island] ?? '' });
        const grown = { ...capacity, fabric: { nodes: [...cluster, more] } };
        expect(placeGang(request, grown).kind).toBe('placed');
      }),
    );
  });

  it('is called unsatisfiable just where the same nodes, all free, would not do', () => {
    fc.assert(
      fc.property(aCluster, aRequest, someUse, (cluster, request, use) => {
        const { kind } = placeGang(request, capacityOf(cluster, use));
        const empty = placeGang(request, aFabricCapacity(cluster.map((node) => ({ ...node, usable: true }))));
        const gpus = cluster.reduce((sum, node) => sum + node.gpus, 0);
        if (empty.kind === 'placed') expect(kind).not.toBe('unsatisfiable');
        else expect(kind).toBe(gpus < worldSize(request.layout) ? 'waiting' : 'unsatisfiable');
      }),
    );
  });

  it('is found whenever a search of every assignment finds one, for one rank per node', () => {
    let possible = 0;
    fc.assert(
      fc.property(
        aCluster.map((cluster) => cluster.slice(0, 7)),
        aRequest,
        (cluster, { layout, acrossIslands = 'never' }) => {
          fc.pre(worldSize(layout) <= 6);
          const fits = canPlace(
            { layout, acrossIslands },
            cluster.filter((node) => node.usable),
          );
          if (fits) possible++;
          expect(placeGang({ layout, gpusPerNode: 1, acrossIslands }, aFabricCapacity(cluster)).kind === 'placed').toBe(
            fits,
          );
        },
      ),
      { numRuns: 300 },
    );
    expect(possible).toBeGreaterThan(20);
  });
});

/** Data groups, and with them whole stages, stay in one island, and islands of two classes never meet, unless all is over sockets. */
function expectIslandsAllowed(
  { layout, acrossIslands }: GangRequest,
  nodeOf: (rank: number) => FabricNode | undefined,
): void {
  const nodes = Array.from({ length: worldSize(layout) }, (_, rank) => nodeOf(rank));
  const islands = nodes.map((node) => node?.island);
  if (acrossIslands === 'never') expect(new Set(islands).size).toBe(1);
  if (acrossIslands !== 'pipeline') return;
  const stage = nodes.length / layout.pipelineParallelDegree;
  for (let first = 0; first < nodes.length; first += stage) {
    expect(new Set(islands.slice(first, first + stage)).size).toBe(1);
  }
  if (new Set(islands).size > 1) expect(new Set(nodes.map((node) => node?.nicType?.toLowerCase())).size).toBe(1);
}

function capacityOf(cluster: readonly FabricNode[], use: readonly number[]): FabricCapacity {
  return aFabricCapacity(cluster, Object.fromEntries(use.map((gpus, index) => [`n${index}`, gpus])));
}

/** Brute force: gives each rank a node of its own, one after the other. */
function canPlace(
  request: Required<Pick<GangRequest, 'layout' | 'acrossIslands'>>,
  free: readonly FabricNode[],
  chosen: readonly FabricNode[] = [],
): boolean {
  const { layout, acrossIslands } = request;
  const rank = chosen.length;
  if (rank === worldSize(layout)) return true;
  const stage = acrossIslands === 'never' ? worldSize(layout) : layout.tensorParallelDegree * layout.dataParallelDegree;
  const groupMate = rank % layout.tensorParallelDegree === 0 ? undefined : chosen[rank - 1];
  const stageMate = rank % stage === 0 || acrossIslands === 'anyGroup' ? undefined : chosen[rank - 1];
  const gangMate = acrossIslands === 'anyGroup' ? undefined : chosen[0];
  return free.some(
    (node) =>
      !chosen.includes(node) &&
      (groupMate === undefined || groupMate.nvlinkDomain === node.nvlinkDomain) &&
      (stageMate === undefined || stageMate.island === node.island) &&
      (gangMate === undefined || gangMate.nicType?.toLowerCase() === node.nicType?.toLowerCase()) &&
      canPlace(request, free, [...chosen, node]),
  );
}
