import { breaksRule } from './placed-nodes.ts';
import { aLayout } from '@coxswain/layout/testing';
import type { FabricNode } from '../nodes/fabric.ts';
import { aFabricNode } from '../testing/index.ts';
import { type AcrossIslands, gangShape } from '../traffic/gang-shape.ts';

/** Nodes `a0`, `a1` and so on: a letter is an NVLink domain, and what is said of it holds for its nodes. */
const nodesOf = (names: string, changes: Readonly<Record<string, Partial<FabricNode>>> = {}): readonly FabricNode[] =>
  names.split(' ').map((name) => aFabricNode({ name, nvlinkDomain: name.slice(0, 1), ...changes[name.slice(0, 1)] }));

describe('nodes that a search did not choose', () => {
  // Two stages of two pods; a tensor group is a pod, or two.
  const layout = (tensorParallelDegree: number): ReturnType<typeof aLayout> =>
    aLayout({ tensorParallelDegree, pipelineParallelDegree: 2, dataParallelDegree: 16 / tensorParallelDegree });
  const breaks = (tensor: number, acrossIslands: AcrossIslands | undefined, nodes: readonly FabricNode[]): boolean => {
    const request = { layout: layout(tensor), ...(acrossIslands === undefined ? {} : { acrossIslands }) };
    return breaksRule(request, gangShape(request.layout, 8), nodes);
  };
  const twoIslands = { b: { island: 'other' } };

  it.each<[string, boolean, number, AcrossIslands | undefined, readonly FabricNode[]]>([
    ['a block in two domains', true, 16, 'anyGroup', nodesOf('a0 b0 a1 b1')],
    ['blocks in a domain each', false, 16, 'never', nodesOf('a0 a1 b0 b1')],
    ['blocks of a pod in any domain', false, 8, 'never', nodesOf('a0 b0 a1 b1')],
    ['two islands where none are asked for', true, 16, 'never', nodesOf('a0 a1 b0 b1', twoIslands)],
    ['two islands where nothing is said', true, 16, undefined, nodesOf('a0 a1 b0 b1', twoIslands)],
    ['an island for each stage', false, 8, 'pipeline', nodesOf('a0 a1 b0 b1', twoIslands)],
    ['a stage in two islands', true, 8, 'pipeline', nodesOf('a0 b0 a1 b1', twoIslands)],
    ['a stage in two islands over sockets', false, 8, 'anyGroup', nodesOf('a0 b0 a1 b1', twoIslands)],
    [
      'stages on NICs of two classes',
      true,
      8,
      'pipeline',
      nodesOf('a0 a1 b0 b1', { a: { nicType: 'infiniband' }, b: { island: 'other', nicType: 'roce' } }),
    ],
    [
      'stages on NICs of one class in two spellings',
      false,
      8,
      'pipeline',
      nodesOf('a0 a1 b0 b1', { a: { nicType: 'RoCE' }, b: { island: 'other', nicType: 'roce' } }),
    ],
    ['unequal NICs', true, 8, 'never', nodesOf('a0 a1 b0 b1', { a: { nicCount: 8 }, b: { nicCount: 7 } })],
    [
      'unequal NICs over sockets',
      false,
      8,
      'anyGroup',
      nodesOf('a0 a1 b0 b1', { a: { nicCount: 8 }, b: { nicCount: 7 } }),
    ],
    ['NICs that only some nodes count', false, 8, 'never', nodesOf('a0 a1 b0 b1', { a: { nicCount: 8 } })],
  ])('%s: breaks a rule: %j', (...[, want, tensor, acrossIslands, nodes]) => {
    expect(breaks(tensor, acrossIslands, nodes)).toBe(want);
  });
});
