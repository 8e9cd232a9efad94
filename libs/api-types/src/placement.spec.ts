import {
  gpusOfPod,
  memberCount,
  PlacementSpec,
  ranksOfPod,
  ranksProblem,
  seatedPlacement,
  seatOf,
} from './placement.ts';
import { formatRanks, parseRanks } from './rank-ranges.ts';

const layout = { tensorParallelDegree: 8, pipelineParallelDegree: 1, dataParallelDegree: 2_048 };
const ABOUT = {
  jobName: 'a-job-of-some-forty-characters-in-its-name',
  jobUid: '00000000-0000-4000-8000-000000000001',
  epoch: 12,
};
const node = (index: number): string =>
  `gpu-rack-${String(index >> 4).padStart(3, '0')}-node-${String(index & 15).padStart(2, '0')}`;

describe('ranks as text', () => {
  it.each<[string, readonly number[], string]>([
    ['consecutive ones are a range', [0, 1, 2, 3], '0-3'],
    ['others are several', [0, 1, 8, 9, 15], '0-1,8-9,15'],
    ['one is itself', [7], '7'],
    ['none is nothing, of a spare', [], ''],
  ])('%s', (_sentence, ranks, text) => {
    expect(formatRanks(ranks)).toBe(text);
    expect(parseRanks(text, 16)).toEqual(ranks);
  });

  it.each(['x', '1-', '-1', '1,,2', '1-2-3', ' 1'])('%j says none', (text) => {
    expect(parseRanks(text, 16)).toEqual([]);
  });

  it('a range of nonsense length is read no further than asked', () => {
    expect(parseRanks('0-99999', 17)).toHaveLength(17);
  });
});

describe('the ranks of a placement', () => {
  const placed = (ranks: readonly string[], worldSize: number) => ({
    nodes: ranks.map((_text, index) => node(index)),
    ranks: [...ranks],
    worldSize,
  });

  it.each([
    ['in order', ['0-3', '4-7'], 8],
    ['in any order, uneven, and with a spare', ['4-7,0', '', '1-3'], 8],
  ])('may be %s', (_sentence, ranks, worldSize) => {
    expect(ranksProblem(placed(ranks, worldSize))).toBeUndefined();
  });

  it.each<[string, readonly string[], number, RegExp]>([
    ['in two places', ['0-3', '3-6'], 7, /^rank 3 is in ranks\[0\] and in ranks\[1\]/],
    ['twice in one', ['0-1,1'], 2, /^rank 1 is in ranks\[0\] and in ranks\[0\]/],
    ['without a place', ['0-2', '4-7'], 8, /^rank 3 has no place/],
    ['beyond the last', ['0-4'], 4, /^ranks\[0\] has rank 4; there are 4, from 0 to 3/],
    ['more than a pod holds', ['0-16'], 17, /^ranks\[0\] has more than 16 ranks/],
    ['that cannot be read', ['0-', '1'], 2, /^rank 0 has no place/],
  ])('are refused %s', (_sentence, ranks, worldSize, want) => {
    expect(ranksProblem(placed(ranks, worldSize))).toMatch(want);
  });

  it('are refused without one entry per node', () => {
    expect(ranksProblem({ ...placed(['0-1'], 2), nodes: ['a', 'b'] })).toMatch(/^ranks has 1 entries for 2 nodes/);
  });

  it('of an earlier release are those that follow each other', () => {
    const earlier = { nodes: ['a', 'b'], ranksPerPod: 4, worldSize: 6 };
    expect([0, 1].map((podIndex) => ranksOfPod(earlier, podIndex))).toEqual([
      [0, 1, 2, 3],
      [4, 5],
    ]);
    expect(ranksProblem(earlier)).toBeUndefined();
  });

  it('of 16,384 on 2,048 nodes take less than 80 kB with their nodes', () => {
    const nodes = Array.from({ length: 2_048 }, (_, index) => node(index));
    const ranks = nodes.map((_node, index) => `${index * 8}-${index * 8 + 7}`);
    const spec = PlacementSpec.parse({ ...ABOUT, layout, worldSize: 16_384, ranksPerPod: 8, nodes, ranks });
    expect(ranksProblem(spec)).toBeUndefined();
    expect(JSON.stringify(spec).length).toBeLessThan(80_000);
  });
});

describe('a placement with standbys', () => {
  const placement = PlacementSpec.parse({
    jobName: 'a',
    jobUid: 'b',
    epoch: 1,
    layout: { dataParallelDegree: 5 },
    worldSize: 5,
    ranksPerPod: 2,
    nodes: ['a', 'b', 'c', 'd', 'e'],
    ranks: ['0-1', '2-3', '4', '', ''],
  });
  const first = { podIndex: 1, standby: 3, incarnation: 2 };
  const second = { podIndex: 3, standby: 4, incarnation: 3 };

  it('is sound, and has as many members as pods with ranks', () => {
    expect([ranksProblem(placement), memberCount(placement)]).toEqual([undefined, 3]);
  });

  it('requests for each standby what a full pod requests', () => {
    expect(placement.nodes.map((_node, podIndex) => gpusOfPod(placement, podIndex))).toEqual([2, 2, 1, 2, 2]);
  });

  it.each([
    ['nobody', [], ['0-1', '2-3', '4', '', '']],
    ['one pod', [first], ['0-1', '', '4', '2-3', '']],
    ['a pod and its standby', [first, second], ['0-1', '', '4', '', '2-3']],
  ])('gives the ranks of %s to standbys, and every rank has one place', (_who, replacements, ranks) => {
    const seated = seatedPlacement(placement, { replacements });
    expect(seated.ranks).toEqual(ranks);
    expect([ranksProblem(seated), memberCount(seated), seated.nodes]).toEqual([undefined, 3, placement.nodes]);
  });

  it('gives a standby the position of the pod whose ranks it holds', () => {
    const replacements = [first, second];
    expect([0, 2, 4].map((podIndex) => seatOf(podIndex, { replacements }))).toEqual([0, 2, 1]);
  });
});
