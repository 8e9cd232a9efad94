import type { RankMap } from '@coxswain/api-types';
import { aRankPlace } from '@coxswain/api-types/testing';
import { aFabricNode } from '@coxswain/fabric/testing';
import { withSeenNodes } from './rank-nodes.ts';

const UNSAID = { nvlinkDomain: null, island: null, nicType: null };
const SEEN = {
  nvlinkDomain: 'accelerator.topograph.run/domain=nvl-a',
  island: 'ib',
  nicType: 'infiniband',
  switches: ['topograph:tier-0=leaf'],
};

function mapOf(nodes: readonly string[], recorded: object = UNSAID): RankMap {
  return {
    epoch: 1,
    items: nodes.map((node, rank) => aRankPlace({ rank, node, ...recorded })),
    nodes: [],
    bytesPerStep: null,
  };
}

describe('the nodes of a map of ranks', () => {
  it('are told once each, and their ranks say as much but the switches', () => {
    const { items, nodes } = withSeenNodes(mapOf(['a', 'a', 'b', 'b']), {
      nodes: ['a', 'b', 'c'].map((name) => aFabricNode({ name, ...SEEN })),
    });
    expect(nodes).toEqual(['a', 'b'].map((name) => ({ name, ...SEEN })));
    const { switches: _switches, ...known } = SEEN;
    expect(items[3]).toMatchObject(known);
    expect(items[3]).not.toHaveProperty('switches');
  });

  it.each([
    ['as they are recorded where they are not seen', undefined, { ...SEEN, switches: [] }],
    [
      'as they are seen where that differs',
      aFabricNode({ name: 'a', island: 'roce', nvlinkDomain: 'd' }),
      { ...SEEN, island: 'roce', nvlinkDomain: 'd', switches: [] },
    ],
    [
      'as they are recorded where a node is seen in no domain',
      aFabricNode({ name: 'a', island: 'ib' }),
      { ...SEEN, switches: [] },
    ],
  ])('are %s', (_sentence, node, want) => {
    const recorded = { nvlinkDomain: SEEN.nvlinkDomain, island: SEEN.island, nicType: SEEN.nicType };
    const { nodes } = withSeenNodes(mapOf(['a'], recorded), node === undefined ? undefined : { nodes: [node] });
    expect(nodes).toEqual([{ name: 'a', ...want }]);
  });

  it('add little to the answer of 16,384 ranks', () => {
    const names = Array.from({ length: 16_384 }, (_, rank) => `gpu-node-${rank >> 3}`);
    const map = mapOf(names, { nvlinkDomain: 'nvl', island: 'ib', nicType: 'infiniband' });
    const node = {
      island: 'ib',
      nvlinkDomain: 'nvl',
      switches: [
        'region=eu/zone=a/topograph:tier-2=core-0/tier-1=spine-10/tier-0=leaf-100',
        'region=eu/zone=a/topograph:tier-2=core-0/tier-1=spine-10',
        'region=eu/zone=a/topograph:tier-2=core-0',
      ],
    };
    const nodes = [...new Set(names)].map((name) => aFabricNode({ name, ...node }));
    const before = JSON.stringify(map).length;
    expect(JSON.stringify(withSeenNodes(map, { nodes })).length).toBeLessThan(1.2 * before);
  });
});
