import type { FabricChange } from '@coxswain/api-types';
import type { FabricNode } from '../nodes/fabric.ts';
import { fabricChanges } from './fabric-changes.ts';
import { recordedNode, type RecordedNode } from './node-columns.ts';
import { aFabricNode } from '../testing/index.ts';
import { fabricOf, topograph } from '../testing/labelled-nodes.ts';

const nodes = (...given: readonly Partial<FabricNode>[]): readonly RecordedNode[] =>
  given.map((node, index) => recordedNode(aFabricNode({ name: `n${index}`, ...node })));
const fact = (name: string, before: string | null, after: string | null): FabricChange['facts'][number] => ({
  fact: name,
  before,
  after,
});

describe('what changed between two fabrics', () => {
  it.each<[string, readonly RecordedNode[], readonly RecordedNode[], readonly FabricChange[]]>([
    ['is nothing where nothing did', nodes({}, {}), nodes({}, {}), []],
    [
      'is nothing where a node stopped taking pods: that is no fact of the fabric',
      nodes({}),
      nodes({ usable: false }),
      [],
    ],
    [
      'is told once of a rack that changed its switch',
      nodes({ switches: ['s/a', 's'] }, { switches: ['s/a', 's'] }, { switches: ['s/b', 's'] }),
      nodes({ switches: ['s/c', 's'] }, { switches: ['s/c', 's'] }, { switches: ['s/b', 's'] }),
      [{ kind: 'changed', nodeCount: 2, nodes: ['n0', 'n1'], facts: [fact('switches', 's/a', 's/c')] }],
    ],
    [
      'is what is known of a node that came',
      nodes(),
      nodes({ gpuType: 'H100' }),
      [
        {
          kind: 'came',
          nodeCount: 1,
          nodes: ['n0'],
          facts: [fact('gpus', null, '8'), fact('island', null, 'ib'), fact('gpuType', null, 'H100')],
        },
      ],
    ],
    [
      'is what was known of a node that went',
      nodes({}),
      nodes(),
      [{ kind: 'gone', nodeCount: 1, nodes: ['n0'], facts: [fact('gpus', '8', null), fact('island', 'ib', null)] }],
    ],
    [
      'is a GPU that was lost, and a class of NICs that nobody tells any more',
      nodes({ nicType: 'roce', nicSpeedGbps: 400 }),
      nodes({ gpus: 7 }),
      [
        {
          kind: 'changed',
          nodeCount: 1,
          nodes: ['n0'],
          facts: [fact('gpus', '8', '7'), fact('nicType', 'roce', null), fact('nicSpeedGbps', '400', null)],
        },
      ],
    ],
    [
      'is who says it, where that alone changed',
      nodes({ gpuType: 'H100', readFrom: { gpuType: 'nvidia.com/gpu.product' } }),
      nodes({ gpuType: 'H100', readFrom: { gpuType: 'Fabric cluster: fabric.coxswain.dev/gpu-type' } }),
      [
        {
          kind: 'changed',
          nodeCount: 1,
          nodes: ['n0'],
          facts: [fact('gpuTypeReadFrom', 'nvidia.com/gpu.product', 'Fabric cluster: fabric.coxswain.dev/gpu-type')],
        },
      ],
    ],
  ])('%s', (_sentence, before, after, changes) => {
    expect(fabricChanges(before, after).changes).toEqual(changes);
  });

  it('names switches that no label names alike for every node', () => {
    const [spineAlone, zone] = [{ 'fabric.topograph.run/tier-1': 's1' }, { 'topology.kubernetes.io/zone': 'a' }];
    const named = topograph('l1', 's1');
    const before = fabricOf(zone, zone, named).map(recordedNode);
    const after = fabricOf(spineAlone, spineAlone, named).map(recordedNode);
    expect(fabricChanges(before, after).changes.filter(({ nodeCount }) => nodeCount > 1)).toHaveLength(1);
  });

  it('is counted whole and told in part: kinds of changes of most nodes first, and some of their names', () => {
    const before = Array.from({ length: 500 }, (_, index) => ({ island: `own-${index}` }));
    const after = before.map((_, index) => ({
      island: index < 250 ? `other-${index}` : (before[index]?.island ?? ''),
    }));
    const rack = Array.from({ length: 100 }, () => ({ island: 'rack' }));
    const moved = rack.map(() => ({ island: 'moved' }));
    const found = fabricChanges(nodes(...before, ...rack), nodes(...after, ...moved));
    expect(found).toMatchObject({ came: 0, gone: 0, changed: 350, hasMore: true });
    expect(found.changes).toHaveLength(200);
    expect(found.changes[0]).toMatchObject({ nodeCount: 100, facts: [fact('island', 'rack', 'moved')] });
    expect(found.changes[0]?.nodes).toHaveLength(64);
  });
});
