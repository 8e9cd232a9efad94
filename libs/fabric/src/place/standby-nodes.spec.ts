import type { ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import type { FabricNode } from '../nodes/fabric.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';
import { standbyNodes } from './standby-nodes.ts';

/** Nodes below a leaf each, named leaf-0, leaf-1, ..., each in a domain of its own. */
const leaf = (name: string, count: number, alike: Partial<FabricNode> = {}): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) => {
    const node = `${name}-${index}`;
    return aFabricNode({ name: node, nvlinkDomain: node, switches: [name, 'spine', 'core'], ...alike });
  });

/** Standbys of a gang on two nodes below leaf b. */
const standbys = (
  nodes: readonly FabricNode[],
  about: {
    readonly count?: number;
    readonly layout?: Partial<ParallelLayout>;
    readonly used?: Readonly<Record<string, number>>;
    readonly avoided?: readonly string[];
  } = {},
) => {
  const { count = 1, layout = {}, used = {}, avoided = [] } = about;
  const request = {
    layout: aLayout({ tensorParallelDegree: 8, dataParallelDegree: 2, ...layout }),
    gang: { nodes: ['b-0', 'b-1'], ranksPerPod: 8 },
    count,
    avoided: new Set(avoided),
  };
  const capacity = aFabricCapacity(nodes);
  return standbyNodes(request, { ...capacity, usedGpus: new Map([...capacity.usedGpus, ...Object.entries(used)]) });
};

const twoLeaves = [...leaf('a', 3), ...leaf('b', 4)];

describe('standbys of a gang', () => {
  it.each<[string, Parameters<typeof standbys>, readonly string[]]>([
    ['are none if none are wanted', [twoLeaves, { count: 0 }], []],
    ['are below the switches of the gang first', [twoLeaves, { count: 3 }], ['b-2', 'b-3', 'a-0']],
    ['are the same whatever the order of nodes', [twoLeaves.toReversed(), { count: 3 }], ['b-2', 'b-3', 'a-0']],
    ['are not on nodes that failed the job', [twoLeaves, { avoided: ['b-2'] }], ['b-3']],
    ['are not on nodes whose GPUs others use', [twoLeaves, { used: { 'b-2': 1 } }], ['b-3']],
    [
      'are not on nodes that take no pods',
      [[...leaf('a', 1), ...leaf('b', 2), ...leaf('b-x', 1, { usable: false })], {}],
      ['a-0'],
    ],
    ['are not on nodes of another island', [[...leaf('b', 2), ...leaf('c', 1, { island: 'other' })], {}], []],
    ['are not on nodes of other GPUs', [[...leaf('b', 2), ...leaf('c', 1, { gpuType: 'other' })], {}], []],
    ['are not on nodes of other NICs', [[...leaf('b', 2), ...leaf('c', 1, { nicType: 'roce' })], {}], []],
    ['are not on nodes with another number of NICs', [[...leaf('b', 2), ...leaf('c', 1, { nicCount: 3 })], {}], []],
    [
      'are none where the nodes of the gang differ',
      [[...leaf('b', 1), ...leaf('b', 2, { gpuType: 'other' }).slice(1), ...leaf('c', 1)], {}],
      [],
    ],
    [
      'are none where a tensor group spans nodes',
      [twoLeaves, { layout: { tensorParallelDegree: 16, dataParallelDegree: 1 } }],
      [],
    ],
  ])('%s', (_sentence, asked, nodes) => {
    expect(standbys(...asked).nodes).toEqual(nodes);
  });

  it.each<[string, Parameters<typeof standbys>, string | undefined]>([
    ['nothing where all are found', [twoLeaves, { count: 2 }], undefined],
    [
      'how many of 10^9 there are',
      [twoLeaves, { count: 1e9 }],
      '5 of 1000000000 standbys: no other such node is free.',
    ],
    [
      'that a tensor group spans nodes',
      [twoLeaves, { layout: { tensorParallelDegree: 16, dataParallelDegree: 1 } }],
      '0 of 1 standby: a tensor group of its layout spans several nodes of one NVLink domain.',
    ],
  ])('say %s', (_sentence, asked, why) => {
    expect(standbys(...asked).why).toBe(why);
  });
});
