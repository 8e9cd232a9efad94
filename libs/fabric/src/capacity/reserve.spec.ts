import { aLayout } from '@coxswain/layout/testing';
import type { FabricCapacity, FabricNode, Reserve } from '../nodes/fabric.ts';
import { nodesInReserve } from './open-nodes.ts';
import { findNodes, placeGang } from '../place/placement.ts';
import { type PlacedGang, replaceNodes } from '../place/replace.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

/** Nodes of one NVLink domain, named domain-0, domain-1, ... */
const domain = (name: string, count: number, alike: Partial<FabricNode> = {}): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) =>
    aFabricNode({ name: `${name}-${index}`, nvlinkDomain: name, switches: ['spine'], ...alike }),
  );
/** Nodes below one leaf, each a domain of its own. */
const leaf = (name: string, count: number, alike: Partial<FabricNode> = {}): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) => aFabricNode({ name: `${name}-${index}`, switches: [name], ...alike }));
const lost = (nodes: readonly FabricNode[], ...names: readonly string[]): readonly FabricNode[] =>
  nodes.map((node) => (names.includes(node.name) ? { ...node, usable: false } : node));
const keeping = (
  reserve: Reserve,
  nodes: readonly FabricNode[],
  used: Readonly<Record<string, number>> = {},
): FabricCapacity => ({ ...aFabricCapacity(nodes, used), reserve });
const perDomain = { nodesPerNvlinkDomain: 1 };
const tp8 = (dataParallelDegree: number): { readonly layout: ReturnType<typeof aLayout> } => ({
  layout: aLayout({ tensorParallelDegree: 8, dataParallelDegree }),
});
const gangOn = (...nodes: readonly string[]): PlacedGang => ({ nodes, ranksPerPod: 8 });

describe('nodes in reserve', () => {
  it.each<[string, Reserve, readonly FabricNode[], Readonly<Record<string, number>>, readonly string[]]>([
    ['are so many of each domain', perDomain, [...domain('a', 3), ...domain('b', 2)], {}, ['a-0', 'b-0']],
    ['are the roomiest of it', perDomain, domain('a', 3), { 'a-0': 8, 'a-1': 2 }, ['a-2']],
    ['are none of a node that stands alone', perDomain, leaf('a', 3), {}, []],
    [
      'are none of a domain that would keep all that it has',
      { nodesPerNvlinkDomain: 2 },
      [...domain('a', 2), ...domain('b', 3)],
      {},
      ['b-0', 'b-1'],
    ],
    ['are none that take no pods while there are others', perDomain, lost(domain('a', 3), 'a-0'), {}, ['a-1']],
    [
      'are so many of each island and type of GPU',
      { nodesPerIsland: 1 },
      [
        ...leaf('a', 2, { gpuType: 'H100' }),
        ...leaf('b', 2, { gpuType: 'A100' }),
        ...leaf('c', 2, { island: 'other', gpuType: 'H100' }),
      ],
      {},
      ['a-0', 'b-0', 'c-0'],
    ],
    [
      'are taken from the leaf with fewest free, so that a whole one stays whole',
      { nodesPerIsland: 2 },
      [...leaf('a', 3), ...leaf('b', 3)],
      { 'b-0': 8 },
      ['b-1', 'b-2'],
    ],
    [
      'of domains count for their island',
      { nodesPerNvlinkDomain: 1, nodesPerIsland: 3 },
      [...domain('a', 4), ...domain('b', 4)],
      {},
      ['a-0', 'a-1', 'b-0'],
    ],
    ['are none of an island that has no more', { nodesPerIsland: 3 }, leaf('a', 3), {}, []],
  ])('%s', (...[, reserve, nodes, used, want]) => {
    const held = [...nodesInReserve(keeping(reserve, nodes, used))];
    expect(held.map(({ node }) => node.name).sort()).toEqual(want);
  });

  it.each<[string, FabricCapacity, number, string]>([
    [
      'bind a gang that everything free would hold',
      keeping(perDomain, domain('a', 3), { 'a-2': 8 }),
      2,
      'Needs 16 GPUs as 2 nodes with 8 free each; 8 of 24 GPUs are free, on 1 node with 8 or more. It would start on what is free, but 1 node is kept in reserve: Fabric cluster, spec.reserve. It would start now if you free 1 node of island ib (a-2), or lower layout.dataParallelDegree from 2 to 1.',
    ],
    [
      'are told where they would not be enough',
      keeping(perDomain, domain('a', 4), { 'a-2': 8, 'a-3': 8 }),
      3,
      'Needs 24 GPUs as 3 nodes with 8 free each; 8 of 32 GPUs are free, on 1 node with 8 or more. Not counted: 1 node is kept in reserve (Fabric cluster, spec.reserve), which would not be enough. It would start now if you free 2 nodes of island ib (a-2, a-3), or lower layout.dataParallelDegree from 3 to 1.',
    ],
    [
      'bind a gang that is as large as the cluster',
      keeping({ nodesPerNvlinkDomain: 1, nodesPerIsland: 2 }, domain('a', 4)),
      4,
      'Needs 32 GPUs as 4 nodes with 8 free each, which even an empty cluster has only with the nodes in reserve: Fabric cluster, spec.reserve, keeps 1 node of each NVLink domain and 2 nodes of each island free. Ask for fewer GPUs, or lower the reserve.',
    ],
    [
      'are no word where none is left',
      keeping(perDomain, domain('a', 2), { 'a-0': 8, 'a-1': 8 }),
      1,
      'Needs 8 GPUs as 1 node with 8 free each; 0 of 16 GPUs are free, on 0 nodes with 8 or more. It would start now if you free 2 nodes of island ib (a-0, a-1).',
    ],
  ])('%s', (_sentence, capacity, nodes, message) => {
    expect(placeGang(tp8(nodes), capacity)).toMatchObject({ message });
  });

  it.each<[string, FabricCapacity, PlacedGang, readonly string[] | undefined]>([
    [
      'stand in for a node that is lost',
      keeping(perDomain, lost(domain('a', 3), 'a-0')),
      gangOn('a-0', 'a-1'),
      ['a-2', 'a-1'],
    ],
    [
      'stand in only where another costs more',
      keeping(perDomain, [...lost(domain('a', 2), 'a-0'), ...domain('b', 2), ...domain('c', 3)], { 'b-1': 8 }),
      gangOn('a-0', 'a-1'),
      ['c-1', 'a-1'],
    ],
    [
      'do not stand in for a node that others took',
      keeping(perDomain, domain('a', 3), { 'a-0': 8 }),
      gangOn('a-0', 'a-1'),
      undefined,
    ],
    [
      'do not stand in for one that is lost while others took one too',
      keeping(perDomain, lost(domain('a', 6), 'a-0'), { 'a-1': 8 }),
      gangOn('a-0', 'a-1', 'a-2', 'a-3'),
      undefined,
    ],
    ['may be what a gang has already', keeping(perDomain, domain('a', 2)), gangOn('a-0', 'a-1'), ['a-0', 'a-1']],
  ])('%s', (_sentence, capacity, gang, want) => {
    const request = tp8(gang.nodes.length);
    expect(replaceNodes(request, capacity, gang)?.nodes).toEqual(want);
    if (want === undefined) expect(findNodes(request, capacity)).toBeUndefined();
  });
});
