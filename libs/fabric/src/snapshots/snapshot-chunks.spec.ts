import fc from 'fast-check';
import { columnsOf, nodesOf, recordedNode, type RecordedNode } from './node-columns.ts';
import { snapshotChunks } from './snapshot-chunks.ts';
import { aFabricNode } from '../testing/index.ts';

const GB200 = { gpuType: 'NVIDIA-GB200', nicType: 'infiniband', nicSpeedGbps: 400, nicCount: 4 };
const READ_FROM = { switches: 'fabric.topograph.run/tier-0', gpuType: 'nvidia.com/gpu.product' };

function aNode(index: number, leaf = Math.floor(index / 16)): RecordedNode {
  const spine = `topograph:tier-1=spine-${Math.floor(leaf / 16)}`;
  const switches = [`${spine}/tier-0=leaf-${leaf}`, spine];
  const name = `gpu-${String(index).padStart(5, '0')}.example.com`;
  return recordedNode(aFabricNode({ name, switches, ...GB200, readFrom: READ_FROM }));
}

const CLUSTER = Array.from({ length: 10_000 }, (_, index) => aNode(index));
const textsOf = (nodes: readonly RecordedNode[]): readonly string[] =>
  snapshotChunks(nodes).map((chunk) => JSON.stringify(columnsOf(chunk)));
const newBytes = (before: readonly RecordedNode[], after: readonly RecordedNode[]): number => {
  const there = new Set(textsOf(before));
  return textsOf(after)
    .filter((text) => !there.has(text))
    .reduce((sum, text) => sum + text.length, 0);
};

describe('chunks of a fabric', () => {
  it('hold every node once, in order, and give back what was put in', () => {
    const name = fc.string({ minLength: 1, maxLength: 12 });
    const nodes = fc.array(fc.record({ name, gpus: fc.nat(16), island: fc.constantFrom('ib', 'roce') }));
    fc.assert(
      fc.property(nodes, (given) => {
        const recorded = given.map((node) => recordedNode(aFabricNode(node)));
        const chunks = snapshotChunks(recorded);
        expect(chunks.every((chunk) => chunk.length > 0)).toBe(true);
        expect(chunks.flatMap((chunk) => nodesOf(columnsOf(chunk)))).toEqual(recorded);
      }),
    );
  });

  it('are some dozens, whatever the names', () => {
    const sizes = snapshotChunks(CLUSTER).map((chunk) => chunk.length);
    expect(sizes.length).toBeGreaterThan(50);
    expect(sizes.length).toBeLessThan(130);
    const alike = snapshotChunks(Array.from({ length: 2_000 }, () => aNode(1)));
    expect(Math.max(...alike.map((chunk) => chunk.length))).toBeLessThanOrEqual(512);
  });

  it.each<[string, readonly RecordedNode[], number]>([
    ['nothing, when nothing changes', [...CLUSTER], 0],
    [
      'a chunk, when one node changes',
      CLUSTER.map((node, index) => (index === 5_000 ? aNode(5_000, 7) : node)),
      30_000,
    ],
    ['a chunk or two, when one node goes', CLUSTER.filter((_, index) => index !== 2), 30_000],
    [
      'some chunks, when a rack of 16 changes its switch',
      CLUSTER.map((node, index) => (index >> 4 === 9 ? aNode(index, 700) : node)),
      30_000,
    ],
  ])('of 10,000 nodes cost %s', (_what, after, mostBytes) => {
    expect(newBytes(CLUSTER, after)).toBeLessThanOrEqual(mostBytes);
  });

  it('of 10,000 nodes are less than a megabyte in all', () => {
    expect(newBytes([], CLUSTER)).toBeLessThan(750_000);
  });
});
