import { NODE_LABELS } from '@coxswain/api-types';
import { fabricFromNodes, type NodeFacts } from '../index.ts';
import type { Taint } from './fabric.ts';

const aTaint = (key: string): Taint => ({ key, value: '', effect: 'NoSchedule' });

function aNode(overrides: Partial<NodeFacts> = {}): NodeFacts {
  return { name: 'n1', labels: {}, gpuCapacity: 8, schedulable: true, ready: true, ...overrides };
}

describe('the fabric that labels describe', () => {
  it.each([
    {
      name: 'our own label',
      labels: { [NODE_LABELS.nvlinkDomain]: 'rack-1', 'nvidia.com/gpu.clique': 'u.1' },
      want: 'rack-1',
    },
    {
      name: 'the device plugin',
      labels: { 'nvidia.com/gpu.clique': 'u.1', 'ds.coreweave.com/nvlink.domain': 'x' },
      want: 'nvidia.com/gpu.clique=u.1',
    },
    {
      name: 'topograph',
      labels: { 'accelerator.topograph.run/domain': 'd' },
      want: 'accelerator.topograph.run/domain=d',
    },
    { name: 'nobody', labels: {}, want: 'node:n1' },
    { name: 'an empty label', labels: { [NODE_LABELS.nvlinkDomain]: '' }, want: 'node:n1' },
  ])('an NVLink domain named by $name is $want', ({ labels, want }) => {
    expect(fabricFromNodes([aNode({ labels })]).nodes[0]?.nvlinkDomain).toBe(want);
  });

  it.each([
    { name: 'our own label', labels: { [NODE_LABELS.nicIsland]: 'ib-1' }, want: 'ib-1' },
    {
      name: 'a cloud',
      labels: { 'backend.coreweave.cloud/fabric': 'f-1' },
      want: 'backend.coreweave.cloud/fabric=f-1',
    },
    { name: 'nobody', labels: {}, want: 'unlabelled' },
  ])('an island named by $name is $want', ({ labels, want }) => {
    expect(fabricFromNodes([aNode({ labels })]).nodes[0]?.island).toBe(want);
  });

  it.each([
    ['our own label', { [NODE_LABELS.gpuType]: 'h100', 'nvidia.com/gpu.product': 'NVIDIA-H200' }, 'h100'],
    ['GPU feature discovery', { 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' }, 'NVIDIA-H100-80GB-HBM3'],
    ['nobody', {}, undefined],
  ] as const)('a GPU type named by %s is read', (_producer, labels, want) => {
    expect(fabricFromNodes([aNode({ labels })]).nodes[0]?.gpuType).toBe(want);
  });

  it('never takes the names of two producers for the same domain', () => {
    const nodes = [
      aNode({ labels: { 'nvidia.com/gpu.clique': 'a' } }),
      aNode({ name: 'n2', labels: { 'ds.coreweave.com/nvlink.domain': 'a' } }),
    ];
    expect(new Set(fabricFromNodes(nodes).nodes.map((node) => node.nvlinkDomain)).size).toBe(2);
  });

  it.each([
    { name: 'ready and schedulable', facts: {}, want: undefined },
    { name: 'not ready', facts: { ready: false, schedulable: false, isCordoned: true }, want: 'notReady' },
    { name: 'tainted', facts: { schedulable: false, taints: [aTaint('gone/bad')] }, want: 'tainted' },
    {
      name: 'cordoned, which is a taint as well',
      facts: { schedulable: false, isCordoned: true, taints: [aTaint('node.kubernetes.io/unschedulable')] },
      want: 'cordoned',
    },
    {
      name: 'cordoned, and has a taint of another',
      facts: { schedulable: false, isCordoned: true, taints: [aTaint('gone/bad')] },
      want: 'cordonedAndTainted',
    },
  ] as const)('a node that is $name: $want', ({ facts, want }) => {
    const [node] = fabricFromNodes([aNode(facts)]).nodes;
    expect([node?.usable, node?.whyUnusable]).toEqual([want === undefined, want]);
  });

  it('leaves out nodes without GPUs and sorts the others by name', () => {
    const nodes = [
      aNode({ name: 'b' }),
      aNode({ name: 'cpu', gpuCapacity: 0 }),
      aNode({ name: 'a' }),
      aNode({ name: 'bad', gpuCapacity: Number.NaN }),
    ];
    expect(fabricFromNodes(nodes).nodes.map((node) => node.name)).toEqual(['a', 'b']);
  });

  it('reads NIC type and speed, and passes over a speed that is no number', () => {
    const labels = { [NODE_LABELS.nicType]: 'roce', [NODE_LABELS.nicSpeedGbps]: '400' };
    expect(fabricFromNodes([aNode({ labels })]).nodes[0]).toMatchObject({ nicType: 'roce', nicSpeedGbps: 400 });
    const nonsense = { [NODE_LABELS.nicSpeedGbps]: 'fast' };
    expect(fabricFromNodes([aNode({ labels: nonsense })]).nodes[0]).not.toHaveProperty('nicSpeedGbps');
  });
});
