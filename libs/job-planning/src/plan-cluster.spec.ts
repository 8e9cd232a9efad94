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
