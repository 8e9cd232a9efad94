import type { ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { assumedTraffic, type FabricCapacity, type FabricNode, type LayoutTraffic, placeGang } from '../index.ts';
import { type GangRequest } from '../traffic/gang-shape.ts';
import { aFabricCapacity, aFabricNode } from '../testing/index.ts';

const tp = (ways: number, more: Partial<ParallelLayout> = {}): ParallelLayout =>
  aLayout({ tensorParallelDegree: ways, ...more });
/** `count` nodes of `gpus` GPUs, named prefix-0, prefix-1, ..., alike in all else. */
const nodes = (prefix: string, count: number, alike: Partial<FabricNode> = {}): readonly FabricNode[] =>
  Array.from({ length: count }, (_, index) => aFabricNode({ name: `${prefix}-${index}`, ...alike }));

/** The quickstart's cluster: two NVLink domains of two nodes with two GPUs; one InfiniBand and one RoCE island. */
const fourNodes = [
  ...nodes('a', 2, { gpus: 2, nvlinkDomain: 'd1', island: 'ib' }),
  ...nodes('b', 2, { gpus: 2, nvlinkDomain: 'd2', island: 'roce' }),
];

const ofTwoClasses = fourNodes.map((node) => ({ ...node, nicType: node.island === 'ib' ? 'infiniband' : 'roce' }));

describe('where a gang goes', () => {
  const cases: readonly {
    readonly name: string;
    readonly request: GangRequest;
    readonly capacity: FabricCapacity;
    readonly want: readonly string[];
  }[] = [
    { name: 'one rank takes one GPU', request: { layout: tp(1) }, capacity: aFabricCapacity(fourNodes), want: ['a-0'] },
    {
      name: 'tp2 x dp2 stays in one island',
      request: { layout: tp(2, { dataParallelDegree: 2 }) },
      capacity: aFabricCapacity(fourNodes, { 'a-1': 1 }),
      want: ['b-0', 'b-1'],
    },
    {
      name: 'tp4 spans two nodes of one NVLink domain',
      request: { layout: tp(4) },
      capacity: aFabricCapacity(fourNodes, { 'a-0': 1 }),
      want: ['b-0', 'b-1'],
    },
    {
      name: 'pipeline stages may cross islands of one NIC class',
      request: { layout: tp(4, { pipelineParallelDegree: 2 }), acrossIslands: 'pipeline' },
      capacity: aFabricCapacity(fourNodes),
      want: ['a-0', 'a-1', 'b-0', 'b-1'],
    },
    {
      name: 'any group may cross islands of any class over sockets',
      request: { layout: tp(2, { dataParallelDegree: 4 }), acrossIslands: 'anyGroup' },
      capacity: aFabricCapacity(ofTwoClasses),
      want: ['a-0', 'a-1', 'b-0', 'b-1'],
    },
    ...(['never', 'pipeline', 'anyGroup'] as const).map((acrossIslands) => ({
      name: `one island is taken where one holds the gang: ${acrossIslands}`,
      request: { layout: tp(2, { pipelineParallelDegree: 2 }), acrossIslands },
      capacity: aFabricCapacity(ofTwoClasses, { 'a-1': 1 }),
      want: ['b-0', 'b-1'],
    })),
    {
      name: 'one GPU per node spreads the ranks',
      request: { layout: tp(2), gpusPerNode: 1 },
      capacity: aFabricCapacity(fourNodes),
      want: ['a-0', 'a-1'],
    },
    {
      name: 'a part of a node goes to the node with the least left',
      request: { layout: tp(2) },
      capacity: aFabricCapacity(nodes('n', 3), { 'n-0': 1, 'n-1': 6, 'n-2': 4 }),
      want: ['n-1'],
    },
    {
      name: 'the tightest island that holds it',
      request: { layout: tp(8, { dataParallelDegree: 2 }) },
      capacity: aFabricCapacity([...nodes('big', 4), ...nodes('small', 2, { island: 'roce' })]),
      want: ['small-0', 'small-1'],
    },
    {
      name: 'the smaller last pod fits beside others',
      request: { layout: tp(4, { dataParallelDegree: 3 }) },
      capacity: aFabricCapacity(nodes('n', 2), { 'n-0': 4 }),
      want: ['n-1', 'n-0'],
    },
    {
      name: 'tensor degree 3 on nodes of 8: six ranks per node, no group cut',
      request: { layout: tp(3, { dataParallelDegree: 4 }) },
      capacity: aFabricCapacity(nodes('n', 2)),
      want: ['n-0', 'n-1'],
    },
    {
      name: 'nodes with as many NICs as each other rather than tighter ones',
      request: { layout: tp(4, { dataParallelDegree: 2 }), gpusPerNode: 4 },
      capacity: aFabricCapacity([...nodes('eight', 2, { nicCount: 8 }), ...nodes('seven', 1, { nicCount: 7 })], {
        'seven-0': 4,
      }),
      want: ['eight-0', 'eight-1'],
    },
    {
      name: 'one node, however many NICs others have',
      request: { layout: tp(8) },
      capacity: aFabricCapacity([...nodes('eight', 1, { nicCount: 8 }), ...nodes('seven', 1, { nicCount: 7 })]),
      want: ['eight-0'],
    },
    {
      name: 'nodes that are not usable are passed over',
      request: { layout: tp(8) },
      capacity: aFabricCapacity([aFabricNode({ name: 'n-0', usable: false }), aFabricNode({ name: 'n-1' })]),
      want: ['n-1'],
    },
  ];
  it.each(cases)('$name', ({ request, capacity, want }) => {
    expect(placeGang(request, capacity)).toMatchObject({ kind: 'placed', nodes: want });
  });
});

describe('why a gang is not placed', () => {
  const cases: readonly {
    readonly name: string;
    readonly request: GangRequest;
    readonly capacity: FabricCapacity;
    readonly want: object;
  }[] = [
    {
      name: 'too few are free',
      request: { layout: tp(2, { dataParallelDegree: 2 }) },
      capacity: aFabricCapacity(fourNodes, { 'a-1': 2, 'b-0': 1 }),
      want: {
        kind: 'waiting',
        message:
          'Needs 4 GPUs as 2 nodes with 2 free each; 5 of 8 GPUs are free, on 2 nodes with 2 or more, but not together: tensor groups need one NVLink domain, and the gang one island. It would start now if you free 1 node of island ib (a-1), or lower layout.dataParallelDegree from 2 to 1, or recreate the job with resources.acrossIslands Sockets, at the speed of TCP.',
      },
    },
    {
      name: 'no two nodes have as many NICs',
      request: { layout: tp(8, { dataParallelDegree: 2 }) },
      capacity: aFabricCapacity([...nodes('eight', 1, { nicCount: 8 }), ...nodes('seven', 1, { nicCount: 7 })]),
      want: {
        kind: 'waiting',
        message:
          'The nodes that are free have unequal numbers of NICs, on which NCCL hangs: 8 on eight-0; 7 on seven-0. Mend or cordon those that lack some, or correct their label fabric.coxswain.dev/nic-count.',
      },
    },
    {
      name: 'none are free',
      request: { layout: tp(2) },
      capacity: aFabricCapacity(nodes('n', 1, { gpus: 2 }), { 'n-0': 1 }),
      want: {
        kind: 'waiting',
        message:
          'Needs 2 GPUs as 1 node with 2 free each; 1 of 2 GPUs are free, on 0 nodes with 2 or more. It would start now if you free 1 node of island ib (n-0).',
      },
    },
    {
      name: 'the cluster is too small as yet',
      request: { layout: tp(2, { dataParallelDegree: 8 }) },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'waiting',
        message:
          'Needs 16 GPUs; the cluster has 8 in all. It would start now if you lower layout.dataParallelDegree from 8 to 2.',
      },
    },
    ...[
      {
        name: 'there are far more ranks than GPUs',
        pipelineParallelDegree: 1,
        lower: ' It would start now if you lower layout.dataParallelDegree from 65536 to 4.',
      },
      { name: 'there are more ranks than anything could list', pipelineParallelDegree: 65_536, lower: '' },
    ].map(({ name, pipelineParallelDegree, lower }) => ({
      name,
      request: {
        layout: tp(2, { pipelineParallelDegree, dataParallelDegree: 65_536 }),
        acrossIslands: 'anyGroup',
      } as const,
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'waiting',
        message: `Needs ${2 * 65_536 * pipelineParallelDegree} GPUs; the cluster has 8 in all.${lower}`,
      },
    })),
    {
      name: 'the cluster has no GPUs',
      request: { layout: tp(1) },
      capacity: aFabricCapacity([]),
      want: { kind: 'waiting', message: 'Needs 1 GPU; the cluster has 0 in all.' },
    },
    {
      name: 'no NVLink domain is large enough',
      request: { layout: tp(8) },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'unsatisfiable',
        message:
          'A tensor group needs 8 GPUs in one NVLink domain; the largest, d1, has 4. Lower layout.tensorParallelDegree to at most 4.',
      },
    },
    {
      name: 'no island holds the gang, and it may have no two',
      request: { layout: tp(4, { pipelineParallelDegree: 2 }) },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'unsatisfiable',
        message:
          'The gang needs 8 GPUs in one island; the largest, ib, has 4. Ask for at most 4, or make the job with resources.acrossIslands Pipeline where islands of one NIC class reach each other, or Sockets at the speed of TCP.',
      },
    },
    {
      name: 'islands are of two NIC classes, which cannot connect',
      request: { layout: tp(4, { pipelineParallelDegree: 2 }), acrossIslands: 'pipeline' },
      capacity: aFabricCapacity(ofTwoClasses),
      want: {
        kind: 'unsatisfiable',
        message: expect.stringMatching(
          /each data group in one island among those of one NIC class; the largest domain, d1, has 4 GPUs and the largest island, ib, 4\. Islands bind: NICs of different classes \(infiniband, roce\) cannot connect\. It would start now if you recreate the job with resources\.acrossIslands Sockets, at the speed of TCP\.$/,
        ) as string,
      },
    },
    {
      name: 'islands are of two NIC classes, and fewer data ranks would fit one',
      request: {
        layout: tp(2, { pipelineParallelDegree: 2, dataParallelDegree: 2 }),
        acrossIslands: 'pipeline',
      },
      capacity: aFabricCapacity(ofTwoClasses),
      want: {
        kind: 'unsatisfiable',
        message: expect.stringContaining(
          'It would start now if you lower layout.dataParallelDegree from 2 to 1, or recreate the job with resources.acrossIslands Sockets',
        ) as string,
      },
    },
    {
      name: 'no island is large enough, and one is for fewer data ranks',
      request: { layout: tp(2, { dataParallelDegree: 4 }) },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'unsatisfiable',
        message: expect.stringMatching(
          /or make the job with resources.acrossIslands Sockets .* It would start now if you lower layout.dataParallelDegree from 4 to 2\.$/,
        ) as string,
      },
    },
    {
      name: 'an island of several classes meets no other',
      request: { layout: tp(4, { pipelineParallelDegree: 2 }), acrossIslands: 'pipeline' },
      capacity: aFabricCapacity(fourNodes.map((node) => (node.name === 'a-0' ? { ...node, nicType: 'roce' } : node))),
      want: { kind: 'unsatisfiable' },
    },
    {
      name: 'no island is large enough for a stage',
      request: { layout: tp(2, { dataParallelDegree: 4 }), acrossIslands: 'pipeline' },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'unsatisfiable',
        message:
          'The data groups of a pipeline stage need 8 GPUs in one island; the largest, ib, has 4. Lower layout.dataParallelDegree to at most 2, or raise layout.pipelineParallelDegree in its place. It would start now if you lower layout.dataParallelDegree from 4 to 2, or recreate the job with resources.acrossIslands Sockets, at the speed of TCP.',
      },
    },
    {
      name: 'no island is large enough for a stage whose samples are split as well',
      request: { layout: tp(2, { contextParallelDegree: 2, dataParallelDegree: 2 }), acrossIslands: 'pipeline' },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'unsatisfiable',
        message:
          'The data groups of a pipeline stage need 8 GPUs in one island; the largest, ib, has 4. Lower layout.dataParallelDegree to at most 1, or raise layout.pipelineParallelDegree in its place. It would start now if you lower layout.dataParallelDegree from 2 to 1, or recreate the job with resources.acrossIslands Sockets, at the speed of TCP.',
      },
    },
    {
      name: 'no island is large enough for the samples of one data rank',
      request: { layout: tp(2, { contextParallelDegree: 4 }), acrossIslands: 'pipeline' },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'unsatisfiable',
        message:
          'The data groups of a pipeline stage need 8 GPUs in one island; the largest, ib, has 4. Lower layout.contextParallelDegree, or raise layout.pipelineParallelDegree in its place. It would start now if you recreate the job with resources.acrossIslands Sockets, at the speed of TCP.',
      },
    },
    {
      name: 'no NVLink domain holds an inner all-to-all of ulysses-ring',
      request: {
        layout: tp(2, {
          contextParallelDegree: 4,
          sequence: { contextAlgorithm: 'ulysses-ring', ulyssesDegree: 4 },
        }),
        acrossIslands: 'anyGroup',
      },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'unsatisfiable',
        message:
          'The inner all-to-all of layout.sequence.ulyssesDegree 4 needs 8 GPUs in one NVLink domain, 2 for each of its ranks; the largest, d1, has 4. Lower layout.sequence.ulyssesDegree to at most 2, so that the ring takes the rest of layout.contextParallelDegree, or lower layout.tensorParallelDegree.',
      },
    },
    {
      name: 'more per node than any node has',
      request: { layout: tp(4), gpusPerNode: 4 },
      capacity: aFabricCapacity(fourNodes),
      want: {
        kind: 'unsatisfiable',
        message:
          'resources.gpusPerNode 4 exceeds every node; the largest, a-0, has 2 GPUs. Set resources.gpusPerNode to at most 2.',
      },
    },
    {
      name: 'nodes that are away may come back',
      request: { layout: tp(8) },
      capacity: aFabricCapacity([aFabricNode({ usable: false })]),
      want: { kind: 'waiting' },
    },
  ];
  it.each(cases)('$name', ({ request, capacity, want }) => {
    expect(placeGang(request, capacity)).toMatchObject(want);
  });
});

describe('traffic that is made where it is needed', () => {
  it('is made once where there are GPUs enough, and never where there are not', () => {
    let made = 0;
    const request = (dataParallelDegree: number): GangRequest => {
      const layout = { tensorParallelDegree: 8, pipelineParallelDegree: 1, dataParallelDegree };
      const traffic = (): LayoutTraffic => {
        made++;
        return assumedTraffic(layout);
      };
      return { layout, traffic };
    };
    const capacity = aFabricCapacity([aFabricNode({ name: 'a' }), aFabricNode({ name: 'b' })]);
    expect([placeGang(request(3), capacity).kind, made]).toEqual(['waiting', 0]);
    expect([placeGang(request(2), aFabricCapacity(capacity.fabric.nodes, { a: 1 })).kind, made]).toEqual([
      'waiting',
      0,
    ]);
    const one = request(2);
    expect([placeGang(one, capacity).kind, made]).toEqual(['placed', 1]);
    expect([placeGang(one, capacity).kind, made]).toEqual(['placed', 1]);
  });
});
