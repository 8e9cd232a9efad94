import type { NodeFacts } from './fabric.ts';
import { factsOfNode } from './kube-objects.ts';
import { uncountedNodes, uncountedPods } from './uncounted.ts';

const GPU = 'nvidia.com/gpu';
const aNode = (name: string, gpus: unknown): NodeFacts =>
  factsOfNode({ metadata: { name }, status: { allocatable: { [GPU]: gpus } } });
const aPod = (name: string, gpus: unknown, parts: object = {}): object => ({
  metadata: { namespace: 'team', name },
  spec: { nodeName: 'a', containers: [{ resources: { requests: { [GPU]: gpus } } }] },
  status: { phase: 'Running' },
  ...parts,
});

describe('GPUs of a node', () => {
  it.each<[unknown, string]>([
    ['8.5', '"8.5"'],
    ['NaN', '"NaN"'],
    ['-1', '"-1"'],
    [-1, '-1'],
    ['1e6', '"1e6"'],
    [1e6, '1000000'],
    ['500m', '"500m"'],
    ['', '""'],
    [{ many: true }, '{"many":true}'],
    ['\u001b[2J', '"\\u001b[2J"'],
    ['\u009b2J\u202e', '"?2J?"'],
  ])('are told where they are %j, and count as none', (uncounted, shown) => {
    const node = aNode('a', uncounted);
    expect(node.gpuCapacity).toBe(0);
    expect(uncountedNodes([node]).map(({ message }) => message)).toEqual([
      expect.stringContaining(
        `status.allocatable["${GPU}"] of a is ${shown}, which is no whole number from 0 to 1,024`,
      ),
    ]);
  });

  it.each<[unknown, number]>([
    ['8', 8],
    ['8000m', 8],
    ['1k', 1_000],
    [8, 8],
    ['0', 0],
    [undefined, 0],
    [null, 0],
  ])('are counted without a word where they are %j', (uncounted, gpus) => {
    const node = aNode('a', uncounted);
    expect(node.gpuCapacity).toBe(gpus);
    expect(uncountedNodes([node])).toEqual([]);
  });

  it('are told in few bytes, whatever the file holds', () => {
    const nodes = Array.from({ length: 10_000 }, (_, at) => aNode(`${at}`.padEnd(10_000, 'x'), `${at}.5`));
    const problems = uncountedNodes(nodes);
    expect(problems).toHaveLength(8);
    expect(problems.at(-1)?.message).toMatch(/9,992 other such values of nodes beside\.$/);
    expect(JSON.stringify(problems).length).toBeLessThan(20_000);
    const [pods] = uncountedPods([aPod('p'.repeat(10_000), 'x'.repeat(10_000), {})]);
    expect(JSON.stringify(pods).length).toBeLessThan(1_000);
  });

  it('are those of the last of its name', () => {
    expect(uncountedNodes([aNode('a', 'NaN'), aNode('a', '8')]).map(({ kind }) => kind)).toEqual(['NamedTwice']);
  });
});

describe('GPUs that pods take', () => {
  it('are told once, with how many pods there are like it', () => {
    expect(uncountedPods([aPod('p', '8'), aPod('q', '1.5'), aPod('r', 'NaN')])).toEqual([
      {
        kind: 'GpusNotCounted',
        nodes: ['a'],
        message: expect.stringContaining(
          'of pod team/q (and so of 1 other pod) ask for "1.5" of nvidia.com/gpu',
        ) as string,
      },
    ]);
  });

  it.each<[string, object]>([
    ['has ended', aPod('p', 'NaN', { status: { phase: 'Failed' } })],
    ['is on no node', aPod('p', 'NaN', { spec: {} })],
    ['asks for none', aPod('p', undefined)],
  ])('are of no matter where the pod %s', (_sentence, pod) => {
    expect(uncountedPods([pod])).toEqual([]);
  });
});
