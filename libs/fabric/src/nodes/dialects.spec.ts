import { NODE_LABELS } from '@coxswain/api-types';
import { assumedTraffic } from '../traffic/assumed-traffic.ts';
import { crossingBytes } from '../traffic/crossing-bytes.ts';
import type { FabricNode } from './fabric.ts';
import { fabricOf, type Labels, topograph } from '../testing/labelled-nodes.ts';

/** How many tiers lie between two nodes: 0 where they share the nearest switch, undefined where they share none. */
function tiersApart(one: FabricNode | undefined, other: FabricNode | undefined): number | undefined {
  const shared = one?.switches.findIndex((name) => other?.switches.includes(name)) ?? -1;
  return shared < 0 ? undefined : shared;
}

const NVIDIA = 'network.topology.nvidia.com';
const AWS = 'topology.k8s.aws/network-node-layer';
const GOOGLE = 'cloud.google.com/gce-topology';
const OCI = 'oci.oraclecloud.com';
const CORE_WEAVE = 'backend.coreweave.cloud';

interface Dialect {
  readonly name: string;
  /** Near to far: a node, one that shares its nearest switch, one that shares the second, and so on, and one that shares none. */
  readonly nodes: readonly Labels[];
  /** Of the first node. */
  readonly island: string;
}

const DIALECTS: readonly Dialect[] = [
  {
    name: 'topograph 1.x, whose long names are hashes',
    nodes: [
      topograph('S1', 'S2', 'x3e4f5a6b7c8d9e0f'),
      topograph('S1', 'S2', 'x3e4f5a6b7c8d9e0f'),
      topograph('S4', 'S2', 'x3e4f5a6b7c8d9e0f'),
      topograph('S5', 'S6', 'x3e4f5a6b7c8d9e0f'),
      topograph('S7', 'S8', 'S9'),
    ],
    island: 'fabric.topograph.run/tier-2=x3e4f5a6b7c8d9e0f',
  },
  {
    name: 'topograph before 1.0',
    nodes: [
      ['s1', 's2', 's3'],
      ['s1', 's2', 's3'],
      ['l2', 's2', 's3'],
      ['l3', 'p3', 's3'],
      ['l4', 'p4', 'c4'],
    ].map(([leaf = '', spine = '', core = '']) => ({
      [`${NVIDIA}/leaf`]: leaf,
      [`${NVIDIA}/spine`]: spine,
      [`${NVIDIA}/core`]: core,
    })),
    island: 'network.topology.nvidia.com/core=s3',
  },
  {
    name: 'topograph in its first dialect',
    nodes: [
      ['b1', 's1', 'd1'],
      ['b1', 's1', 'd1'],
      ['b2', 's1', 'd1'],
      ['b3', 's2', 'd1'],
      ['b4', 's3', 'd2'],
    ].map(([block = '', spine = '', datacenter = '']) => ({
      [`${NVIDIA}/block`]: block,
      [`${NVIDIA}/spine`]: spine,
      [`${NVIDIA}/datacenter`]: datacenter,
    })),
    island: 'network.topology.nvidia.com/datacenter=d1',
  },
  {
    name: 'AWS, whose third layer is the nearest',
    nodes: [
      ['nn-3a', 'nn-2a', 'nn-1a'],
      ['nn-3a', 'nn-2a', 'nn-1a'],
      ['nn-3b', 'nn-2a', 'nn-1a'],
      ['nn-3c', 'nn-2b', 'nn-1a'],
      ['nn-3d', 'nn-2c', 'nn-1b'],
    ].map(([three = '', two = '', one = '']) => ({ [`${AWS}-3`]: three, [`${AWS}-2`]: two, [`${AWS}-1`]: one })),
    island: 'unlabelled',
  },
  {
    name: 'Google, each host a machine of its own',
    nodes: [
      ['h1', 'sb-1', 'b-1'],
      ['h2', 'sb-1', 'b-1'],
      ['h3', 'sb-2', 'b-1'],
      ['h4', 'sb-3', 'b-2'],
    ].map(([host = '', subblock = '', block = '']) => ({
      [`${GOOGLE}-host`]: host,
      [`${GOOGLE}-subblock`]: subblock,
      [`${GOOGLE}-block`]: block,
    })),
    island: 'unlabelled',
  },
  {
    name: 'Oracle by host',
    nodes: [
      ['r1', 'nb-1'],
      ['r1', 'nb-1'],
      ['r2', 'nb-1'],
      ['r3', 'nb-2'],
    ].map(([rack = '', block = '']) => ({ [`${OCI}/host.rack_id`]: rack, [`${OCI}/host.network_block_id`]: block })),
    island: 'unlabelled',
  },
  {
    name: 'Oracle by RDMA',
    nodes: [
      ['4tjxbt4s6ua', '7xmzl4p4wba', 'af6ubvouuyq'],
      ['4tjxbt4s6ua', '7xmzl4p4wba', 'af6ubvouuyq'],
      ['lb2', '7xmzl4p4wba', 'af6ubvouuyq'],
      ['lb3', 'nb2', 'af6ubvouuyq'],
      ['lb4', 'nb3', 'hpc2'],
    ].map(([local = '', block = '', island = '']) => ({
      [`${OCI}/rdma.local_block_id`]: local,
      [`${OCI}/rdma.network_block_id`]: block,
      [`${OCI}/rdma.hpc_island_id`]: island,
    })),
    island: 'oci.oraclecloud.com/rdma.hpc_island_id=af6ubvouuyq',
  },
  {
    name: 'CoreWeave',
    nodes: [
      ['12', '1', 'f1'],
      ['12', '1', 'f1'],
      ['13', '1', 'f1'],
      ['14', '2', 'f1'],
      ['15', '3', 'f2'],
    ].map(([leafgroup = '', superpod = '', fabric = '']) => ({
      [`${CORE_WEAVE}/leafgroup`]: leafgroup,
      [`${CORE_WEAVE}/superpod`]: superpod,
      [`${CORE_WEAVE}/fabric`]: fabric,
    })),
    island: 'backend.coreweave.cloud/fabric=f1',
  },
  {
    name: 'Crusoe',
    nodes: [
      ['pod-1', 'p-1'],
      ['pod-1', 'p-1'],
      ['pod-2', 'p-1'],
      ['pod-3', 'p-2'],
    ].map(([pod = '', partition = '']) => ({ 'crusoe.ai/pod.id': pod, 'crusoe.ai/ib.partition.id': partition })),
    island: 'crusoe.ai/ib.partition.id=p-1',
  },
  {
    name: 'ours',
    nodes: [
      ['l1', 's1'],
      ['l1', 's1'],
      ['l2', 's1'],
      ['l3', 's2'],
    ].map(([leaf = '', spine = '']) => ({ 'fabric.coxswain.dev/tier-0': leaf, 'fabric.coxswain.dev/tier-1': spine })),
    island: 'unlabelled',
  },
];

describe('switches above nodes, as their producers write them', () => {
  it.each(DIALECTS)('$name: each further node is a tier farther', ({ nodes }) => {
    const [first, ...others] = fabricOf(...nodes);
    const last = others.pop();
    expect(others.map((other) => tiersApart(first, other))).toEqual(others.map((_, index) => index));
    expect(tiersApart(first, last)).toBeUndefined();
  });

  it.each(DIALECTS)('$name: what is below one root is an island', ({ nodes, island }) => {
    expect(fabricOf(...nodes)[0]?.island).toBe(island);
  });

  it('zone and region are beyond every switch', () => {
    const place = (zone: string, labels: Labels): Labels => ({
      ...labels,
      'topology.kubernetes.io/zone': zone,
      'topology.kubernetes.io/region': 'eu',
    });
    const [first, ...others] = fabricOf(
      place('a', topograph('l1', 's1')),
      place('a', topograph('l2', 's1')),
      place('a', topograph('l3', 's3')),
      place('b', topograph('l4', 's4')),
    );
    expect(others.map((other) => tiersApart(first, other))).toEqual([1, 2, 3]);
    expect(first?.island).toBe('unlabelled');
    expect(first?.switches).toEqual([
      'region=eu/zone=a/topograph:tier-1=s1/topograph:tier-0=l1',
      'region=eu/zone=a/topograph:tier-1=s1',
      'region=eu/zone=a',
      'region=eu',
    ]);
  });

  it('of nodes that say their zone alone, those of one zone are nearer', () => {
    const zone = 'topology.kubernetes.io/zone';
    const nodes = fabricOf({ [zone]: 'a' }, { [zone]: 'a' }, { [zone]: 'b' }, {});
    expect(nodes.map((node) => node.switches)).toEqual([
      ['zone=a/?node:n1', 'zone=a'],
      ['zone=a/?node:n2', 'zone=a'],
      ['zone=b/?node:n3', 'zone=b'],
      [],
    ]);
    expect(new Set(nodes.map((node) => node.island))).toEqual(new Set(['unlabelled']));
  });

  it.each<[string, Labels, Labels, number | undefined]>([
    ['a leaf below two spines is two leaves', topograph('l', 's1', 'c'), topograph('l', 's2', 'c'), 2],
    ['a circle of switches is none', topograph('a', 'b'), topograph('b', 'a'), undefined],
    ['a leaf that is its own spine is no other leaf', topograph('a', 'a'), topograph('b', 'a'), 1],
    ['a node without a leaf is near to nobody', { 'fabric.topograph.run/tier-1': 's' }, topograph('l', 's'), 1],
    [
      'leaves whose spine is not told share the core',
      { 'fabric.topograph.run/tier-0': 'l1', 'fabric.topograph.run/tier-2': 'c' },
      topograph('l2', 's', 'c'),
      2,
    ],
    ['a core that one of them does not tell is not shared', topograph('l', 's'), topograph('l', 's', 'c'), undefined],
    ['no two producers name the same switch', topograph('x'), { [`${NVIDIA}/leaf`]: 'x' }, undefined],
    [
      'nor do two keys of one producer',
      { [`${NVIDIA}/leaf`]: 'l', [`${NVIDIA}/core`]: 'x' },
      { [`${NVIDIA}/leaf`]: 'l', [`${NVIDIA}/datacenter`]: 'x' },
      undefined,
    ],
    [
      'a newer dialect is believed before an older one',
      { ...topograph('l'), [`${NVIDIA}/leaf`]: 'x' },
      topograph('l'),
      0,
    ],
    [
      'an administrator is believed before producers',
      { ...topograph('x'), 'fabric.coxswain.dev/tier-0': 'l' },
      { ...topograph('y'), 'fabric.coxswain.dev/tier-0': 'l' },
      0,
    ],
  ])('%s', (_sentence, one, other, want) => {
    const [first, second] = fabricOf(one, other);
    expect(tiersApart(first, second)).toBe(want);
  });

  it.each<[string, readonly Labels[], readonly (readonly string[])[]]>([
    [
      'a spine alone',
      [{ [`${NVIDIA}/spine`]: 's' }, { [`${NVIDIA}/spine`]: 's' }],
      [
        ['topograph-0:spine=s/?node:n1', 'topograph-0:spine=s'],
        ['topograph-0:spine=s/?node:n2', 'topograph-0:spine=s'],
      ],
    ],
    [
      'the third tier alone, beside nodes of another producer that tell two',
      [{ 'fabric.topograph.run/tier-2': 'c' }, { [`${NVIDIA}/leaf`]: 'l', [`${NVIDIA}/spine`]: 's' }],
      [
        ['topograph:tier-2=c/?node:n1/?node:n1', 'topograph:tier-2=c/?node:n1', 'topograph:tier-2=c'],
        ['topograph-0:spine=s/topograph-0:leaf=l', 'topograph-0:spine=s'],
      ],
    ],
    [
      "Oracle's local block, which is the leaf where no rack is told",
      [{ 'oci.oraclecloud.com/rdma.local_block_id': 'b' }],
      [['oci:rdma.local_block_id=b']],
    ],
    [
      "Oracle's network block alone",
      [{ 'oci.oraclecloud.com/rdma.network_block_id': 'b' }],
      [['oci:rdma.network_block_id=b/?node:n1', 'oci:rdma.network_block_id=b']],
    ],
  ])('%s says nothing of the leaf, which is then the own of each node', (_sentence, nodes, want) => {
    expect(fabricOf(...nodes).map(({ switches }) => switches)).toEqual(want);
  });

  it('between nodes whose spine alone is told, bytes cross leaves', () => {
    const nodes = fabricOf({ [`${NVIDIA}/spine`]: 's' }, { [`${NVIDIA}/spine`]: 's' });
    const layout = { tensorParallelDegree: 8, pipelineParallelDegree: 1, dataParallelDegree: 2 };
    const nodeOfRank = Array.from({ length: 16 }, (_, rank) => (rank < 8 ? 'n1' : 'n2'));
    const { nvlinkDomain, leaf, spine } = crossingBytes(assumedTraffic(layout), nodeOfRank, { nodes });
    expect([leaf > 0, leaf, spine]).toEqual([true, nvlinkDomain, 0]);
  });

  it('a node that tells less stands at the same tiers as the others', () => {
    const spineAlone = { 'fabric.topograph.run/tier-1': 's' };
    expect(fabricOf(topograph('l', 's'), spineAlone).map((node) => node.switches)).toEqual([
      ['topograph:tier-1=s/topograph:tier-0=l', 'topograph:tier-1=s'],
      ['topograph:tier-1=s/?node:n2', 'topograph:tier-1=s'],
    ]);
  });
});

describe('hostile labels', () => {
  const long = 'x'.repeat(10_000);

  it.each([
    ['10 kB', long],
    ['control characters', 'a\u0000\u001b[2Jb'],
    ['a slash, by which a switch could pretend to be below another', 'a/topograph:tier-0=b'],
    ['a colon', 'node:n2'],
    ['turned writing', '\u202eabc'],
  ])('a value with %s says nothing', (_sentence, value) => {
    const nodes = fabricOf(
      topograph(value, value, value),
      { 'nvidia.com/gpu.clique': value },
      { [NODE_LABELS.nicIsland]: value },
    );
    expect(nodes.map((node) => [node.nvlinkDomain, node.island, node.switches])).toEqual([
      ['node:n1', 'unlabelled', []],
      ['node:n2', 'unlabelled', []],
      ['node:n3', 'unlabelled', []],
    ]);
  });

  it('of 10,000 tiers the nearest are read', () => {
    const [node] = fabricOf(topograph(...Array.from({ length: 10_000 }, (_, tier) => `s${tier}`)));
    expect(node?.switches).toHaveLength(8);
    expect(Math.max(...(node?.switches ?? []).map((name) => name.length))).toBeLessThan(1_000);
  });

  it('a million labels cost no more than one look at each', () => {
    const labels = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, index) => [`example.com/l${index}`, 'v']));
    expect(fabricOf(labels)[0]).toMatchObject({ switches: [], island: 'unlabelled' });
  });

  it.each(['__proto__', 'constructor', 'toString'])('a switch called %s is a name like others', (value) => {
    expect(
      fabricOf(topograph(value.replaceAll('_', 'x')), topograph(value.replaceAll('_', 'x')))[0]?.switches,
    ).toHaveLength(1);
  });
});
