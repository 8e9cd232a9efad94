import { StarterFailure } from './starter-failure.ts';
import type { RankExit } from '../ending/verdict.ts';

const BEGIN =
  'E1123 18:00:01.000000 77 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 88) of binary: python3';

function row(index: number, rank: number, exitcode: number, more: { readonly second?: number } = {}): string {
  const time = `2026-11-23_18:00:0${more.second ?? 1}`;
  return `[${index}]:\n  time      : ${time}\n  host      : node-a\n  rank      : ${rank} (local_rank: ${rank % 4})\n  exitcode  : ${exitcode} (pid: ${100 + rank})\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID ${100 + rank}`;
}

function table(root: string, ...others: readonly string[]): string {
  const border = '='.repeat(60);
  const section = '-'.repeat(60);
  return [
    'Traceback (most recent call last):',
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
    border,
    'train.py FAILED',
    section,
    'Failures:',
    ...(others.length === 0 ? ['  <NO_OTHER_FAILURES>'] : others),
    section,
    'Root Cause (first observed failure):',
    root,
    border,
  ].join('\n');
}

function read(text: string): StarterFailure {
  const failure = new StarterFailure();
  for (const line of text.split('\n')) failure.push(Buffer.from(line));
  return failure;
}

const KILLED: RankExit = { kind: 'signal', signal: 'SIGKILL' };
const code = (value: number): RankExit => ({ kind: 'code', code: value });

describe('what torchrun says of ranks that failed', () => {
  it.each<[string, string, readonly number[], readonly [number, RankExit] | undefined]>([
    ['names one that was killed', `${BEGIN}\n${table(row(0, 1, -9))}`, [], [1, KILLED]],
    ['names one that exited', `${BEGIN}\n${table(row(0, 7, 93))}`, [], [7, code(93)]],
    ['names a signal that has no name as a shell would', `${BEGIN}\n${table(row(0, 1, -64))}`, [], [1, code(192)]],
    [
      'is read through colours',
      `\u001b[31m${BEGIN}\u001b[0m\n${table(row(0, 1, -9)).replaceAll('  rank ', '\u001b[1m  rank ')}`,
      [],
      [1, KILLED],
    ],
    [
      'names the one that a signal ended, of two in a second',
      `${BEGIN}\n${table(row(0, 0, 1), row(1, 2, -9))}`,
      [],
      [2, KILLED],
    ],
    [
      'names the one that fell silent first',
      `${BEGIN}\n${table(row(0, 0, 1), row(1, 2, -6), row(2, 3, 1))}`,
      [3, 0, 2],
      [3, code(1)],
    ],
    [
      'names none that failed a second later',
      `${BEGIN}\n${table(row(0, 0, 1), row(1, 2, -9, { second: 2 }))}`,
      [2, 0],
      [0, code(1)],
    ],
    [
      'names none that was ended because of it',
      `${BEGIN}\n${table(row(1, 2, 1), row(0, 0, -15))}`,
      [0, 2],
      [2, code(1)],
    ],
    [
      'names none that was alive when it began to end the others, however it ended in the same second',
      `W1 api.py:1] Sending process 100 closing signal SIGTERM\n${BEGIN}\n${table(row(0, 1, 3), row(1, 0, -9))}`,
      [0, 1],
      [1, code(3)],
    ],
    [
      'names one that SIGTERM ended, where there is no other',
      `${BEGIN}\n${table(row(0, 0, -15))}`,
      [],
      [0, { kind: 'signal', signal: 'SIGTERM' }],
    ],
    ['is nothing where there is no table', BEGIN, [], undefined],
    ['is nothing where a rank wrote of exit codes', table(row(0, 1, -9)), [], undefined],
    [
      'is nothing where the table is cut off',
      `${BEGIN}\n${table(row(0, 1, -9)).split('  exitcode')[0] ?? ''}`,
      [],
      undefined,
    ],
    [
      'is nothing where the row of the root cannot be read',
      `${BEGIN}\n${table(row(0, 1, -9).replace('-9 (pid', 'nine (pid'))}`,
      [],
      undefined,
    ],
  ])('%s', (_sentence, text, silent, want) => {
    const first = read(text).first(silent);
    expect(first === undefined ? undefined : [first.rank, first.exit]).toEqual(want);
  });

  it('is told from what its ranks wrote', () => {
    expect(read('  exitcode  : 1 (pid: 3)\nSending process of the year').isReporting).toBe(false);
    expect(read('W1 api.py:869] Sending process 4711 closing signal SIGTERM').isReporting).toBe(true);
  });
});

describe('ranks that had ended before torchrun began to end the others', () => {
  const PIDS = new Map([
    [0, 100],
    [1, 101],
    [2, 102],
  ]);
  const closing = (pid: number): string =>
    `W1123 18:00:01.000000 77 torch/distributed/elastic/multiprocessing/api.py:900] Sending process ${pid} closing signal SIGTERM`;
  it.each<[string, string, readonly number[]]>([
    ['are those that it neither ends nor names', `${closing(102)}\n${BEGIN}\n${table(row(0, 1, 1))}`, [0]],
    ['are none where it ends all others', `${closing(100)}\n${closing(102)}\n${BEGIN}\n${table(row(0, 1, 1))}`, []],
    ['are none where all failed', `${BEGIN}\n${table(row(0, 0, 1), row(1, 1, 1), row(2, 2, 1))}`, []],
    ['are unknown while it has named no failure', `${closing(102)}\n${BEGIN}`, []],
  ])('%s', (_sentence, text, want) => {
    expect(read(text).endedBefore(PIDS)).toEqual(want);
  });
});
