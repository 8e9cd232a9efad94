import { joinByLabel, onOneNetwork, unlabelledSentence } from './unlabelled-nodes.ts';
import type { Fabric, FabricNode } from '../nodes/fabric.ts';
import { aFabricNode } from '../testing/index.ts';

const on = (island: string, names: string, changes: Partial<FabricNode> = {}): readonly FabricNode[] =>
  names.split(' ').map((name) => aFabricNode({ name, island, ...changes }));
const fabricOf = (...nodes: readonly (readonly FabricNode[])[]): Fabric => ({ nodes: nodes.flat() });
const islandsOf = (fabric: Fabric | undefined): string | undefined =>
  fabric?.nodes.map(({ island }) => island).join(' ');

describe('nodes that do not say on which network they are', () => {
  it.each<[string, Fabric, string | undefined]>([
    ['are taken for none where nobody says', fabricOf(on('unlabelled', 'a b')), undefined],
    ['are none where everybody says', fabricOf(on('ib', 'a b')), undefined],
    [
      'are taken to the largest of the others',
      fabricOf(on('a', 'a'), on('b', 'b c'), on('unlabelled', 'd')),
      'a b b b',
    ],
    [
      'are taken to the first by name of two as large',
      fabricOf(on('b', 'b'), on('a', 'a'), on('unlabelled', 'c')),
      'b a a',
    ],
    [
      'stay apart with NICs of another class',
      fabricOf(
        on('ib', 'a', { nicType: 'InfiniBand' }),
        on('unlabelled:roce', 'b', { nicType: 'roce' }),
        on('unlabelled:infiniband', 'c', { nicType: 'infiniband' }),
        on('unlabelled', 'd'),
      ),
      'ib unlabelled:roce ib ib',
    ],
    [
      'may have any NICs where the others do not say theirs',
      fabricOf(on('ib', 'a'), on('unlabelled:roce', 'b', { nicType: 'roce' })),
      'ib ib',
    ],
    [
      'are none where all of them have NICs of another class',
      fabricOf(on('ib', 'a', { nicType: 'infiniband' }), on('unlabelled:roce', 'b', { nicType: 'roce' })),
      undefined,
    ],
  ])('%s', (_sentence, fabric, want) => {
    expect(islandsOf(onOneNetwork(fabric))).toBe(want);
  });

  it('are told with how many there are, and what joins them', () => {
    expect(unlabelledSentence(fabricOf(on('ib', 'a b'), on('unlabelled', 'c')))).toBe(
      'No label of 1 of 3 nodes says on which network they are, so they count as apart from the others: nothing says that their NICs reach those of island ib. Where they do, give them the label fabric.coxswain.dev/nic-island=ib, or that island in the Fabric resource.',
    );
  });

  it.each<[string, Fabric]>([
    ['nobody says', fabricOf(on('unlabelled', 'a b'))],
    ['everybody says', fabricOf(on('ib', 'a b'))],
  ])('are not told where %s', (_sentence, fabric) => {
    expect(unlabelledSentence(fabric)).toBeUndefined();
  });

  const core = 'network.topology.nvidia.com/core';
  it.each<[string, Fabric, string]>([
    ['nothing, where nobody says', fabricOf(on('unlabelled', 'a')), ''],
    [
      'the island that was declared',
      fabricOf(on('pod', 'a', { readFrom: { island: 'fabric.coxswain.dev/nic-island' } })),
      'give nodes that do not say on which network they are the label fabric.coxswain.dev/nic-island=pod, or that island in the Fabric resource',
    ],
    [
      'the root that the others are below',
      fabricOf(on(`${core}=c1`, 'a', { readFrom: { island: core } })),
      `give nodes that do not say on which network they are the label ${core}=c1 too, or all nodes one fabric.coxswain.dev/nic-island`,
    ],
    [
      'the root and the class of NICs below a root with several',
      fabricOf(on(`${core}=c1:roce`, 'a', { readFrom: { island: core } })),
      `give nodes that do not say on which network they are the labels ${core}=c1 and fabric.coxswain.dev/nic-type=roce too, or all nodes one fabric.coxswain.dev/nic-island`,
    ],
  ])('are joined by %s', (_sentence, fabric, want) => {
    expect(joinByLabel(fabric)).toBe(want);
  });
});
