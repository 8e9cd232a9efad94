import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runOffline, type OfflineOutcome } from '../testing/run-offline.ts';

const CLUSTERS = resolve(import.meta.dirname, '../../../../examples/clusters');
const H100 = ['--nodes', join(CLUSTERS, 'h100-nodes.json'), '--busy', join(CLUSTERS, 'h100-pods.json')];

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-fabric-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const fabric = (...argv: readonly string[]): Promise<OfflineOutcome> => runOffline({}, 'fabric', ...argv);

describe('fabric show', () => {
  it('says what is below each leaf, and what of it is free', async () => {
    const { out, code } = await fabric('show', ...H100);
    expect(code).toBe(0);
    expect(out).toMatch(/^16 nodes with 128 GPUs, 110 free; 1 island, 0 NVLink domains of several nodes\n/);
    expect(out).toMatch(
      /\nib-core-0 +ib-spine-1 +ib-leaf-10 +4 +32 +22 +NVIDIA-H100-80GB-HBM3 +infiniband 400 Gb\/s\n/,
    );
    expect(out).toMatch(/\nib-core-0 +ib-spine-0 +ib-leaf-01 +4 +32 +24 /);
  });

  it('says where each fact was read, devices of ResourceSlices among them', async () => {
    expect((await fabric('show', ...H100)).out).toMatch(
      /\nFACT +READ FROM +NODES\nisland +network\.topology\.nvidia\.com\/core +16\n/,
    );
    const path = join(directory, 'slices.json');
    const attributes = { 'dra.net/rdma': { bool: true }, 'dra.net/encapsulation': { string: 'infiniband' } };
    const devices = [{ name: 'ib0', attributes }];
    const spec = { driver: 'dra.net', nodeName: 'bare', pool: { name: 'bare', generation: 1 }, devices };
    writeFileSync(path, JSON.stringify({ kind: 'ResourceSlice', metadata: { name: 'bare' }, spec }));
    const bare = { kind: 'Node', metadata: { name: 'bare' }, status: { allocatable: { 'nvidia.com/gpu': '1' } } };
    const nodes = join(directory, 'bare.json');
    writeFileSync(nodes, JSON.stringify(bare));
    expect((await fabric('show', '--nodes', nodes, '--slices', path)).out).toMatch(
      /\nnicType +dra\.net\/encapsulation +1\n/,
    );
    expect((await fabric('show', '--nodes', nodes)).out).toContain('No label or device describes the fabric');
  });

  it('counts NVLink domains of several nodes', async () => {
    const { out } = await fabric('show', '--nodes', join(CLUSTERS, 'gb200-nodes.json'));
    expect(out).toContain('36 nodes with 144 GPUs, 140 free; 1 island, 2 NVLink domains of several nodes');
  });

  it('counts one of each as one, and shows no switch that no label names', async () => {
    const path = join(directory, 'one.json');
    const labels = { 'nvidia.com/gpu.clique': 'c.1', 'fabric.topograph.run/tier-1': 's1' };
    const node = {
      kind: 'Node',
      metadata: { name: 'a', labels },
      status: { allocatable: { 'nvidia.com/gpu': '1' }, conditions: [{ type: 'Ready', status: 'True' }] },
    };
    writeFileSync(path, JSON.stringify(node));
    const { out } = await fabric('show', '--nodes', path);
    expect(out).toMatch(/^1 node with 1 GPU, 1 free; 1 island, 0 NVLink domains of several nodes\n/);
    const other = { ...node, metadata: { name: 'b', labels } };
    const leaf = { ...node, metadata: { name: 'c', labels: { 'fabric.topograph.run/tier-0': 'l1' } } };
    writeFileSync(path, JSON.stringify({ kind: 'List', items: [node, other, leaf] }));
    expect((await fabric('show', '--nodes', path)).out).toMatch(/\nunlabelled +- +l1 +1 .*\nunlabelled +s1 +- +2 /);
  });

  it('tells of GPUs that count for nothing, and so does place', async () => {
    const node = (name: string, gpus: unknown): object => ({
      kind: 'Node',
      metadata: { name },
      status: { allocatable: { 'nvidia.com/gpu': gpus }, conditions: [{ type: 'Ready', status: 'True' }] },
    });
    const files = ['nodes', 'pods', 'layout'].map((name) => join(directory, `uncounted-${name}.json`));
    const [nodes = '', pods = '', layout = ''] = files;
    const items = [node('a', '8'), node('b', '8.5'), node('c', '1M'), node('a', '8000m')];
    writeFileSync(nodes, JSON.stringify({ kind: 'List', items }));
    const spec = { nodeName: 'a', containers: [{ resources: { limits: { 'nvidia.com/gpu': 'NaN' } } }] };
    const pod = { kind: 'Pod', metadata: { namespace: 'n', name: 'p' }, spec, status: { phase: 'Running' } };
    writeFileSync(pods, JSON.stringify(pod));
    writeFileSync(layout, JSON.stringify({ tensorParallelDegree: 8, dataParallelDegree: 1 }));
    const cluster = ['--nodes', nodes, '--busy', pods];
    const shown = await fabric('show', ...cluster);
    const placed = await runOffline({}, 'place', ...cluster, '--layout', layout);
    expect([shown.code, placed.code]).toEqual([0, 0]);
    for (const { out } of [shown, placed]) {
      expect(out).toMatch(/^! resources of a container of pod n\/p ask for "NaN" of nvidia\.com\/gpu/m);
      expect(out).toMatch(/^! status\.allocatable\["nvidia\.com\/gpu"\] of b is "8\.5"/m);
      expect(out).toMatch(/^! status\.allocatable\["nvidia\.com\/gpu"\] of c is "1M"/m);
      expect(out).toMatch(/^! metadata\.name of more than one node is a:/m);
    }
    const { problems } = JSON.parse((await runOffline({}, 'place', ...cluster, '--layout', layout, '--json')).out) as {
      readonly problems: readonly { readonly kind: string }[];
    };
    expect(problems.map(({ kind }) => kind).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 'GpusNotCounted'),
      'NamedTwice',
    ]);
    writeFileSync(nodes, JSON.stringify(node('b', '8.5')));
    expect((await fabric('show', '--nodes', nodes)).err).toContain('of b is "8.5", which is no whole number');
  });

  it('prints every node, and what it was read from, as JSON', async () => {
    const { out } = await fabric('show', ...H100, '--json');
    const { nodes, summary } = JSON.parse(out) as {
      nodes: readonly { name: string; usedGpus: number }[];
      summary: object;
    };
    expect(nodes.find(({ name }) => name === 'gpu-c3')).toMatchObject({ gpus: 8, usedGpus: 2, usable: true });
    expect(summary).toMatchObject({ nodes: 16, gpus: 128, switches: [4, 2, 1] });
  });

  it('says why nodes that do not say on which network they are count as apart, and says nothing where none or all do not', async () => {
    const path = join(directory, 'some.json');
    const show = async (...labels: readonly object[]): Promise<string> => {
      const items = labels.map((labelsOfNode, at) => ({
        kind: 'Node',
        metadata: { name: `n${at}`, labels: labelsOfNode },
        status: { allocatable: { 'nvidia.com/gpu': '8' }, conditions: [{ type: 'Ready', status: 'True' }] },
      }));
      writeFileSync(path, JSON.stringify({ kind: 'List', items }));
      return (await fabric('show', '--nodes', path)).out;
    };
    const core = { 'network.topology.nvidia.com/core': 'c0' };
    expect(await show(core, {}, {})).toMatch(
      /\nNo label of 2 of 3 nodes says on which network they are, so they count as apart .* island network\.topology\.nvidia\.com\/core=c0\. Where they do, give them the label network\.topology\.nvidia\.com\/core=c0 too, or all nodes one fabric\.coxswain\.dev\/nic-island\.$/,
    );
    const infiniband = { ...core, 'fabric.coxswain.dev/nic-type': 'infiniband' };
    const roce = { ...core, 'fabric.coxswain.dev/nic-type': 'roce' };
    expect(await show(infiniband, infiniband, roce, {})).toMatch(
      /\nNo label of 1 of 4 nodes .* give them the labels network\.topology\.nvidia\.com\/core=c0 and fabric\.coxswain\.dev\/nic-type=infiniband too, or all nodes one fabric\.coxswain\.dev\/nic-island\.$/,
    );
    expect(await show(infiniband, infiniband, roce, infiniband)).not.toContain('No label of');
    expect(await show(core, core)).not.toContain('No label of');
    expect(await show({}, {})).not.toContain('No label of');
  });

  it('tells what labels contradict', async () => {
    const path = join(directory, 'split.json');
    const node = (name: string, island: string): object => ({
      kind: 'Node',
      metadata: { name, labels: { 'nvidia.com/gpu.clique': 'c.1', 'fabric.coxswain.dev/nic-island': island } },
      status: { allocatable: { 'nvidia.com/gpu': '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
    });
    writeFileSync(path, JSON.stringify({ kind: 'List', items: [node('a', 'one'), node('b', 'two')] }));
    expect((await fabric('show', '--nodes', path)).out).toMatch(/\n! .*c\.1/);
  });
});

describe('fabric draw', () => {
  it('prints a picture, or writes it', async () => {
    const { out } = await fabric('draw', ...H100);
    expect(out).toMatch(/^<svg .*<\/svg>$/s);
    const path = join(directory, 'fabric.svg');
    expect(await fabric('draw', ...H100, '--out', path)).toEqual({ code: 0, out: '', err: '' });
    expect(readFileSync(path, 'utf8').trimEnd()).toBe(out);
    expect((await fabric('draw', ...H100, '--out', '-')).out).toBe(out);
    expect(existsSync('-')).toBe(false);
  });

  it('says where it cannot write', async () => {
    const { err, code } = await fabric('draw', ...H100, '--out', join(directory, 'no/where.svg'));
    expect(err).toMatch(/^Cannot write .*where\.svg: there is no such file/);
    expect(code).toBe(1);
  });
});
