import { groupsOfAxis, worldSize } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import type { FabricCapacity, FabricNode, Reserve } from '../nodes/fabric.ts';
import type { GangRequest } from '../traffic/gang-shape.ts';
import { openNodes } from '../capacity/open-nodes.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';
import { placeGang } from './placement.ts';
import type { PlacedGang } from './replace.ts';
import { repairPlacement } from './repair-placement.ts';

/** Racks of four nodes below spines of two racks, in one NVLink domain each; names such as `r2-3`. */
function racks(count: number, isDomain = true): readonly FabricNode[] {
  return Array.from({ length: 4 * count }, (_, index) => {
    const rack = Math.floor(index / 4);
    const spine = `s${Math.floor(rack / 2)}`;
    const name = `r${rack}-${index % 4}`;
    const domain = isDomain ? { nvlinkDomain: `r${rack}` } : {};
    return aFabricNode({ name, ...domain, switches: [`${spine}/l${rack}`, spine], gpuType: 'H100', nicType: 'ib' });
  });
}

const asRing = (pods: number): GangRequest => ({
  layout: aLayout({ tensorParallelDegree: 8, dataParallelDegree: pods }),
  gpusPerNode: 8,
});
/** Two pods share each tensor group. */
const asPairs = (pairs: number): GangRequest => ({
  layout: aLayout({ tensorParallelDegree: 16, dataParallelDegree: pairs }),
  gpusPerNode: 8,
});

interface Change {
  readonly used?: Readonly<Record<string, number>>;
  readonly nodes?: (node: FabricNode) => FabricNode | undefined;
  readonly reserve?: Reserve;
  readonly mayUseReserve?: boolean;
  readonly avoided?: readonly string[];
}

/** What becomes of pods on these nodes of so many racks after a change. */
function repair(
  nodes: readonly string[],
  { used = {}, nodes: change = (node) => node, reserve, mayUseReserve, avoided = [] }: Change,
  { request = asRing(nodes.length), racks: count = 6 }: { request?: GangRequest; racks?: number } = {},
): readonly string[] | undefined {
  const searched = racks(count);
  const now = aFabricCapacity(
    searched.flatMap((node) => change(node) ?? []),
    used,
  );
  return repairPlacement(
    { nodes, ranksPerPod: 8 },
    {
      request,
      searched: { nodes: searched },
      capacity: reserve === undefined ? now : { ...now, reserve },
      ...(mayUseReserve === undefined ? {} : { mayUseReserve }),
      avoided: new Set(avoided),
    },
  )?.nodes;
}

const rack = (number: number, nodes = 4): readonly string[] =>
  Array.from({ length: nodes }, (_, index) => `r${number}-${index}`);
const others = (names: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(names.map((name) => [name, 8]));
const GANG = [...rack(0), ...rack(1, 3), ...rack(2)];

describe('a placement that was found before the cluster changed', () => {
  it.each<[string, Change, readonly string[] | undefined]>([
    ['is the same if nothing changed', {}, GANG],
    ['is the same if others took nodes that it does not use', { used: others(['r1-3', 'r4-0']) }, GANG],
    ['gets a free node of the same rack', { used: others(['r1-1']) }, [...rack(0), 'r1-0', 'r1-3', 'r1-2', ...rack(2)]],
    [
      'gets a node below the same spine if the rack is full',
      { used: others(['r2-1']) },
      [...rack(0), ...rack(1, 3), 'r2-0', 'r3-0', 'r2-2', 'r2-3'],
    ],
    [
      'gets a node of a rack of the gang before one of another rack below the same spine',
      { used: others(['r0-1']) },
      ['r0-0', 'r1-3', 'r0-2', 'r0-3', ...rack(1, 3), ...rack(2)],
    ],
    [
      'gets a node below another spine if there is no nearer one',
      { used: others(['r2-1', ...rack(3), 'r1-3']) },
      [...rack(0), ...rack(1, 3), 'r2-0', 'r4-0', 'r2-2', 'r2-3'],
    ],
    [
      'gets another node for one that is not usable any more',
      { nodes: (node) => (node.name === 'r1-0' ? { ...node, usable: false } : node) },
      [...rack(0), 'r1-3', 'r1-1', 'r1-2', ...rack(2)],
    ],
    [
      'gets another node for one that is gone',
      { nodes: (node) => (node.name === 'r1-0' ? undefined : node) },
      [...rack(0), 'r1-3', 'r1-1', 'r1-2', ...rack(2)],
    ],
    [
      'gets another node for one that is in another rack now',
      { nodes: (node) => (node.name === 'r1-0' ? { ...node, nvlinkDomain: 'r5', switches: ['s2/l5', 's2'] } : node) },
      [...rack(0), 'r1-3', 'r1-1', 'r1-2', ...rack(2)],
    ],
    [
      'gets no node with GPUs of another type',
      {
        used: others(['r1-1']),
        nodes: (node) => (node.name === 'r1-3' ? { ...node, gpuType: 'A100' } : node),
      },
      [...rack(0), 'r1-0', 'r3-0', 'r1-2', ...rack(2)],
    ],
    [
      'gets no node that is avoided',
      { used: others(['r2-1', 'r1-3']), avoided: ['r3-0'] },
      [...rack(0), ...rack(1, 3), 'r2-0', 'r3-1', 'r2-2', 'r2-3'],
    ],
    ['must be searched again if others took more than an eighth of it', { used: others(['r0-0', 'r2-0']) }, undefined],
    [
      'must be searched again if no node is left',
      { used: others(['r0-0', 'r1-3', ...rack(3), ...rack(4), ...rack(5)]) },
      undefined,
    ],
  ])('%s', (_what, change, want) => {
    expect(repair(GANG, change)).toEqual(want);
  });
});

describe('pods that share tensor groups', () => {
  const pairs = { request: asPairs(2) };

  it.each<[string, Change, readonly string[] | undefined]>([
    ['stay in their domain if it has room', { used: others(['r0-0']) }, ['r0-2', 'r0-1', 'r1-0', 'r1-1']],
    [
      'move together to the nearest domain with room for all of them',
      { used: others(['r0-0', 'r0-2', 'r0-3', 'r2-0', 'r2-1', 'r2-2']) },
      ['r1-2', 'r1-3', 'r1-0', 'r1-1'],
    ],
    [
      'must be searched again if no domain has room for all of them',
      {
        used: others(['r0-0', 'r0-2', 'r0-3', ...[2, 3, 4, 5].flatMap((number) => rack(number, 3)), 'r1-2']),
      },
      undefined,
    ],
  ])('%s', (_what, change, want) => {
    expect(repair(['r0-0', 'r0-1', 'r1-0', 'r1-1'], change, pairs)).toEqual(want);
  });
});

describe('nodes in reserve', () => {
  // The first node of each rack by name is held, and stays free.
  const reserve = { nodesPerNvlinkDomain: 1 };
  const gang = [0, 1, 2].flatMap((number) => rack(number).slice(1));
  const used = others(['r0-1', 'r3-1', 'r3-2', 'r3-3']);

  it('take no pod of a gang that only starts', () => {
    expect(repair(gang, { used, reserve })?.[0]).toBe('r4-1');
  });

  it('take a pod of a gang whose nodes failed, if no other node is free', () => {
    const full = { ...used, ...others([4, 5].flatMap((number) => rack(number).slice(1))) };
    expect(repair(gang, { used: full, reserve })).toBeUndefined();
    expect(repair(gang, { used: full, reserve, mayUseReserve: true })?.[0]).toBe('r0-0');
  });
});

describe('every repair', () => {
  const aCluster = fc
    .array(
      fc.record({
        gpus: fc.constantFrom(4, 8, 8),
        domain: fc.nat(4),
        island: fc.nat(1),
        hasDomain: fc.boolean(),
        leaf: fc.nat(3),
      }),
      { minLength: 4, maxLength: 20 },
    )
    .map((drawn) =>
      drawn.map(({ gpus, domain, island, hasDomain, leaf }, index) => ({
        ...aFabricNode({ name: `n${index}`, gpus, island: `i${island}`, nicType: 'roce' }),
        switches: [`i${island}/s${leaf % 2}/l${leaf}`, `i${island}/s${leaf % 2}`],
        ...(hasDomain ? { nvlinkDomain: `i${island}/d${domain}` } : {}),
      })),
    );
  const aRequest: fc.Arbitrary<GangRequest> = fc
    .record({
      tensor: fc.constantFrom(2, 4, 8),
      data: fc.integer({ min: 1, max: 8 }),
      pipeline: fc.integer({ min: 1, max: 2 }),
      perNode: fc.constantFrom(2, 4, 8),
      acrossIslands: fc.constantFrom('never', 'pipeline', 'anyGroup'),
    })
    .map(({ tensor, data, pipeline, perNode, acrossIslands }) => ({
      acrossIslands,
      gpusPerNode: perNode,
      layout: aLayout({ tensorParallelDegree: tensor, dataParallelDegree: data, pipelineParallelDegree: pipeline }),
    }));
  /** Of each node: GPUs that others take, whether it fails, and the domain to which its label changes. */
  const someChanges = fc.array(
    fc.record({
      used: fc.constantFrom(0, 0, 0, 0, 0, 0, 4, 8),
      fails: fc.constantFrom(false, false, false, false, false, false, false, true),
      moves: fc.constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, 0, 1),
    }),
    { minLength: 20, maxLength: 20 },
  );
  const someReserve = fc.constantFrom<Reserve[]>({}, {}, { nodesPerNvlinkDomain: 1 }, { nodesPerIsland: 1 });

  interface Changed {
    readonly request: GangRequest;
    readonly searched: readonly FabricNode[];
    readonly found: PlacedGang;
    readonly capacity: FabricCapacity;
  }
  const aChange: fc.Arbitrary<Changed | undefined> = fc
    .tuple(aCluster, aRequest, someChanges, someReserve)
    .map(([searched, request, changes, reserve]) => {
      const found = placeGang(request, { ...aFabricCapacity(searched), reserve });
      if (found.kind !== 'placed') return undefined;
      const nodes = searched.map((node, index) => {
        const { fails = false, moves } = changes[index] ?? {};
        const moved = moves === undefined ? node : { ...node, nvlinkDomain: `${node.island}/d${moves}` };
        return { ...moved, usable: !fails };
      });
      const used = searched.map(({ name, gpus }, index) => [name, Math.min(gpus, changes[index]?.used ?? 0)] as const);
      return { request, searched, found, capacity: { ...aFabricCapacity(nodes, Object.fromEntries(used)), reserve } };
    });
  const repaired = ({ request, searched, found, capacity }: Changed): ReturnType<typeof repairPlacement> =>
    repairPlacement(found, { request, searched: { nodes: searched }, capacity });

  it('keeps the rules of placement on nodes that are open now, and uses no GPU twice', () => {
    let moved = 0;
    fc.assert(
      fc.property(aChange, (changed) => {
        const now = changed === undefined ? undefined : repaired(changed);
        if (changed === undefined || now === undefined) return;
        moved += now.moved;
        const { request, capacity } = changed;
        const ranks = worldSize(request.layout);
        const open = new Map(openNodes(capacity).map(({ node, free }) => [node.name, { node, free }]));
        const nodeOf = (rank: number): FabricNode | undefined =>
          open.get(now.nodes[Math.floor(rank / now.ranksPerPod)] ?? '')?.node;
        expect(new Set(now.nodes).size).toBe(Math.ceil(ranks / now.ranksPerPod));
        now.nodes.forEach((name, pod) => {
          const wanted = Math.min(now.ranksPerPod, ranks - pod * now.ranksPerPod);
          expect(open.get(name)?.free ?? 0).toBeGreaterThanOrEqual(wanted);
        });
        for (const group of groupsOfAxis(request.layout, 'tensor'))
          expect(new Set(group.map((rank) => nodeOf(rank)?.nvlinkDomain)).size).toBe(1);
        const stage = request.acrossIslands === 'never' ? ranks : ranks / request.layout.pipelineParallelDegree;
        if (request.acrossIslands === 'anyGroup') return;
        for (let first = 0; first < ranks; first += stage) {
          const members = Array.from({ length: stage }, (_, index) => nodeOf(first + index)?.island);
          expect(new Set(members).size).toBe(1);
        }
      }),
      { numRuns: 600 },
    );
    expect(moved).toBeGreaterThan(20);
  });

  it('moves only pods whose nodes were lost, and those that share tensor groups with them', () => {
    let kept = 0;
    fc.assert(
      fc.property(aChange, (changed) => {
        const now = changed === undefined ? undefined : repaired(changed);
        if (changed === undefined || now === undefined) return;
        const { request, found, searched, capacity } = changed;
        const before = new Map(searched.map((node) => [node.name, node]));
        const open = new Map(openNodes(capacity).map(({ node, free }) => [node.name, { node, free }]));
        const isLost = (pod: number): boolean => {
          const name = found.nodes[pod] ?? '';
          const ranks = Math.min(found.ranksPerPod, worldSize(request.layout) - pod * found.ranksPerPod);
          const current = open.get(name);
          return (current?.free ?? 0) < ranks || current?.node.nvlinkDomain !== before.get(name)?.nvlinkDomain;
        };
        const podsOf = (group: readonly number[]): readonly number[] =>
          group.map((rank) => Math.floor(rank / found.ranksPerPod));
        const groups = groupsOfAxis(request.layout, 'tensor').map(podsOf);
        // With ranks of several tensor groups in a pod, pods are joined over several groups.
        const joined = (pod: number, seen = new Set([pod])): ReadonlySet<number> => {
          for (const other of groups.filter((pods) => pods.includes(pod)).flat())
            if (!seen.has(other)) joined(other, seen.add(other));
          return seen;
        };
        now.nodes.forEach((name, pod) => {
          if (name === found.nodes[pod]) kept += 1;
          else expect([...joined(pod)].some(isLost)).toBe(true);
        });
      }),
      { numRuns: 400 },
    );
    expect(kept).toBeGreaterThan(100);
  });

  it('is the placement itself if nothing changed', () => {
    fc.assert(
      fc.property(aChange, (changed) => {
        if (changed === undefined) return;
        const { request, searched, found, capacity } = changed;
        const same = { ...capacity, fabric: { nodes: searched }, usedGpus: new Map<string, number>() };
        expect(repaired({ request, searched, found, capacity: same })).toEqual({
          nodes: found.nodes,
          ranksPerPod: found.ranksPerPod,
          moved: 0,
        });
      }),
      { numRuns: 150 },
    );
  });

  it('is the same whatever the order of the nodes', () => {
    fc.assert(
      fc.property(aChange, (changed) => {
        if (changed === undefined) return;
        const turned = { ...changed.capacity, fabric: { nodes: changed.capacity.fabric.nodes.toReversed() } };
        expect(repaired({ ...changed, capacity: turned })).toEqual(repaired(changed));
      }),
      { numRuns: 150 },
    );
  });
});
