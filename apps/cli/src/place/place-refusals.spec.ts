import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runOffline, type OfflineOutcome } from '../testing/run-offline.ts';

/** 16 nodes of 8 GPUs. */
const NODES = resolve(import.meta.dirname, '../../../../examples/clusters/h100-nodes.json');

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-place-refusals-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function aFile(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

function place(layout: object, ...argv: readonly string[]): Promise<OfflineOutcome> {
  return runOffline({}, 'place', '--layout', aFile('layout.json', layout), ...argv);
}

describe('a gang that does not fit', () => {
  it.each<[string, object, readonly string[], RegExp]>([
    [
      'the option by which fewer GPUs of each node were asked for',
      { tensorParallelDegree: 8, dataParallelDegree: 16 },
      ['--gpus-per-node', '16'],
      /--gpus-per-node 16 exceeds every node; .*Set --gpus-per-node to at most 8\.$/,
    ],
    [
      'that whole nodes would do',
      { tensorParallelDegree: 8, dataParallelDegree: 16 },
      ['--gpus-per-node', '3'],
      /Lower layout\.tensorParallelDegree to at most 3, or leave out --gpus-per-node\.$/,
    ],
    [
      'at once how many GPUs there are, where it has far more ranks',
      { tensorParallelDegree: 8, dataParallelDegree: 8192 },
      ['--model', 'llama-3.1-70b', '--global-batch', '8192', '--seq', '8192'],
      /^tp8 x dp8192 on 65,536 GPUs waits: Needs 65536 GPUs; the cluster has 128 in all\./,
    ],
    [
      'what fits a cluster that is too small',
      { tensorParallelDegree: 8, dataParallelDegree: 64 },
      [],
      /Needs 512 GPUs; the cluster has 128 in all\. It would start now if you lower layout\.dataParallelDegree from 64 to 15\.$/,
    ],
  ])('is told %s', async (_sentence, layout, argv, want) => {
    const { out, code } = await place(layout, '--nodes', NODES, ...argv);
    expect(out).toMatch(want);
    expect(code).toBe(4);
  });
});

it('is told as JSON with its degrees, however many ranks it has', async () => {
  const pp = 65_536;
  for (const [layout, degrees, gpus] of [
    [{ tensorParallelDegree: 8, dataParallelDegree: 8192 }, 'tp8 x dp8192', 65_536],
    [{ tensorParallelDegree: 8, dataParallelDegree: 2, pipelineParallelDegree: pp }, 'tp8 x dp2 x pp65536', 16 * pp],
  ] as const) {
    const { out, code } = await place(layout, '--nodes', NODES, '--json');
    expect(JSON.parse(out)).toMatchObject({ placed: false, layout: degrees, gpus });
    expect((JSON.parse(out) as { readonly refusal: unknown }).refusal).toEqual({
      kind: gpus === 65_536 ? 'waiting' : 'unsatisfiable',
      message: expect.stringContaining(gpus === 65_536 ? 'has 128 in all' : `divides by ${degrees}:`) as string,
    });
    expect(code).toBe(4);
  }
});

it('is told of sockets once, where islands bind', async () => {
  const file = aFile('islands.json', {
    kind: 'List',
    items: ['infiniband', 'infiniband', 'roce', 'roce'].map((nic, at) => ({
      kind: 'Node',
      metadata: {
        name: `n${at}`,
        labels: { 'fabric.coxswain.dev/nic-island': nic, 'fabric.coxswain.dev/nic-type': nic },
      },
      status: { allocatable: { 'nvidia.com/gpu': '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
    })),
  });
  for (const across of ['never', 'pipeline']) {
    const layout = { tensorParallelDegree: 8, pipelineParallelDegree: 4, dataParallelDegree: 1 };
    const { out, code } = await place(layout, '--nodes', file, '--across-islands', across);
    expect(out.match(/--across-islands any|or any at the speed of TCP/g)).toHaveLength(1);
    expect(code).toBe(4);
  }
});

describe('a layout of more ranks than can be planned for', () => {
  it.each<[sentence: string, layout: object, want: RegExp]>([
    [
      'is told the largest data parallel degree',
      { tensorParallelDegree: 8, pipelineParallelDegree: 2, dataParallelDegree: 65_536 },
      /layout\.json divides by tp8 x dp65536 x pp2: .* 1048576 GPUs; at most 65536 .* largest dataParallelDegree is 4096\.$/,
    ],
    [
      'or that another one is too large',
      { tensorParallelDegree: 65_536, pipelineParallelDegree: 65_536, dataParallelDegree: 65_536 },
      /tp65536 x dp65536 x pp65536: .* make 4294967296 already; make one of them smaller\.$/,
    ],
  ])('%s, and no nodes are read', async (_sentence, layout, want) => {
    const { err, code } = await place(layout, '--nodes', join(directory, 'none.json'));
    expect(err).toMatch(want);
    expect(code).toBe(4);
  });
});
