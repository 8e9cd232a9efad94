import { summarize } from './summary.ts';
import type { FabricNode } from './fabric.ts';
import { aFabricNode } from '../testing/index.ts';

const nodes = (names: string, changes: Partial<FabricNode> = {}): readonly FabricNode[] =>
  names.split(' ').map((name) => aFabricNode({ name, ...changes }));

describe('what a status tells of a fabric', () => {
  it.each<[string, readonly FabricNode[], Partial<ReturnType<typeof summarize>>]>([
    ['no nodes', [], { nodes: 0, gpus: 0, nvlinkDomains: 0, islandCount: 0, islands: [], switches: [], sources: [] }],
    [
      'domains of several nodes alone',
      [...nodes('a b', { nvlinkDomain: 'd' }), ...nodes('c')],
      { nodes: 3, gpus: 24, nvlinkDomains: 1 },
    ],
    [
      'islands of most GPUs first, whatever nodes they have',
      [...nodes('a b', { island: 'i', gpus: 1 }), ...nodes('c', { island: 'j' })],
      {
        islandCount: 2,
        islands: [
          { name: 'j', nodes: 1, gpus: 8 },
          { name: 'i', nodes: 2, gpus: 2 },
        ],
      },
    ],
    [
      'islands of as many GPUs by name',
      [...nodes('a', { island: 'j' }), ...nodes('b', { island: 'i' })],
      {
        islands: [
          { name: 'i', nodes: 1, gpus: 8 },
          { name: 'j', nodes: 1, gpus: 8 },
        ],
      },
    ],
    [
      'switches of each tier, and the nodes below none',
      [...nodes('a', { switches: ['l1', 's'] }), ...nodes('b', { switches: ['l2', 's'] }), ...nodes('c d e')],
      { switches: [2, 1], nodesWithoutSwitches: 3 },
    ],
    [
      'where each fact was read, by most nodes first, then by the key',
      [
        ...nodes('a', { readFrom: { nicType: 'y', gpuType: 'p' } }),
        ...nodes('b', { readFrom: { nicType: 'x' } }),
        ...nodes('c d', { readFrom: { nicType: 'z', nicCount: 'q' } }),
      ],
      {
        sources: [
          { fact: 'nicType', key: 'z', nodes: 2 },
          { fact: 'nicType', key: 'x', nodes: 1 },
          { fact: 'nicType', key: 'y', nodes: 1 },
          { fact: 'nicCount', key: 'q', nodes: 2 },
          { fact: 'gpuType', key: 'p', nodes: 1 },
        ],
      },
    ],
  ])('%s', (_sentence, given, want) => {
    expect(summarize({ nodes: given })).toMatchObject(want);
  });

  it('counts all islands, and lists 64', () => {
    const { islandCount, islands } = summarize({
      nodes: Array.from({ length: 65 }, (_, index) => aFabricNode({ name: `n${index}`, island: `i${index}` })),
    });
    expect([islandCount, islands?.length]).toEqual([65, 64]);
  });
});
