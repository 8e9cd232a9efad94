import type { SilentRanks, StackGroup } from '@coxswain/api-types';
import { mostAndOdd, oddRanks, stackEvidence } from './odd-stacks.ts';

const group = (ranks: string, rankCount: number, ...frames: string[]): StackGroup => ({
  thread: 'MainThread',
  isMain: true,
  frames,
  ranks,
  rankCount,
});
const WAITS = group('0-4,6-7', 7, 'all_reduce (c10d.py:9)', 'step (train.py:4)');
const LOADS = group('5', 1, 'next_batch (data.py:3)', 'step (train.py:2)');
const LOADER: StackGroup = { ...group('0-7', 8, 'get (queue.py:1)'), thread: 'loader', isMain: false };

describe('most and odd', () => {
  it.each<[string, readonly StackGroup[], string | undefined, readonly string[]]>([
    ['are told apart by first threads alone', [WAITS, LOADS, LOADER], '0-4,6-7', ['5']],
    ['are all odd where none has more than half', [group('0', 1, 'a'), group('1', 1, 'b')], undefined, ['0', '1']],
    ['have nobody odd where all are in the middle of the same', [group('0-1', 2, 'a')], '0-1', []],
    ['are nothing where nobody answered', [LOADER], undefined, []],
  ])('%s', (_sentence, groups, most, odd) => {
    const found = mostAndOdd(groups);
    expect([found.most?.ranks, found.odd.map(({ ranks }) => ranks)]).toEqual([most, odd]);
  });
});

describe('the ranks whose stacks differ', () => {
  it.each<[string, readonly StackGroup[], readonly number[], string]>([
    [
      'are named with what they and most ranks do',
      [WAITS, LOADS, LOADER],
      [5],
      'Rank 5 stands out, in next_batch (data.py:3) < step (train.py:2). 7 ranks are in all_reduce (c10d.py:9) < step (train.py:4).',
    ],
    [
      'are shown by their three innermost frames',
      [WAITS, group('5', 1, 'a', 'b', 'c', 'd')],
      [5],
      'Rank 5 stands out, in a < b < c. 7 ranks are in all_reduce (c10d.py:9) < step (train.py:4).',
    ],
    ['are none where all do the same', [WAITS], [], ''],
    ['are none where no stack is that of most', [group('0', 1, 'a'), group('1', 1, 'b')], [], ''],
    ['are none where many do something else, as a stage of a pipeline', [WAITS, group('8-12', 5, 'recv')], [], ''],
  ])('%s', (_sentence, groups, ranks, why) => {
    expect(oddRanks(groups) ?? { ranks: [], why: '' }).toEqual({ ranks, why });
  });
});

describe('evidence of an incident', () => {
  const stopped: SilentRanks = { ranks: '5', why: 'stopped', node: 'gpu-b' };
  it.each<[string, readonly StackGroup[], readonly SilentRanks[], readonly number[], Readonly<Record<string, string>>]>(
    [
      [
        'is what the named rank is in the middle of, then most, innermost first',
        [WAITS, LOADS, LOADER],
        [],
        [5],
        {
          'stack of rank 5': 'next_batch (data.py:3) < step (train.py:2)',
          'stack of ranks 0-4,6-7': 'all_reduce (c10d.py:9) < step (train.py:4)',
        },
      ],
      [
        'says why there is none of the named rank',
        [WAITS],
        [stopped],
        [5],
        {
          'stack of rank 5': 'none: its process is stopped by a signal (state T)',
          'stack of ranks 0-4,6-7': 'all_reduce (c10d.py:9) < step (train.py:4)',
        },
      ],
      [
        'leaves out others that do not answer',
        [WAITS],
        [stopped],
        [1],
        { 'stack of ranks 0-4,6-7': 'all_reduce (c10d.py:9) < step (train.py:4)' },
      ],
      [
        'is four at most: who is named, and then the rarest',
        [group('0-5', 6, 'most'), group('6-7', 2, 'two'), group('8', 1, 'a'), group('9', 1, 'b'), group('10', 1, 'c')],
        [],
        [6],
        { 'stack of ranks 6-7': 'two', 'stack of rank 10': 'c', 'stack of rank 9': 'b', 'stack of ranks 0-5': 'most' },
      ],
      ['is nothing where nobody answered', [], [], [5], {}],
    ],
  )('%s', (...[, groups, silent, ranks, want]) => {
    const evidence = stackEvidence({ groups, silent }, ranks);
    expect(evidence).toEqual(want);
    expect(Object.keys(evidence)).toEqual(Object.keys(want));
  });
});
