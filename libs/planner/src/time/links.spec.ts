import fc from 'fast-check';
import type { ClusterFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster } from '../testing/runs.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from './constants.ts';
import { allToAllS, collectiveS, crossesIslands, handOverS, membersPerDomain, type Group } from './links.ts';

const START = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;
/** No link is slower than its nominal rate, and messages start at once. */
const NOMINAL: TimeConstants = {
  ...START,
  scaleUpSlowdown: 1,
  scaleOutSlowdown: 1,
  scaleOutPerDoubling: 0,
  dispatchSlowdown: 1,
  dispatchAcross: 1,
  collectiveLatencyS: 0,
  scaleOutLatencyS: 0,
  pipelineHopS: 0,
};
const GB = 1e9;

/** Nodes of 8 with 400 GB/s inside and 50 GB/s per NIC. */
const nodes = (gpus: number, overrides: Partial<ClusterFacts> = {}): ClusterFacts =>
  aCluster(gpus, { gpu: { ...gpuOf('h100'), scaleUpGbPerS: 400 }, ...overrides });
const island = (gpus: number, scaleOutGbPerS = 50) =>
  ({ gpus, scaleOutGbPerS, nicKind: 'infiniband', relativeSpeed: 1 }) as const;
/** Two islands of two nodes, 5 GB/s between them. */
const ISLANDS = nodes(32, { islands: [island(16), island(16)], betweenIslandsGbPerS: 5 });

describe('members of a group in one scale-up domain', () => {
  it.each<[string, Group, number]>([
    ['all of a group of neighbours that fits', { size: 4, stride: 1 }, 4],
    ['as many as the domain has GPUs', { size: 32, stride: 1 }, 8],
    ['every second GPU', { size: 32, stride: 2 }, 4],
    ['two where strides leave room for them', { size: 4, stride: 4 }, 2],
    ['one where the next member is on the next node', { size: 4, stride: 8 }, 1],
    ['one where it is further away', { size: 2, stride: 64 }, 1],
  ])('are %s', (_sentence, group, want) => {
    expect(membersPerDomain(nodes(64), group)).toBe(want);
  });
});

describe('a collective of 1 GB at nominal rates', () => {
  it.each<[string, ClusterFacts, Group, number]>([
    ['moves (n-1)/n over the links of a node', nodes(64), { size: 4, stride: 2 }, 3 / 4 / 400],
    ['moves it over one NIC per node where each node has one member', nodes(64), { size: 4, stride: 8 }, 3 / 4 / 50],
    ['uses the NICs of two members per node', nodes(64), { size: 8, stride: 4 }, 7 / 8 / (2 * 50)],
    [
      'is never faster than the links inside: 8 NICs of 100',
      nodes(64, { scaleOutGbPerS: 100 }),
      { size: 64, stride: 1 },
      63 / 64 / 400,
    ],
    ['takes the NICs between islands where it crosses them', ISLANDS, { size: 4, stride: 8 }, 3 / 4 / 5],
    ['takes those of an island where it stays inside', ISLANDS, { size: 2, stride: 8 }, 1 / 2 / 50],
    [
      'takes those of the slowest island, which has such a group as well',
      { ...ISLANDS, islands: [island(16), island(16, 20)] },
      { size: 2, stride: 8 },
      1 / 2 / 20,
    ],
  ])('%s', (_sentence, cluster, group, want) => {
    expect(collectiveS(cluster, group, GB, NOMINAL)).toBeCloseTo(want, 9);
  });

  it.each<[string, Partial<TimeConstants>, number]>([
    ['its slowdown', { scaleOutSlowdown: 1.5 }, (1.5 * 3) / 4 / 50],
    ['6 % for each doubling of 4 nodes', { scaleOutPerDoubling: 0.06 }, (1.12 * 3) / 4 / 50],
    ['latency for each doubling of 4 ranks', { scaleOutLatencyS: 0.001 }, 3 / 4 / 50 + 2 * 0.001],
  ])('across nodes adds %s', (_sentence, constants, want) => {
    expect(collectiveS(nodes(64), { size: 4, stride: 8 }, GB, { ...NOMINAL, ...constants })).toBeCloseTo(want, 9);
  });
});

describe('an all-to-all at nominal rates', () => {
  it.each<[string, Group, number]>([
    ['stays inside a node: what goes across is not asked', { size: 8, stride: 1 }, 2 / 400],
    ['crosses nodes by the NIC of each rank', { size: 16, stride: 1 }, 2 / 400 + 3 / 50],
    ['has nowhere to go with one rank', { size: 1, stride: 1 }, 0],
  ])('%s', (_sentence, group, want) => {
    expect(allToAllS(nodes(64), group, { inside: 2 * GB, across: 3 * GB }, NOMINAL)).toBeCloseTo(want, 9);
  });
});

describe('handing 1 GB to the next stage, averaged over the boundaries', () => {
  it.each<[string, ClusterFacts, Group, number]>([
    ['inside a node takes its links', nodes(8), { size: 4, stride: 2 }, 1 / 400],
    ['across nodes takes a NIC', nodes(64), { size: 4, stride: 8 }, 1 / 50],
    ['of 4 stages on 2 nodes crosses once', nodes(16), { size: 4, stride: 4 }, (2 / 400 + 1 / 50) / 3],
    ['of 4 nodes on 2 islands crosses their border once', ISLANDS, { size: 4, stride: 8 }, (2 / 50 + 1 / 5) / 3],
  ])('%s', (_sentence, cluster, group, want) => {
    expect(handOverS(cluster, group, GB, NOMINAL)).toBeCloseTo(want, 9);
  });

  it('takes no time without a next stage, and the fixed time of a hop with one', () => {
    const hop = { ...NOMINAL, pipelineHopS: 0.5 };
    expect(handOverS(nodes(8), { size: 1, stride: 1 }, GB, hop)).toBe(0);
    expect(handOverS(nodes(8), { size: 2, stride: 1 }, GB, hop)).toBeCloseTo(0.5 + 1 / 400, 9);
  });
});

describe('crossing islands', () => {
  it.each<[string, readonly number[], Group, boolean]>([
    ['a group as large as both does', [16, 16], { size: 4, stride: 8 }, true],
    ['groups that tile each island do not', [16, 16], { size: 2, stride: 8 }, false],
    ['one of the groups does where an island is no multiple of them', [12, 20], { size: 8, stride: 1 }, true],
    ['the end of the last island is no border', [32], { size: 5, stride: 1 }, false],
  ])('%s', (_sentence, sizes, group, want) => {
    const gpus = sizes.reduce((sum, size) => sum + size, 0);
    expect(crossesIslands(nodes(gpus, { islands: sizes.map((size) => island(size)) }), group)).toBe(want);
  });

  it('is told by where the ranks of some group are, one by one', () => {
    const exponent = fc.integer({ min: 0, max: 3 });
    fc.assert(
      fc.property(exponent, exponent, fc.integer({ min: 1, max: 63 }), (sizeLog, strideLog, first) => {
        const group = { size: 2 ** sizeLog, stride: 2 ** strideLog };
        const starts = Array.from({ length: 64 }, (_, rank) => rank).filter(
          (rank) => Math.floor(rank / group.stride) % group.size === 0,
        );
        const islandsOf = (start: number): Set<boolean> =>
          new Set(Array.from({ length: group.size }, (_, member) => start + member * group.stride >= first));
        const cluster = nodes(64, { islands: [island(first), island(64 - first)] });
        const isSplit = starts.some((start) => islandsOf(start).size === 2);
        // Asked of blocks of whole groups: a border inside a block is taken as crossed where groups are not neighbours.
        if (isSplit) expect(crossesIslands(cluster, group)).toBe(true);
        if (group.stride === 1) expect(crossesIslands(cluster, group)).toBe(isSplit);
      }),
    );
  });
});

describe('the time of traffic', () => {
  const groups = fc.record({
    size: fc.constantFrom(1, 2, 4, 8, 16, 32),
    stride: fc.constantFrom(1, 2, 4, 8, 16),
  });
  const rate = fc.double({ min: 1, max: 900, noNaN: true });
  const times = fc.double({ min: 1, max: 8, noNaN: true });
  const kinds = fc.constantFrom('collective' as const, 'all-to-all' as const, 'hand-over' as const);
  const secondsOf = (kind: 'collective' | 'all-to-all' | 'hand-over', cluster: ClusterFacts, group: Group): number => {
    if (kind === 'collective') return collectiveS(cluster, group, GB, START);
    if (kind === 'hand-over') return handOverS(cluster, group, GB, START);
    return allToAllS(cluster, group, { inside: GB, across: GB }, START);
  };

  it('never grows with the rate of any link', () => {
    const rates = fc.record({ up: rate, out: rate, between: rate });
    const which = fc.constantFrom('up' as const, 'out' as const, 'between' as const);
    const clusterOf = ({ up, out, between }: { up: number; out: number; between: number }): ClusterFacts => ({
      ...nodes(512, { gpu: { ...gpuOf('h100'), scaleUpGbPerS: up } }),
      islands: [island(256, out), island(256, out)],
      betweenIslandsGbPerS: between,
    });
    fc.assert(
      fc.property(fc.tuple(kinds, groups), rates, fc.tuple(which, times), ([kind, group], before, [faster, more]) => {
        const after = { ...before, [faster]: before[faster] * more };
        const beforeS = secondsOf(kind, clusterOf(before), group);
        expect(secondsOf(kind, clusterOf(after), group)).toBeLessThanOrEqual(beforeS * (1 + 1e-12));
      }),
    );
  });

  it('never shrinks as members move apart, where the links inside a node are the faster ones', () => {
    fc.assert(
      fc.property(kinds, groups, (kind, group) => {
        const apart = { ...group, stride: 2 * group.stride };
        const cluster = nodes(1024);
        expect(secondsOf(kind, cluster, apart)).toBeGreaterThanOrEqual(secondsOf(kind, cluster, group) * (1 - 1e-12));
      }),
    );
  });

  it('never shrinks with more bytes', () => {
    fc.assert(
      fc.property(groups, fc.double({ min: 1, max: GB, noNaN: true }), times, (group, bytes, more) => {
        const seconds = (of: number): number => collectiveS(nodes(512), group, of, START);
        expect(seconds(bytes * more)).toBeGreaterThanOrEqual(seconds(bytes) * (1 - 1e-12));
      }),
    );
  });
});
