import { groupReach } from './group-reach.ts';
import { aFabricNode } from '../testing/index.ts';
import type { LayoutTraffic } from './traffic.ts';

const NODES = [
  aFabricNode({ name: 'a', nvlinkDomain: 'x', switches: ['l1', 's1', 'c1'] }),
  aFabricNode({ name: 'b', nvlinkDomain: 'x', switches: ['l2', 's1', 'c1'] }),
  aFabricNode({ name: 'c', switches: ['l2', 's1', 'c1'] }),
  aFabricNode({ name: 'd', switches: ['l3', 's2', 'c1'] }),
  aFabricNode({ name: 'e', switches: ['l4', 's3', 'c2'] }),
  aFabricNode({ name: 'f', island: 'roce' }),
];

describe('how far a group reaches', () => {
  it.each([
    ['stays in a node', 'a a', 'gpu'],
    ['stays in an NVLink domain, below whatever leaves', 'a b', 'node'],
    ['stays below a leaf', 'b c', 'nvlinkDomain'],
    ['stays below a spine, though two of three share a domain', 'a b c', 'leaf'],
    ['stays below a core', 'c d', 'spine'],
    ['stays in an island', 'c e', 'core'],
    ['is in two islands', 'c f', 'island'],
  ])('%s: %s', (_sentence, ranks, farthest) => {
    const nodeOfRank = ranks.split(' ');
    const traffic: LayoutTraffic = {
      byKind: [{ kind: 'data', pattern: 'ring', bytesPerPair: 5, groups: [[...nodeOfRank.keys()]] }],
      source: 'planned',
    };
    expect(groupReach(traffic, nodeOfRank, { nodes: NODES })).toEqual([
      {
        kind: 'data',
        pattern: 'ring',
        bytesPerPair: 5,
        groups: 1,
        members: ranks.split(' ').length,
        farthest: { [farthest]: 1 },
      },
    ]);
  });
});
