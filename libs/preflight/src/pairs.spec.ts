import fc from 'fast-check';
import {
  confirmingRounds,
  distinctRounds,
  firstPeersOf,
  pairsOfRound,
  roundCount,
  type MeasuredPair,
} from './pairs.ts';

const podCounts = fc.integer({ min: 2, max: 60 });

describe('pairs of a round', () => {
  it('hold nobody twice, and leave out one pod at most', () => {
    fc.assert(
      fc.property(podCounts, fc.nat(100), (podCount, round) => {
        const pods = pairsOfRound(podCount, round).flat();
        expect(new Set(pods).size).toBe(pods.length);
        expect(pods.length).toBe(podCount - (podCount % 2));
        expect(pods.every((pod) => pod >= 0 && pod < podCount)).toBe(true);
      }),
    );
  });

  it('are every pair exactly once over all distinct rounds', () => {
    fc.assert(
      fc.property(podCounts, (podCount) => {
        const rounds = Array.from({ length: distinctRounds(podCount) }, (_, round) => pairsOfRound(podCount, round));
        const pairs = rounds.flat().map((pair) => pair.join());
        expect(new Set(pairs).size).toBe(pairs.length);
        expect(pairs.length).toBe((podCount * (podCount - 1)) / 2);
      }),
    );
  });

  it('are agreed on by both pods of each', () => {
    fc.assert(
      fc.property(podCounts, (podCount) => {
        const peers = Array.from({ length: podCount }, (_, pod) => firstPeersOf(pod, podCount));
        for (const [pod, own] of peers.entries()) {
          expect(own).toHaveLength(roundCount(podCount));
          for (const [round, peer] of own.entries()) if (peer !== null) expect(peers[peer]?.[round]).toBe(pod);
        }
      }),
    );
  });

  it('are none where a pod is alone', () => {
    expect(firstPeersOf(0, 1)).toEqual([]);
  });
});

const fast = 1e9;
const pair = (low: number, high: number, bytesPerSecond = fast): MeasuredPair => ({
  pair: [low, high],
  bytesPerSecond,
});

describe('suspects', () => {
  it('meet good pods that they have not met, two after the other', () => {
    const measured = [pair(0, 1, 1e7), pair(2, 3), pair(0, 2, 1e7), pair(1, 3), pair(4, 5)];
    expect(confirmingRounds(6, measured)).toEqual([[[0, 3]], [[0, 4]]]);
  });

  it('share no good pod within a round', () => {
    const measured = [pair(0, 1, 1e7), pair(2, 3), pair(4, 5)];
    expect(confirmingRounds(6, measured)).toEqual([
      [
        [0, 2],
        [1, 3],
      ],
      [
        [0, 3],
        [1, 2],
      ],
    ]);
  });

  it.each<[string, readonly MeasuredPair[]]>([
    ['nobody is slow', [pair(0, 1), pair(2, 3, 0.6e9)]],
    ['most are as slow', [pair(0, 1, 2), pair(2, 3, 2), pair(4, 5, 3)]],
    ['nothing comes through anywhere', [pair(0, 1, 0), pair(2, 3, 0), pair(4, 5, 0)]],
    ['nothing was measured', []],
  ])('are none where %s', (_sentence, measured) => {
    expect(confirmingRounds(6, measured)).toEqual([]);
  });
});
