import { fabricFromNodes } from './from-nodes.ts';
import { draDevicesByNode, sliceOfNode } from './resource-slices.ts';

interface Given {
  readonly driver: string;
  readonly devices: readonly Readonly<Record<string, unknown>>[];
  readonly node?: string;
  readonly pool?: string;
  readonly generation?: number;
}

/** As its driver publishes it. */
function aSlice({ driver, devices, node = 'node-a', pool = node, generation = 1 }: Given): object {
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name: `${node}-${driver}-x` },
    spec: {
      driver,
      nodeName: node,
      pool: { name: pool, generation, resourceSliceCount: 1 },
      devices: devices.map((attributes, index) => ({ name: `device-${index}`, attributes })),
    },
  };
}

const dranet = (encapsulation: string, more: object = {}): Readonly<Record<string, unknown>> => ({
  'dra.net/ifName': { string: 'rdma0' },
  'dra.net/rdma': { bool: true },
  'dra.net/rdmaDevice': { string: 'mlx5_0' },
  'dra.net/encapsulation': { string: encapsulation },
  'dra.net/pciVendor': { string: 'Mellanox Technologies' },
  'resource.kubernetes.io/pcieRoot': { string: 'pci0000:00' },
  ...more,
});
const nvidia = {
  type: { string: 'gpu' },
  uuid: { string: 'GPU-18db0e85-99e9-c746-8531-ffeb86328b39' },
  productName: { string: 'NVIDIA H100 80GB HBM3' },
  architecture: { string: 'Hopper' },
  cudaComputeCapability: { version: '9.0.0' },
};

function nodeOf(slices: readonly unknown[]) {
  const draDevices = draDevicesByNode(slices.flatMap((slice) => sliceOfNode(slice) ?? [])).get('node-a') ?? [];
  const facts = { name: 'node-a', labels: {}, gpuCapacity: 8, schedulable: true, ready: true, draDevices };
  return fabricFromNodes([facts]).nodes[0];
}

describe('what DRA drivers say of a node', () => {
  it.each<[string, readonly unknown[], object]>([
    [
      'dranet on InfiniBand',
      [aSlice({ driver: 'dra.net', devices: [dranet('infiniband'), dranet('infiniband')] })],
      { nicType: 'infiniband', readFrom: { nicType: 'dra.net/encapsulation' } },
    ],
    ['dranet on RoCE', [aSlice({ driver: 'dra.net', devices: [dranet('ether')] })], { nicType: 'roce' }],
    [
      'dranet beside an interface that trains nothing',
      [
        aSlice({
          driver: 'dra.net',
          devices: [dranet('infiniband'), dranet('ether', { 'dra.net/rdma': { bool: false } })],
        }),
      ],
      { nicType: 'infiniband' },
    ],
    [
      'NVIDIA of its GPUs, as feature discovery spells them',
      [aSlice({ driver: 'gpu.nvidia.com', devices: [nvidia, nvidia] })],
      { gpuType: 'NVIDIA-H100-80GB-HBM3', readFrom: { gpuType: 'gpu.nvidia.com/productName' } },
    ],
    [
      'Oracle of where it is, in the words of its own domain',
      [aSlice({ driver: 'oke.dra.net', devices: [{ gpuMemoryFabricId: { string: 'ocid1.fabric' } }] })],
      { nvlinkDomain: 'oke.dra.net/gpuMemoryFabricId=ocid1.fabric' },
    ],
    [
      'an API server of before 1.34',
      [
        {
          spec: {
            driver: 'dra.net',
            nodeName: 'node-a',
            pool: { name: 'node-a', generation: 1 },
            devices: [{ name: 'd', basic: { attributes: dranet('infiniband') } }],
          },
        },
      ],
      { nicType: 'infiniband' },
    ],
    [
      'slices of a pool that was published anew, of which the old ones are still there',
      [
        aSlice({ driver: 'dra.net', devices: [dranet('ether')], generation: 2 }),
        aSlice({ driver: 'dra.net', devices: [dranet('infiniband')], generation: 1 }),
      ],
      { nicType: 'roce' },
    ],
  ])('%s', (_who, slices, want) => {
    expect(nodeOf(slices)).toMatchObject(want);
    expect(nodeOf(slices.toReversed())).toMatchObject(want);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no spec', { kind: 'ResourceSlice' }],
    ['devices that all nodes reach', { spec: { driver: 'd', allNodes: true, pool: { name: 'p' }, devices: [] } }],
    ['a name of no node', { spec: { driver: 'd', nodeName: 7, devices: [] } }],
  ])('counts for nothing where it is %s', (_what, slice) => {
    expect(sliceOfNode(slice)).toBeUndefined();
  });

  it('keeps no more than can be used of what is much, odd or long', () => {
    const odd = {
      'dra.net/rdma': 'yes',
      'dra.net/encapsulation': { string: 'x'.repeat(10_000) },
      other: { string: 'y' },
    };
    const slice = sliceOfNode(aSlice({ driver: 'dra.net', devices: Array.from({ length: 1_000 }, () => odd) }));
    expect(slice?.devices).toHaveLength(256);
    expect(nodeOf([aSlice({ driver: 'dra.net', devices: [odd] })])?.nicType).toBeUndefined();
  });
});
