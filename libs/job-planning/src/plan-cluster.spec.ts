import type { FabricNode } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import { planCluster } from './plan-cluster.ts';

const nodes = (count: number, overrides: Partial<FabricNode> = {}): FabricNode[] =>
  Array.from({ length: count }, (_, index) =>
    aFabricNode({
      gpuType: 'H100',
      nicType: 'infiniband',
      nicSpeedGbps: 400,
      ...overrides,
      name: `${overrides.island ?? 'ib'}-${index}`,
    }),
  );

describe('the cluster that a job is planned for', () => {
  it('is as its nodes are labelled', () => {
    expect(planCluster({ nodes: nodes(4) }, { gpus: 16 })).toEqual({
      cluster: {
        gpu: 'h100-sxm5-80gb',
        gpus: 16,
        gpusPerNode: 8,
        scaleUpDomainGpus: 8,
        scaleOutGbPerS: 50,
        nicKind: 'infiniband',
      },
      description: '32 h100-sxm5-80gb GPUs, 8 per node, NVLink domains of 8; for 16: 16 on infiniband of 400 Gb/s',
    });
  });

  it.each([
    [
      'the type of most GPUs counts',
      [...nodes(2), ...nodes(3, { gpuType: 'a100', island: 'a' })],
      { gpu: 'a100-sxm4-80gb' },
    ],
    [
      'nodes that share an NVLink domain scale up together',
      nodes(4, { nvlinkDomain: 'rack', gpus: 4 }),
      { scaleUpDomainGpus: 16 },
    ],
    ['an unusual NIC is another kind', nodes(4, { nicType: 'Slingshot' }), { nicKind: 'other' }],
    [
      'a NIC whose name is spelled in capitals is known all the same',
      nodes(4, { nicType: 'RoCE' }),
      { nicKind: 'roce' },
    ],
    [
      'of nodes of several sizes the commonest counts',
      [...nodes(1, { gpus: 4, island: 'small' }), ...nodes(3)],
      { gpusPerNode: 8, scaleUpDomainGpus: 8 },
    ],
    ['nodes that are not ready count as well: the plan outlives that', nodes(4, { usable: false }), { gpus: 8 }],
    ['fewer GPUs per node than there are is what the job asked for', nodes(4), { gpusPerNode: 8 }],
  ] as const)('%s', (_sentence, fabric, want) => {
    expect(planCluster({ nodes: fabric }, { gpus: 8 })).toMatchObject({ cluster: want });
  });

  it.each([
    ['NVLink ends at what the pod has of its node', nodes(4), 2],
    ['of nodes in one NVLink domain each gives as much', nodes(4, { nvlinkDomain: 'rack', gpus: 4 }), 8],
  ] as const)('with fewer GPUs a pod than a node has, %s', (_sentence, fabric, scaleUpDomainGpus) => {
    const asked = { gpus: 8, gpusPerNode: 2 };
    expect(planCluster({ nodes: fabric }, asked)).toMatchObject({ cluster: { gpusPerNode: 2, scaleUpDomainGpus } });
  });

  describe('of several islands, where the largest does not hold the job', () => {
    const roce = nodes(1, { island: 'roce-0', nicType: 'roce' });
    const fabric = { nodes: [...roce, ...nodes(2), ...nodes(1, { island: 'ib-2', nicType: 'InfiniBand' })] };
    it.each([
      ['never', 24, undefined],
      [
        'pipeline',
        24,
        [
          { gpus: 16, nicKind: 'infiniband' },
          { gpus: 8, nicKind: 'infiniband' },
        ],
      ],
      [
        'anyGroup',
        32,
        [
          { gpus: 16, nicKind: 'ethernet' },
          { gpus: 8, nicKind: 'ethernet' },
          { gpus: 8, nicKind: 'ethernet' },
        ],
      ],
    ] as const)('is those that the job may have: %s', (acrossIslands, gpus, islands) => {
      const known = planCluster(fabric, { gpus, acrossIslands });
      if (islands === undefined) expect(known).not.toHaveProperty('cluster.islands');
      else expect(known).toMatchObject({ cluster: { islands } });
      expect(known?.description.includes('over TCP sockets')).toBe(acrossIslands === 'anyGroup');
    });

    it.each(['never', 'pipeline', 'anyGroup'] as const)(
      'is one that does hold it all the same: %s',
      (acrossIslands) => {
        expect(planCluster(fabric, { gpus: 16, acrossIslands })).toMatchObject({ cluster: { nicKind: 'infiniband' } });
        expect(planCluster(fabric, { gpus: 16, acrossIslands })).not.toHaveProperty('cluster.islands');
      },
    );
  });

  describe('of several types of GPU, none of which has enough', () => {
    const fabric = {
      nodes: [
        ...nodes(3, { gpuType: 'NVIDIA-A100-SXM4-80GB', island: 'slow', nicType: 'roce', nicSpeedGbps: 200 }),
        ...nodes(5, { island: 'fast' }),
      ],
    };
    const mixing = { gpus: 64, mayMixGpus: true } as const;

    it('is each type in an island of its own, with its network over sockets, and stages whole', () => {
      expect(planCluster(fabric, { ...mixing, acrossIslands: 'anyGroup' })).toEqual({
        cluster: {
          gpu: 'h100-sxm5-80gb',
          gpus: 64,
          gpusPerNode: 8,
          scaleUpDomainGpus: 8,
          scaleOutGbPerS: 50,
          nicKind: 'ethernet',
          stagesInOneIsland: true,
          islands: [
            { gpus: 40, gpu: 'h100-sxm5-80gb', relativeSpeed: 1, nicKind: 'ethernet', scaleOutGbPerS: 50 },
            { gpus: 24, gpu: 'a100-sxm4-80gb', relativeSpeed: 1, nicKind: 'ethernet', scaleOutGbPerS: 25 },
          ],
        },
        gpuTypes: ['H100', 'NVIDIA-A100-SXM4-80GB'],
        description:
          '64 h100-sxm5-80gb and a100-sxm4-80gb GPUs, 8 per node, NVLink domains of 8; for 64: over TCP sockets, ' +
          '40 h100-sxm5-80gb on ethernet of 400 Gb/s and 24 a100-sxm4-80gb on ethernet of 200 Gb/s',
      });
    });

    it.each<[string, Partial<Parameters<typeof planCluster>[1]>]>([
      ['the job may not have several islands', { acrossIslands: 'never' }],
      ['the NICs cannot connect', { acrossIslands: 'pipeline' }],
      ['one type has enough', { acrossIslands: 'anyGroup', gpus: 40 }],
      ['all together have too few', { acrossIslands: 'anyGroup', gpus: 128 }],
      ['the layout is written already', { acrossIslands: 'anyGroup', mayMixGpus: false }],
    ])('is one type where %s', (_sentence, change) => {
      const known = planCluster(fabric, { ...mixing, ...change });
      expect(known).toMatchObject({ cluster: { gpu: 'h100-sxm5-80gb' } });
      expect(known).not.toHaveProperty('gpuTypes');
    });

    it('is of the islands whose NICs connect, where these have both types', () => {
      const connected = fabric.nodes.map((node) => ({ ...node, nicType: 'infiniband' }));
      const known = planCluster({ nodes: connected }, { ...mixing, acrossIslands: 'pipeline' });
      expect(known).toMatchObject({
        cluster: { stagesInOneIsland: true, islands: [{ nicKind: 'infiniband' }, { nicKind: 'infiniband' }] },
      });
    });
  });

  it('has islands of one class whole, so that stages that do not fill one can leave some over', () => {
    const two = [...nodes(5, { island: 'a' }), ...nodes(3, { island: 'b' })];
    expect(planCluster({ nodes: two }, { gpus: 48, acrossIslands: 'pipeline' })).toMatchObject({
      cluster: { stagesInOneIsland: true, islands: [{ gpus: 40 }, { gpus: 24 }] },
    });
  });

  it('is expected to grow when the job asks for more than there is', () => {
    expect(planCluster({ nodes: nodes(1) }, { gpus: 64 })).toMatchObject({ cluster: { gpus: 64 } });
  });

  it.each([
    ['the job uses fewer GPUs of each node', 2, 2],
    ['the job asks for more per node than there are', 16, 8],
  ])('has as many GPUs per node as %s', (_sentence, gpusPerNode, want) => {
    expect(planCluster({ nodes: nodes(4) }, { gpus: 8, gpusPerNode })).toMatchObject({
      cluster: { gpusPerNode: want },
    });
  });

  it('says nothing of a network that no label tells of', () => {
    const bare = nodes(2).map(({ nicType: _type, nicSpeedGbps: _speed, ...node }) => node);
    const known = planCluster({ nodes: bare }, { gpus: 16 });
    expect(known).toMatchObject({ description: expect.stringMatching(/16 on a usual network$/) as string });
    expect(known).not.toHaveProperty('cluster.nicKind');
    expect(known).not.toHaveProperty('cluster.scaleOutGbPerS');
  });

  it('is described in a line that fits the field, whatever the number of islands', () => {
    const many = Array.from({ length: 100 }, (_, index) => nodes(1, { island: `island-${index}` })).flat();
    expect(
      planCluster({ nodes: many }, { gpus: 800, acrossIslands: 'pipeline' })?.description.length,
    ).toBeLessThanOrEqual(1_024);
  });

  it('is unknown without GPUs', () => {
    expect(planCluster({ nodes: [] }, { gpus: 1 })).toBeUndefined();
  });
});
