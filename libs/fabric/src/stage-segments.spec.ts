import { aLayout } from '@coxswain/layout/testing';
import { type FabricNode, placeGang, replaceNodes } from './index.ts';
import type { GangRequest } from './gang-shape.ts';
import { aFabricCapacity, aFabricNode } from './testing/index.ts';

const nodes = (prefix: string, count: number, alike: Partial<FabricNode>): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) => aFabricNode({ name: `${prefix}-${index}`, gpus: 8, ...alike }));
const h100 = { gpuType: 'H100', nicType: 'infiniband', island: 'fast' };
const a100 = { gpuType: 'A100', nicType: 'roce', island: 'slow' };
const mixed = [...nodes('a', 3, a100), ...nodes('h', 5, h100)];

/** Eight stages of one node: five for H100, three for A100. */
const gang: GangRequest = {
  layout: aLayout({ tensorParallelDegree: 4, pipelineParallelDegree: 8, dataParallelDegree: 2 }),
  acrossIslands: 'anyGroup',
  stageGpus: [
    { stages: 5, gpuType: 'H100' },
    { stages: 3, gpuType: 'A100' },
  ],
};
const typesOf = (outcome: ReturnType<typeof placeGang>): readonly string[] => {
  if (outcome.kind !== 'placed') throw new Error(outcome.message);
  return outcome.nodes.map((name) => (name.startsWith('h') ? 'H100' : 'A100'));
};
const [fast, slow] = [Array<string>(5).fill('H100'), Array<string>(3).fill('A100')];

describe('a gang whose stages are cut for two types of GPU', () => {
  it.each<[string, Partial<GangRequest>, readonly FabricNode[], readonly string[]]>([
    ['has its first stages on the one, the others on the other', {}, mixed, [...fast, ...slow]],
    ['whatever the order of nodes', {}, mixed.toReversed(), [...fast, ...slow]],
    [
      'leaves GPUs alone that would do by number, but are of the other type',
      {},
      [...mixed, ...nodes('h1', 4, h100)],
      [...fast, ...slow],
    ],
    [
      'takes as many ranks per pod as end where stages do',
      { layout: aLayout({ tensorParallelDegree: 2, pipelineParallelDegree: 8, dataParallelDegree: 2 }) },
      mixed,
      // Twenty ranks and twelve, in pods of four.
      [...fast, ...slow],
    ],
    [
      'is within islands of one class where NICs have to connect',
      { acrossIslands: 'pipeline' },
      [
        ...nodes('a', 3, { ...a100, nicType: 'infiniband' }),
        ...nodes('h', 5, { ...h100, nicType: 'roce' }),
        ...nodes('b', 3, { ...a100, island: 'z' }),
      ],
      [...fast, ...slow],
    ],
  ])('%s', (_sentence, change, fabric, want) => {
    const outcome = placeGang({ ...gang, ...change }, aFabricCapacity(fabric));
    expect(typesOf(outcome)).toEqual(want);
    if (change.acrossIslands === 'pipeline') {
      expect(outcome).toMatchObject({ nodes: expect.not.arrayContaining(['a-0']) as string[] });
    }
  });

  it.each<[string, Partial<GangRequest>, Readonly<Record<string, number>>, RegExp]>([
    [
      'of the part that lacks nodes',
      {},
      { 'a-1': 8 },
      /^Stages 6 to 8 are planned for A100 GPUs\. Needs 24 GPUs as 3 nodes with 8 free each; of 24 such GPUs 16 are free\.$/,
    ],
    [
      'of NICs that cannot connect, none of whose classes has both types',
      { acrossIslands: 'pipeline' },
      {},
      /NICs of one class/,
    ],
  ])('waits, and tells %s', (_sentence, change, used, message) => {
    const outcome = placeGang({ ...gang, ...change }, aFabricCapacity(mixed, used));
    expect(outcome).toEqual({ kind: 'waiting', message: expect.stringMatching(message) as string });
  });

  it('has for a node that is gone another of its type, and moves nobody else', () => {
    const fabric = [...mixed, ...nodes('a9', 1, a100), ...nodes('h9', 1, h100)];
    const before = placeGang(gang, aFabricCapacity(mixed));
    if (before.kind !== 'placed') throw new Error(before.message);
    const lost = before.nodes[6] ?? '';
    const after = replaceNodes(gang, aFabricCapacity(fabric, { [lost]: 8 }), before);
    expect(after?.nodes).toEqual(before.nodes.with(6, 'a9-0'));
  });

  it('finds no replacement where its type has no spare, whatever else is free', () => {
    const before = placeGang(gang, aFabricCapacity(mixed));
    if (before.kind !== 'placed') throw new Error(before.message);
    const fabric = [...mixed, ...nodes('h9', 4, h100)];
    expect(replaceNodes(gang, aFabricCapacity(fabric, { 'a-0': 8 }), before)).toBeUndefined();
  });
});
