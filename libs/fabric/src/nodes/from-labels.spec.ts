import { NODE_LABELS } from '@coxswain/api-types';
import type { FabricNode, NodeFacts } from './fabric.ts';
import { fabricOf, type Labels, topograph } from '../testing/labelled-nodes.ts';

const NVIDIA = 'network.topology.nvidia.com';
const CORE_WEAVE = 'backend.coreweave.cloud';

describe('NVLink domains', () => {
  it.each([
    [NODE_LABELS.nvlinkDomain, 'rack-1', 'rack-1'],
    ['nvidia.com/gpu.clique', '7b968a6d-c8aa-45e1-9e07-e1e51be99c31.0', undefined],
    ['accelerator.topograph.run/domain', 'nvl1', undefined],
    [`${NVIDIA}/accelerator`, 'nvl1', undefined],
    ['topology.k8s.aws/ultraserver-id', 'us-0f1e', undefined],
    ['ds.coreweave.com/nvlink.domain', 'DH2-022-US-EAST-04A', undefined],
  ])('%s names one', (key, value, want) => {
    expect(fabricOf({ [key]: value })[0]).toMatchObject({
      nvlinkDomain: want ?? `${key}=${value}`,
      readFrom: { nvlinkDomain: key },
    });
  });

  it('a sub-domain is one of its domain', () => {
    const labels = (domain: string): Labels => ({
      'accelerator.topograph.run/domain': domain,
      'accelerator.topograph.run/sub-domain': '0',
    });
    const [one, other] = fabricOf(labels('a'), labels('b'));
    expect(one?.nvlinkSubDomain).toBe('accelerator.topograph.run/domain=a/accelerator.topograph.run/sub-domain=0');
    expect(other?.nvlinkSubDomain).not.toBe(one?.nvlinkSubDomain);
  });

  it('DRA names one where all devices of the node agree', () => {
    const attribute = 'oke.dra.net/gpuMemoryFabricId';
    const nodes = fabricOf(
      { draDevices: [{ [attribute]: 'f1' }, { [attribute]: 'f1' }] },
      { draDevices: [{ [attribute]: 'f1' }, { [attribute]: 'f2' }] },
    );
    expect(nodes.map((node) => node.nvlinkDomain)).toEqual([`${attribute}=f1`, 'node:n2']);
  });
});

describe('NICs', () => {
  const rdma = (encapsulation: string, more: object = {}): NonNullable<NodeFacts['draDevices']>[number] => ({
    'dra.net/rdma': true,
    'dra.net/encapsulation': encapsulation,
    ...more,
  });

  it.each<[string, Labels | Partial<NodeFacts>, Partial<FabricNode>]>([
    [
      'our labels',
      { [NODE_LABELS.nicType]: 'RoCE', [NODE_LABELS.nicSpeedGbps]: '400', [NODE_LABELS.nicCount]: '8' },
      { nicType: 'roce', nicSpeedGbps: 400, nicCount: 8 },
    ],
    [
      'CoreWeave',
      {
        [`${CORE_WEAVE}/flavor`]: 'infiniband',
        'ib.coreweave.cloud/speed': '3200G',
        ...Object.fromEntries(
          Array.from({ length: 8 }, (_, nic) => [`${CORE_WEAVE}/neighbors.expected.ibp${nic}.device`, `leaf-${nic}`]),
        ),
      },
      { nicType: 'infiniband', nicSpeedGbps: 400, nicCount: 8 },
    ],
    ['EFA of AWS', { devices: { 'vpc.amazonaws.com/efa': 32 } }, { nicType: 'efa', nicCount: 32 }],
    ['InfiniBand of AKS', { devices: { 'rdma/ib': 8 } }, { nicType: 'infiniband', nicCount: 8 }],
    ['slots of a shared plugin, which count nothing', { devices: { 'rdma/shared_ib': 63 } }, { nicType: 'infiniband' }],
    ['virtual functions of OKE', { devices: { 'nvidia.com/rdma-vf': 16 } }, { nicType: 'roce', nicCount: 16 }],
    [
      'the flavour before a resource that RoCE has too',
      { labels: { [`${CORE_WEAVE}/flavor`]: 'roce' }, devices: { 'rdma/ib': 1 } },
      { nicType: 'roce' },
    ],
    [
      'dranet on InfiniBand',
      { draDevices: [rdma('infiniband'), rdma('infiniband')] },
      { nicType: 'infiniband', nicCount: 2 },
    ],
    [
      'dranet on RoCE, beside a card without RDMA',
      { draDevices: [rdma('ether'), { 'dra.net/rdma': false }] },
      { nicType: 'roce' },
    ],
    ['dranet on EFA', { draDevices: [rdma('ether', { 'dra.net/pciVendor': 'Amazon.com, Inc.' })] }, { nicType: 'efa' }],
  ])('%s', (_sentence, given, want) => {
    expect(fabricOf(given)[0]).toMatchObject(want);
  });

  it.each<[string, Labels | Partial<NodeFacts>]>([
    ['a Mellanox card, which can be either', { 'feature.node.kubernetes.io/pci-15b3.present': 'true' }],
    ['RDMA devices of two link layers', { draDevices: [rdma('ether'), rdma('infiniband')] }],
    ['none of a device', { devices: { 'vpc.amazonaws.com/efa': 0 } }],
    ['a class that is no label', { [NODE_LABELS.nicType]: 'infini\u001b[31mband' }],
  ])('%s tells no class', (_sentence, given) => {
    expect(fabricOf(given)[0]).not.toHaveProperty('nicType');
  });

  it.each<[string, keyof FabricNode, Labels | Partial<NodeFacts>]>([
    ['more NICs than a node has', 'nicCount', { [NODE_LABELS.nicCount]: '33' }],
    ['more RDMA devices than a node has', 'nicCount', { draDevices: Array.from({ length: 33 }, () => rdma('ether')) }],
    ['no NIC', 'nicCount', { [NODE_LABELS.nicCount]: '0' }],
    ['a speed of no NIC', 'nicSpeedGbps', { [NODE_LABELS.nicSpeedGbps]: '100001' }],
  ])('%s: tells no %s', (_sentence, fact, given) => {
    expect(fabricOf(given)[0]).not.toHaveProperty(fact);
  });
});

describe('islands', () => {
  const ib = { [NODE_LABELS.nicType]: 'infiniband' };
  const roce = { [NODE_LABELS.nicType]: 'roce' };
  const core = { [`${NVIDIA}/core`]: 'c' };

  it.each<[string, readonly Labels[], readonly string[]]>([
    ['nodes that say nothing are one', [{}, {}], ['unlabelled', 'unlabelled']],
    ['labels come node by node', [ib, {}], ['unlabelled', 'unlabelled']],
    ['InfiniBand and RoCE cannot connect', [ib, roce, {}], ['unlabelled:infiniband', 'unlabelled:roce', 'unlabelled']],
    [
      'nor below one root',
      [
        { ...ib, ...core },
        { ...roce, ...core },
      ],
      [`${NVIDIA}/core=c:infiniband`, `${NVIDIA}/core=c:roce`],
    ],
    [
      'a declared one is believed, whatever its NICs are',
      [
        { ...ib, [NODE_LABELS.nicIsland]: 'i' },
        { ...roce, [NODE_LABELS.nicIsland]: 'i' },
      ],
      ['i', 'i'],
    ],
    [
      'leaf and spine without a root make none',
      [topograph('l1', 's1'), topograph('l2', 's2')],
      ['unlabelled', 'unlabelled'],
    ],
  ])('%s', (_sentence, labels, want) => {
    expect(fabricOf(...labels).map((node) => node.island)).toEqual(want);
  });
});
