import type { ClusterFabric, FabricPlace } from '@coxswain/api-types';
import { aRankPlace } from '@coxswain/api-types/testing';
import { fabricLines, placementLines } from './format-fabric.ts';

const RACK_A: FabricPlace = {
  island: 'ib-0',
  nvlinkDomain: 'accelerator.topograph.run/domain=nvl-a',
  switches: ['topograph:tier-1=spine-a/tier-0=leaf-a', 'topograph:tier-1=spine-a'],
};
const RACK_B: FabricPlace = { island: 'roce-0', nvlinkDomain: null, switches: [] };
const HARDWARE = {
  gpuType: null,
  nicType: 'infiniband',
  nicSpeedGbps: 400,
  nicCount: 1,
  readFrom: [
    { fact: 'switches', key: 'fabric.topograph.run/tier-0' },
    { fact: 'gpuType', key: 'nvidia.com/gpu.product' },
  ],
};

function aFabric(placeOf: Readonly<Record<string, number>>): ClusterFabric {
  const names = Object.keys(placeOf);
  return {
    isStale: false,
    places: [RACK_A, RACK_B],
    hardware: [HARDWARE, { ...HARDWARE, nicType: null, readFrom: [] }],
    nodes: {
      names,
      gpus: names.map(() => 2),
      usable: names.map(() => true),
      places: Object.values(placeOf),
      hardware: Object.values(placeOf),
    },
    jobs: [],
    hasMoreJobs: false,
  };
}

const FABRIC = aFabric({ 'node-0': 0, 'node-1': 0, 'node-2': 1 });
const gang = (...nodes: readonly string[]) =>
  nodes.map((node, rank) =>
    aRankPlace({ rank, node, pod: `pod-${node}`, tensorIndex: rank % 2, dataIndex: Math.floor(rank / 2) }),
  );

describe('what the quickstart says of the fabric', () => {
  it('counts it, shows the way down to each node, and tells which labels say so', () => {
    expect(fabricLines(FABRIC)).toEqual([
      '3 nodes with 6 GPUs, 1 NVLink domain, 1 leaf switch, 1 spine, 2 islands',
      'ib-0 › spine-a › leaf-a › nvl-a (infiniband): node-0, node-1',
      'roce-0: node-2',
      'read from fabric.topograph.run/tier-0',
    ]);
  });

  it('says that no label tells anything', () => {
    const hardware = FABRIC.hardware.map((one) => ({ ...one, readFrom: [] }));
    expect(fabricLines({ ...FABRIC, hardware }).at(-1)).toBe('read from no label');
  });
});

describe('what the quickstart says of a placement', () => {
  it.each<[string, readonly string[], string]>([
    [
      'a node and a domain',
      ['node-0', 'node-0', 'node-1', 'node-1'],
      'tensor group is in one node, each data group in one NVLink domain',
    ],
    [
      'islands',
      ['node-0', 'node-0', 'node-2', 'node-2'],
      'tensor group is in one node, each data group in several islands',
    ],
    ['one node alone', ['node-0', 'node-0'], 'tensor group is in one node'],
  ])('names how far groups reach: %s', (_what, nodes, want) => {
    expect(placementLines(gang(...nodes), undefined, FABRIC).at(-1)).toBe(`why: Each ${want}.`);
  });

  it('names ranks, node and place of each pod, and what the operator recorded', () => {
    expect(
      placementLines(gang('node-0', 'node-0', 'node-2', 'node-2'), 'In 2 islands: so many bytes.', FABRIC),
    ).toEqual([
      'ranks 0-1 on node-0, ib-0 › spine-a › leaf-a › nvl-a',
      'ranks 2-3 on node-2, roce-0',
      'why: Each tensor group is in one node, each data group in several islands. In 2 islands: so many bytes.',
    ]);
  });

  it('is bounded, and tells ranks that do not follow each other one by one', () => {
    const many = Array.from({ length: 40 }, (_, rank) =>
      aRankPlace({ rank, node: `n${rank % 20}`, pod: `p${rank % 20}` }),
    );
    const lines = placementLines(many, undefined, FABRIC);
    expect(lines[0]).toBe('ranks 0, 20 on n0');
    expect(lines[8]).toBe('… and 12 more');
    expect(lines).toHaveLength(10);
  });

  it('says nothing of reach where a rank is alone', () => {
    expect(placementLines(gang('node-2'), undefined, FABRIC)).toEqual(['rank 0 on node-2, roce-0']);
  });
});
