import { aFabricNode } from '@coxswain/fabric/testing';
import { columnsOf } from './fabric-columns.ts';

const RACK = { island: 'ib', nvlinkDomain: 'nvl-0', switches: ['leaf-0', 'spine-0'] };

describe('a fabric as columns', () => {
  it('tells once what nodes share, and of a domain of one node that it is alone', () => {
    const nodes = [
      aFabricNode({ name: 'a', ...RACK, gpuType: 'H100', readFrom: { gpuType: 'nvidia.com/gpu.product' } }),
      aFabricNode({ name: 'b', ...RACK, usable: false }),
      aFabricNode({ name: 'c', gpus: 4 }),
      aFabricNode({ name: 'd' }),
    ];
    expect(columnsOf({ nodes })).toEqual({
      nodes: {
        names: ['a', 'b', 'c', 'd'],
        gpus: [8, 8, 4, 8],
        usable: [true, false, true, true],
        places: [0, 0, 1, 1],
        hardware: [0, 1, 1, 1],
      },
      places: [RACK, { island: 'ib', nvlinkDomain: null, switches: [] }],
      hardware: [
        {
          gpuType: 'H100',
          nicType: null,
          nicSpeedGbps: null,
          nicCount: null,
          readFrom: [{ fact: 'gpuType', key: 'nvidia.com/gpu.product' }],
        },
        { gpuType: null, nicType: null, nicSpeedGbps: null, nicCount: null, readFrom: [] },
      ],
    });
  });
});
