import { nodesToLetIn, unusableSentence } from './unusable-nodes.ts';
import type { FabricNode, WhyUnusable } from '../nodes/fabric.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const usable = (names: string): readonly FabricNode[] => names.split(' ').map((name) => aFabricNode({ name }));
const because = (whyUnusable: WhyUnusable, names: string): readonly FabricNode[] =>
  usable(names).map((node) => ({ ...node, usable: false, whyUnusable }));
const leftOut: FabricNode = aFabricNode({ name: 'z', usable: false });

describe('nodes that take no pods', () => {
  it.each<[string, readonly FabricNode[], string]>([
    ['none', usable('a b'), ''],
    ['one that a job leaves out for reasons of its own', [leftOut], ''],
    ['one', because('tainted', 'a'), ' 8 are on nodes that take no pods: a is tainted.'],
    [
      'one of one GPU',
      because('cordoned', 'a').map((node) => ({ ...node, gpus: 1 })),
      ' 1 is on nodes that take no pods: a is cordoned.',
    ],
    [
      'some of each reason',
      [
        ...because('notReady', 'd'),
        ...because('cordonedAndTainted', 'c'),
        ...because('cordoned', 'a b'),
        ...usable('e'),
      ],
      ' 32 are on nodes that take no pods: a, b are cordoned; c is cordoned and tainted; d is not ready.',
    ],
    [
      'more than are named',
      because('notReady', 'a b c d'),
      ' 32 are on nodes that take no pods: a, b, c and 1 more are not ready.',
    ],
  ])('%s: told', (_sentence, nodes, want) => {
    expect(unusableSentence(nodes)).toBe(want);
  });

  it.each<[string, number, readonly FabricNode[], string | undefined]>([
    ['the fewest that are cordoned', 3, [...usable('a'), ...because('cordoned', 'b c d')], 'uncordon 2 nodes (b, c)'],
    [
      'those that are cordoned first',
      2,
      [...because('tainted', 'a'), ...because('cordoned', 'b'), ...usable('c')],
      'uncordon 1 node (b)',
    ],
    [
      'those that are tainted where the cordoned are too few',
      3,
      [...usable('a'), ...because('cordoned', 'b'), ...because('tainted', 'c d')],
      'remove the taints of 2 nodes (c, d)',
    ],
    [
      'both where neither will do',
      4,
      [...because('tainted', 'a b'), ...because('cordoned', 'c d')],
      'uncordon 2 nodes (c, d) and remove the taints of 2 nodes (a, b)',
    ],
    ['none where all together are too few', 4, [...because('cordoned', 'a b c')], undefined],
    ['none that is not ready', 1, because('notReady', 'a'), undefined],
    ['none that needs two things', 1, because('cordonedAndTainted', 'a'), undefined],
    ['none that a job leaves out', 1, [leftOut], undefined],
  ])('%s: let in', (_sentence, needed, nodes, want) => {
    const letIn = nodesToLetIn(
      aFabricCapacity(nodes),
      ({ fabric }) => fabric.nodes.filter((node) => node.usable).length >= needed,
    );
    expect(letIn).toBe(want);
  });
});
