import { factsOfNode, usedGpusOf, useOfPod } from './kube-objects.ts';

const READY = [{ type: 'Ready', status: 'True' }];
const aNode = (parts: Readonly<Record<string, unknown>> = {}): object => ({
  kind: 'Node',
  metadata: { name: 'a', labels: { rack: '1' } },
  spec: {},
  status: { allocatable: { cpu: '8', 'nvidia.com/gpu': '8', 'rdma/ib': '4' }, conditions: READY },
  ...parts,
});
const taint = (key: string, effect: string): object => ({ key, effect });

describe('facts of a Node', () => {
  it('are its name, labels, GPUs, devices and whether it takes pods', () => {
    expect(factsOfNode(aNode())).toEqual({
      name: 'a',
      labels: { rack: '1' },
      gpuCapacity: 8,
      schedulable: true,
      devices: { 'rdma/ib': 4 },
      ready: true,
    });
  });

  it.each<readonly [sentence: string, parts: Readonly<Record<string, unknown>>, want: object]>([
    ['a cordon', { spec: { unschedulable: true } }, { schedulable: false, isCordoned: true }],
    [
      'a taint that repels',
      { spec: { taints: [taint('x', 'NoSchedule')] } },
      { schedulable: false, taints: [{ key: 'x', value: '', effect: 'NoSchedule' }] },
    ],
    ['the taint of GPU nodes', { spec: { taints: [taint('nvidia.com/gpu', 'NoSchedule')] } }, { schedulable: true }],
    ['a wish', { spec: { taints: [taint('x', 'PreferNoSchedule')] } }, { schedulable: true }],
    ['a kubelet that is silent', { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }, { ready: false }],
    ['labels that are no texts', { metadata: { name: 'a', labels: { one: 1, two: 'b' } } }, { labels: { two: 'b' } }],
    ['parts of another shape', { metadata: 7, spec: [], status: null }, { name: '', labels: {}, gpuCapacity: 0 }],
  ])('see %s', (_sentence, parts, want) => {
    expect(factsOfNode(aNode(parts))).toMatchObject(want);
  });

  it.each([undefined, null, 'text', [], 7])('throw at nothing: %p', (node) => {
    expect(factsOfNode(node).gpuCapacity).toBe(0);
    expect(useOfPod(node).gpus).toBe(0);
  });
});

const gpus = (count: unknown): object => ({ resources: { limits: { 'nvidia.com/gpu': count } } });
const aPod = (spec: object, phase = 'Running'): object => ({ spec: { nodeName: 'a', ...spec }, status: { phase } });

describe('what a Pod takes', () => {
  it.each<readonly [sentence: string, spec: object, want: number]>([
    ['the sum of its containers', { containers: [gpus('2'), gpus('1')] }, 3],
    ['the largest init container, where that is more', { containers: [gpus('1')], initContainers: [gpus('4')] }, 4],
    ['nothing without GPUs', { containers: [{}] }, 0],
    ['nothing where nobody can read it', { containers: 'many', initContainers: [null] }, 0],
  ])('is %s', (_sentence, spec, want) => {
    expect(useOfPod(aPod(spec)).gpus).toBe(want);
  });

  it('counts on its node until it is over', () => {
    const one = { containers: [gpus('2')] };
    const pods = [
      aPod(one),
      aPod(one),
      aPod(one, 'Succeeded'),
      aPod(one, 'Failed'),
      aPod({ ...one, nodeName: undefined }),
    ];
    expect([...usedGpusOf(pods)]).toEqual([['a', 4]]);
  });
});
