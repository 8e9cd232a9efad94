import fc from 'fast-check';
import { CALIBRATION } from '../calibration/fitted.ts';
import type { ClusterFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster } from '../testing/runs.ts';
import {
  COEFFICIENTS,
  TIME_CONSTANT_NAMES,
  TIME_CONSTANTS,
  type TimeConstantName,
  type TimeConstants,
} from './constants.ts';
import { allToAllS, collectiveS, collectivesS, ulyssesExchangeS, handOversS, handOverS, ringS } from './links.ts';
import { type Group } from './tiers.ts';

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

/** Pairs of cards with a bridge of 300 GB/s, 64 GB/s of PCIe beyond it. */
const BRIDGED = nodes(64, { gpu: { ...gpuOf('h100-pcie'), scaleUpGbPerS: 300, pcieGbPerS: 64 }, scaleUpDomainGpus: 2 });
const HOST_GB_PER_S = 64 / COEFFICIENTS.hostLinkSlowdown;

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
    ['latency for each of the 3 further nodes', { scaleOutLatencyS: 0.001 }, 3 / 4 / 50 + 3 * 0.001],
  ])('across nodes adds %s', (_sentence, constants, want) => {
    expect(collectiveS(nodes(64), { size: 4, stride: 8 }, GB, { ...NOMINAL, ...constants })).toBeCloseTo(want, 9);
  });
});

describe('1 GB of every rank at nominal rates', () => {
  it.each<[string, typeof ringS, ClusterFacts, Group, number]>([
    ['passes the 3 others of a ring over the links of a node', ringS, nodes(64), { size: 4, stride: 2 }, 3 / 400],
    ['passes 63 others, one NIC a node taking each step', ringS, nodes(64), { size: 64, stride: 1 }, 63 / 50],
    ['takes the NICs between islands where the ring crosses them', ringS, ISLANDS, { size: 32, stride: 1 }, 31 / 5],
    [
      'is dealt to the 3 others over the links of a node',
      ulyssesExchangeS,
      nodes(64),
      { size: 4, stride: 2 },
      3 / 4 / 400,
    ],
    ['leaves a node over the NIC of its rank', ulyssesExchangeS, nodes(64), { size: 16, stride: 1 }, 8 / 16 / 50],
    [
      'goes through the host where that is slower',
      ulyssesExchangeS,
      { ...BRIDGED, scaleOutGbPerS: 1000 },
      { size: 8, stride: 1 },
      6 / 8 / HOST_GB_PER_S,
    ],
  ])('%s', (...row) => {
    const [, secondsOf, cluster, group, want] = row;
    expect(secondsOf(cluster, group, GB, NOMINAL)).toBeCloseTo(want, 9);
  });

  it('is nothing for one rank alone', () => {
    expect(
      [ringS, ulyssesExchangeS].map((secondsOf) => secondsOf(nodes(8), { size: 1, stride: 1 }, GB, NOMINAL)),
    ).toEqual([0, 0]);
  });
});

describe('messages', () => {
  it('pass all nodes anew, each of them', () => {
    const slow = { ...NOMINAL, scaleOutLatencyS: 0.001 };
    const oneS = collectiveS(nodes(1024), { size: 128, stride: 8 }, GB, slow);
    expect(collectivesS(nodes(1024), { size: 128, stride: 8 }, { bytes: GB, messages: 5 }, slow) - oneS).toBeCloseTo(
      4 * 127 * 0.001,
      9,
    );
  });
});

describe('a node of several scale-up domains', () => {
  it.each<[string, number, number]>([
    [
      'moves a collective of a pair over its bridge',
      collectiveS(BRIDGED, { size: 2, stride: 1 }, GB, NOMINAL),
      1 / 2 / 300,
    ],
    [
      'moves one of the node through the host',
      collectiveS(BRIDGED, { size: 8, stride: 1 }, GB, NOMINAL),
      7 / 8 / HOST_GB_PER_S,
    ],
    [
      'enters and leaves with the NICs of all its members',
      collectiveS({ ...BRIDGED, scaleOutGbPerS: 1 }, { size: 16, stride: 1 }, GB, NOMINAL),
      15 / 16 / 8,
    ],
    [
      'deals tokens out through the host',
      allToAllS(BRIDGED, { size: 8, stride: 1 }, { inside: 0, across: GB }, NOMINAL),
      1 / HOST_GB_PER_S,
    ],
    [
      'hands activations on over bridges and through the host by turns',
      handOverS(BRIDGED, { size: 8, stride: 1 }, GB, NOMINAL),
      (4 / 300 + 3 / HOST_GB_PER_S) / 7,
    ],
  ])('%s', (_sentence, seconds, want) => {
    expect(seconds).toBeCloseTo(want, 9);
  });
});

describe('an all-to-all at nominal rates', () => {
  it.each<[string, Group, number, number]>([
    ['stays inside a node: what goes across is not asked', { size: 8, stride: 1 }, 2, 2 / 400],
    [
      'takes as long as the NIC of each rank, beside which the links inside are soon done',
      { size: 16, stride: 1 },
      2,
      3 / 50,
    ],
    ['takes as long as the links inside where these are the slower ones', { size: 16, stride: 1 }, 400, 1],
    ['has nowhere to go with one rank', { size: 1, stride: 1 }, 2, 0],
  ])('%s', (_sentence, group, inside, want) => {
    expect(allToAllS(nodes(64), group, { inside: inside * GB, across: 3 * GB }, NOMINAL)).toBeCloseTo(want, 5);
  });
});

describe('a network of one rate', () => {
  const rates = {
    constants: fc.record({
      scaleOutRoce: fc.double({ min: 0, max: 3, noNaN: true }),
      scaleOutEthernet: fc.double({ min: 0, max: 9, noNaN: true }),
      scaleOutEfa: fc.double({ min: 0, max: 3, noNaN: true }),
      scaleOutOmniPath: fc.double({ min: 0, max: 9, noNaN: true }),
    }),
  };

  it('is fastest as InfiniBand and slowest as TCP over Ethernet, whatever was fitted', () => {
    fc.assert(
      fc.property(rates.constants, (fitted) => {
        const secondsOn = (nicKind: ClusterFacts['nicKind']): number =>
          collectiveS(nodes(64, { nicKind }), { size: 8, stride: 8 }, GB, { ...START, ...fitted });
        expect(secondsOn('roce')).toBeGreaterThanOrEqual(secondsOn('infiniband'));
        expect(secondsOn('ethernet')).toBeGreaterThanOrEqual(secondsOn('roce'));
        expect(secondsOn('efa')).toBeGreaterThanOrEqual(secondsOn('infiniband'));
        expect(secondsOn('omnipath')).toBeGreaterThanOrEqual(secondsOn('infiniband'));
        expect(secondsOn('other')).toBeGreaterThanOrEqual(secondsOn('infiniband'));
      }),
    );
  });

  // What was measured: NCCL over sockets 2.4 of 4 GB/s (nccl#209) and 4 to 6 of 12.5 (nccl#450), four p4d.24xlarge 29.6 of 50 GB/s (nccl#527), Jean Zay's
  // Omni-Path 40.5 and 135 of 400 Gb/s (bigscience, ml-engineering).
  it.each([
    ['omnipath', 0.1, 0.34],
    ['ethernet', 0.32, 0.75],
    ['efa', 0.5, 0.85],
    ['roce', 0.7, 1],
  ] as const)('of four nodes carries as %s a share of %d to %d of its rate, as fitted', (nicKind, least, most) => {
    const group = { size: 32, stride: 1 };
    const bytes = 1 * GB;
    const cluster = nodes(32, { nicKind, scaleOutGbPerS: 1 });
    const idealS = (bytes * 31) / 32 / (8 * GB);
    const share = idealS / collectiveS(cluster, group, bytes, CALIBRATION.shared);
    expect(share).toBeGreaterThan(least);
    expect(share).toBeLessThan(most);
  });
});

describe('handing 1 GB to the next stage, averaged over the boundaries', () => {
  it.each<[string, ClusterFacts, Group, number]>([
    ['inside a node takes its links', nodes(8), { size: 4, stride: 2 }, 1 / 400],
    ['across nodes takes a NIC', nodes(64), { size: 4, stride: 8 }, 1 / 50],
    ['of 4 stages on 2 nodes crosses once', nodes(16), { size: 4, stride: 4 }, (2 / 400 + 1 / 50) / 3],
  ])('%s', (_sentence, cluster, group, want) => {
    expect(handOverS(cluster, group, GB, NOMINAL)).toBeCloseTo(want, 9);
  });

  it('takes no time without a next stage, and the fixed time of a hop with one', () => {
    const hop = { ...NOMINAL, pipelineHopS: 0.5 };
    expect(handOverS(nodes(8), { size: 1, stride: 1 }, GB, hop)).toBe(0);
    expect(handOverS(nodes(8), { size: 2, stride: 1 }, GB, hop)).toBeCloseTo(0.5 + 1 / 400, 9);
  });
});

describe('hand-overs of 1 GB from each rank to the next, over islands', () => {
  /** Four stages of a node each. */
  const STAGES = { size: 4, stride: 8 };
  const unequal = { ...ISLANDS, islands: [island(16, 50), island(16, 20)] };
  it.each<[string, ClusterFacts, readonly (readonly number[])[], readonly number[]]>([
    [
      'take what lies between islands at their border alone',
      ISLANDS,
      [[0], [0], [1], [1]],
      [1 / 50, 1 / 5, 1 / 50, 1 / 5],
    ],
    ['take the network of their own island', unequal, [[0], [0], [1], [1]], [1 / 50, 1 / 5, 1 / 20, 1 / 5]],
    [
      'are as slow as the slower island at a border that is fast',
      { ...unequal, betweenIslandsGbPerS: 100 },
      [[0], [0], [1], [1]],
      [1 / 50, 1 / 20, 1 / 20, 1 / 20],
    ],
    [
      'wait for those ranks of a stage in two islands that cross',
      unequal,
      [[0], [0, 1], [1], [1]],
      [1 / 5, 1 / 5, 1 / 20, 1 / 5],
    ],
  ])('%s', (_sentence, cluster, islandsOfRanks, want) => {
    const seconds = handOversS(cluster, { group: STAGES, islandsOfRanks }, GB, NOMINAL);
    expect(seconds.map((one) => one.toFixed(9))).toEqual(want.map((one) => one.toFixed(9)));
  });

  it('stay in an island, the slower one for which the others wait, where stages of a replica lie side by side', () => {
    const beside = { ...unequal, islands: [island(16, 50), island(16, 20)] };
    const everywhere = [0, 1].map(() => [0, 1]);
    expect(
      handOversS(beside, { group: { size: 2, stride: 8 }, islandsOfRanks: everywhere }, GB, NOMINAL)[0],
    ).toBeCloseTo(1 / 20, 9);
  });

  it('are those of one network where both islands are alike and nothing slower lies between', () => {
    const alike = { ...ISLANDS, betweenIslandsGbPerS: 50 };
    const group = { size: 8, stride: 4 };
    const islandsOfRanks = [0, 0, 0, 0, 1, 1, 1, 1].map((one) => [one]);
    const seconds = handOversS(alike, { group, islandsOfRanks }, GB, NOMINAL);
    const meanS = seconds.slice(0, -1).reduce((sum, one) => sum + one, 0) / 7;
    expect(meanS).toBeCloseTo(handOverS(nodes(32), group, GB, NOMINAL), 9);
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
