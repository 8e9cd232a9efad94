import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import type { FabricNode } from '../nodes/fabric.ts';
import { type GangRequest } from '../traffic/gang-shape.ts';
import { placeGang } from './placement.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const nodes = (prefix: string, count: number, alike: Partial<FabricNode> = {}): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) => aFabricNode({ name: `${prefix}-${index}`, ...alike }));
const tp8 = (dataParallelDegree: number, pipelineParallelDegree = 1): GangRequest => ({
  layout: aLayout({ tensorParallelDegree: 8, dataParallelDegree, pipelineParallelDegree }),
});
const messageOf = (...asked: Parameters<typeof placeGang>): string => {
  const outcome = placeGang(...asked);
  return outcome.kind === 'placed' ? 'placed' : outcome.message;
};

describe('what would let a gang start now', () => {
  it.each([
    {
      name: 'a node that is free of others, or fewer data ranks',
      request: tp8(4),
      capacity: aFabricCapacity(nodes('n', 4), { 'n-2': 8 }),
      want: 'It would start now if you free 1 node of island ib (n-2), or lower layout.dataParallelDegree from 4 to 3.',
    },
    {
      name: 'the nodes with least on them',
      request: tp8(3),
      capacity: aFabricCapacity(nodes('n', 5), { 'n-0': 8, 'n-1': 2, 'n-2': 8, 'n-3': 1 }),
      want: 'free 2 nodes of island ib (n-3, n-1)',
    },
    {
      name: 'no half of a domain that another one does without',
      request: { ...tp8(1), gpusPerNode: 4 },
      capacity: aFabricCapacity(
        ['b', 'c'].flatMap((domain) => nodes(domain, 2, { gpus: 4, nvlinkDomain: domain })),
        { 'b-0': 1, 'b-1': 4, 'c-0': 2, 'c-1': 2 },
      ),
      want: 'free 2 nodes of island ib (c-0, c-1)',
    },
    {
      name: 'several islands of one class',
      request: tp8(2, 2),
      capacity: aFabricCapacity(
        [...nodes('a', 3, { nicType: 'roce' }), ...nodes('b', 5, { island: 'b', nicType: 'roce' })],
        {
          'b-0': 8,
          'b-1': 8,
          'b-2': 8,
        },
      ),
      want: 'resources.acrossIslands Pipeline',
    },
    {
      name: 'a label, where nodes do not say on which network they are',
      request: tp8(3),
      capacity: aFabricCapacity([...nodes('a', 3), ...nodes('b', 2, { island: 'unlabelled' })], { 'a-0': 8 }),
      want: 'give nodes that do not say on which network they are the label fabric.coxswain.dev/nic-island=ib, or that island in the Fabric resource, where they are on that of the others',
    },
    {
      name: 'a node that takes pods again, of those that take none and are named',
      request: tp8(5),
      capacity: aFabricCapacity([
        ...nodes('n', 4),
        ...nodes('c', 4, { usable: false, whyUnusable: 'cordoned' }),
        ...nodes('t', 1, { usable: false, whyUnusable: 'tainted' }),
        ...nodes('r', 2, { usable: false, whyUnusable: 'notReady' }),
      ]),
      want: 'with 8 or more. 56 are on nodes that take no pods: c-0, c-1, c-2 and 1 more are cordoned; t-0 is tainted; r-0, r-1 are not ready. It would start now if you uncordon 1 node (c-0), or lower layout.dataParallelDegree from 5 to 4.',
    },
    {
      name: 'cordons and taints together, where neither is enough',
      request: tp8(4),
      capacity: aFabricCapacity([
        ...nodes('n', 2),
        ...nodes('c', 1, { usable: false, whyUnusable: 'cordoned' }),
        ...nodes('t', 1, { usable: false, whyUnusable: 'tainted' }),
      ]),
      want: 'if you uncordon 1 node (c-0) and remove the taints of 1 node (t-0), or lower',
    },
    {
      name: 'nothing but fewer ranks, where only unready nodes lack',
      request: tp8(2),
      capacity: aFabricCapacity([...nodes('n', 1), ...nodes('r', 1, { usable: false, whyUnusable: 'notReady' })]),
      want: '8 are on nodes that take no pods: r-0 is not ready. It would start now if you lower layout.dataParallelDegree from 2 to 1.',
    },
    {
      name: 'fewer data ranks that divide the batch',
      request: { ...tp8(4), batch: { globalBatchSize: 64, microBatchSize: 1 } },
      capacity: aFabricCapacity(nodes('n', 4), { 'n-2': 8 }),
      want: 'lower layout.dataParallelDegree from 4 to 2.',
    },
  ])('is $name', ({ request, capacity, want }) => {
    expect(messageOf(request, capacity)).toContain(want);
  });

  it('is no node beside which NICs would be unequal', () => {
    const capacity = aFabricCapacity([...nodes('a', 2, { nicCount: 8 }), ...nodes('b', 2, { nicCount: 4 })], {
      'a-1': 8,
      'b-0': 1,
      'b-1': 1,
    });
    expect(messageOf(tp8(2), capacity)).toContain('free 2 nodes of island ib (b-0, b-1)');
    expect(placeGang(tp8(2), aFabricCapacity(capacity.fabric.nodes, { 'a-1': 8, 'b-1': 1 })).kind).not.toBe('placed');
    expect(placeGang(tp8(2), aFabricCapacity(capacity.fabric.nodes, { 'a-1': 8 })).kind).toBe('placed');
  });

  it('is no Pipeline for a gang without stages', () => {
    const islands = [...nodes('a', 2, { island: 'a' }), ...nodes('b', 2, { island: 'b' })];
    expect(messageOf(tp8(4), aFabricCapacity(islands))).not.toContain('Pipeline');
    expect(messageOf(tp8(2, 2), aFabricCapacity(islands))).toContain('resources.acrossIslands Pipeline');
  });

  it('is true: with the nodes that are named free, or that many data ranks, it starts', () => {
    let suggested = 0;
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(0, 1, 4, 8), { minLength: 2, maxLength: 9 }),
        fc.integer({ min: 2, max: 9 }),
        (use, dp) => {
          const fabric = use.map((_, at) => aFabricNode({ name: `n-${at}`, island: at % 3 === 0 ? 'x' : 'ib' }));
          const used = Object.fromEntries(use.map((gpus, at) => [`n-${at}`, gpus]));
          const message = messageOf(tp8(dp), aFabricCapacity(fabric, used));
          const [, names] = /free \d+ nodes? of island \w+ \(([^)]*)\)/.exec(message) ?? [];
          if (names !== undefined && !names.includes(' more')) {
            suggested++;
            const left = Object.fromEntries(Object.entries(used).filter(([name]) => !names.split(', ').includes(name)));
            expect(placeGang(tp8(dp), aFabricCapacity(fabric, left)).kind).toBe('placed');
          }
          const [, degree] = /dataParallelDegree from \d+ to (\d+)/.exec(message) ?? [];
          if (degree === undefined) return;
          suggested++;
          expect(placeGang(tp8(Number(degree)), aFabricCapacity(fabric, used)).kind).toBe('placed');
          expect(placeGang(tp8(Number(degree) + 1), aFabricCapacity(fabric, used)).kind).not.toBe('placed');
        },
      ),
    );
    expect(suggested).toBeGreaterThan(30);
  });
});
