import type { ThreadStack } from '@coxswain/api-types';
import { type StackBounds, StackGathering } from './gather-stacks.ts';

const WIDE: StackBounds = { firstThreads: 8, otherThreads: 8, characters: 100_000 };
const PLENTY = 100_000;

const main = (...frames: string[]): ThreadStack => ({ thread: 'MainThread', isMain: true, frames });
const other = (thread: string, ...frames: string[]): ThreadStack => ({ thread, isMain: false, frames });

/** What is gathered of these. */
function gathered(
  reportedStacks: readonly (readonly [readonly number[], ThreadStack])[],
  { bounds = WIDE, characters = PLENTY }: { readonly bounds?: StackBounds; readonly characters?: number } = {},
): ReturnType<StackGathering['result']> {
  const gathering = new StackGathering(bounds);
  for (const [ranks, stack] of reportedStacks) gathering.add(ranks, stack);
  return gathering.result(characters);
}

const inShort = ({ groups }: ReturnType<StackGathering['result']>): readonly string[] =>
  groups.map(({ ranks, rankCount, thread, frames }) => `${ranks} (${rankCount}) ${thread}: ${frames.join(' < ')}`);

describe('equal stacks', () => {
  it.each<[string, readonly (readonly [readonly number[], ThreadStack])[], readonly string[]]>([
    [
      'are said once with their ranks, those of most ranks first',
      [
        [[3], main('next_batch (data.py:3)')],
        [[0, 1], main('all_reduce (c10d.py:9)')],
        [[8], main('all_reduce (c10d.py:9)')],
      ],
      ['0-1,8 (3) MainThread: all_reduce (c10d.py:9)', '3 (1) MainThread: next_batch (data.py:3)'],
    ],
    [
      'differ where one is at another line',
      [
        [[1], main('step (train.py:8)')],
        [[0], main('step (train.py:9)')],
      ],
      ['0 (1) MainThread: step (train.py:9)', '1 (1) MainThread: step (train.py:8)'],
    ],
    [
      'of other threads come after all first threads, however many they are',
      [
        [[0, 1, 2], other('loader', 'get (queue.py:1)')],
        [[0], main('step (train.py:8)')],
      ],
      ['0 (1) MainThread: step (train.py:8)', '0-2 (3) loader: get (queue.py:1)'],
    ],
    [
      'of several threads of one rank count it once',
      [
        [[5], other('worker', 'get (queue.py:1)')],
        [[5], other('worker', 'get (queue.py:1)')],
        [[6, 6], other('worker', 'get (queue.py:1)')],
      ],
      ['5-6 (2) worker: get (queue.py:1)'],
    ],
    [
      'are made safe and of one line, whatever the program called its functions',
      [
        [[0], main('\u001b[2Jrm\r\n-rf\u2028/ (a\tb.py:1)', '\ud800 (\u202ec.py:2)')],
        [[1], other('x\ny'.repeat(60), 'f'.repeat(500))],
      ],
      [
        '0 (1) MainThread: rm -rf / (a b.py:1) < \ufffd (\ufffdc.py:2)',
        `1 (1) ${'x y'.repeat(60).slice(0, 63)}…: ${'f'.repeat(255)}…`,
      ],
    ],
  ])('%s', (_sentence, reportedStacks, want) => {
    expect(inShort(gathered(reportedStacks))).toEqual(want);
  });

  it('are cut where a rank tells more functions than it may', () => {
    const [group] = gathered([[[0], main(...Array.from({ length: 70 }, (_, depth) => `f${depth}`))]]).groups;
    expect([group?.frames.length, group?.frames[0], group?.isCut]).toEqual([64, 'f0', true]);
  });
});

describe('what there is no room for', () => {
  const each = [0, 1, 2, 3].map((rank): [number[], ThreadStack] => [[rank], main(`step (train.py:${rank})`)]);

  it('is left out by number, of first threads and others by themselves, and its ranks are told', () => {
    const reportedStacks = gathered([...each, [[7], other('loader', 'get (queue.py:1)')]], {
      bounds: { firstThreads: 3, otherThreads: 1, characters: 100_000 },
    });
    expect([reportedStacks.groups.length, reportedStacks.leftOut]).toEqual([4, '3']);
  });

  it('is left out by length, ranks included, what is rarest first', () => {
    const reportedStacks = gathered([[[9, 10], main('step (train.py:9)')], ...each], { characters: 60 });
    expect([inShort(reportedStacks), reportedStacks.leftOut]).toEqual([
      ['9-10 (2) MainThread: step (train.py:9)', '0 (1) MainThread: step (train.py:0)'],
      '1-3',
    ]);
  });

  it('is told together with what others left out before', () => {
    const gathering = new StackGathering(WIDE);
    gathering.leaveOut([4, 2]);
    gathering.add([1], main('a'));
    expect([gathering.result(0).leftOut, gathering.result(PLENTY).leftOut]).toEqual(['1-2,4', '2,4']);
  });
});

it('a stack that no rank says is none, and what would be too much together is left out', () => {
  const gathering = new StackGathering({ ...WIDE, characters: 150 });
  gathering.add([], main('nobody'));
  gathering.addSilent([], 'stopped');
  gathering.add([1], main('a'));
  gathering.add([2], main('b'.repeat(100)));
  gathering.add([3], main('a'));
  const { groups, silent, leftOut } = gathering.result(PLENTY);
  expect(groups.map(({ ranks }) => ranks)).toEqual(['1,3']);
  expect([silent, leftOut]).toEqual([[], '2']);
});

describe('ranks of which there is no stack', () => {
  it('are told together where they are on more than eight nodes, whatever the others say', () => {
    const gathering = new StackGathering(WIDE);
    for (let pod = 0; pod < 2_048; pod += 1)
      gathering.addSilent([2 * pod, 2 * pod + 1], 'launcherSilent', `gpu-${pod}`);
    gathering.addSilent([9_000], 'stopped', 'gpu-x');
    expect(gathering.result(PLENTY).silent).toEqual([
      { why: 'launcherSilent', ranks: '0-4095' },
      { why: 'stopped', ranks: '9000', node: 'gpu-x' },
    ]);
  });

  it('are told by why and node, the first rank first', () => {
    const gathering = new StackGathering(WIDE);
    gathering.addSilent([5], 'noHook', 'gpu-a');
    gathering.addSilent([4], 'noHook', 'gpu-a');
    gathering.addSilent([1], 'stopped', 'gpu-b');
    gathering.addSilent([2], 'noHook');
    expect(gathering.result(PLENTY).silent).toEqual([
      { why: 'stopped', node: 'gpu-b', ranks: '1' },
      { why: 'noHook', ranks: '2' },
      { why: 'noHook', node: 'gpu-a', ranks: '4-5' },
    ]);
  });
});

it('a job of 16,384 ranks that are all in the middle of something else, with 300 threads each, stays within its bounds', () => {
  const gathering = new StackGathering({ firstThreads: 512, otherThreads: 256, characters: 2_097_152 });
  for (let rank = 0; rank < 16_384; rank += 1) {
    gathering.add([rank], main(`step (train.py:${rank})`, 'x'.repeat(250)));
    if (rank % 64 === 0)
      for (let thread = 0; thread < 300; thread += 1) gathering.add([rank], other(`t${thread}`, 'y'.repeat(250)));
  }
  const reportedStacks = gathering.result(1_048_576);
  expect(reportedStacks.groups.length).toBe(768);
  expect(JSON.stringify(reportedStacks).length).toBeLessThan(1_400_000);
  expect(reportedStacks.leftOut.split(',').length).toBeLessThan(600);
});
