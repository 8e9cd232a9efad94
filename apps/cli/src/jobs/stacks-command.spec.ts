import type { JobStacks, StackGroup } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { type Outcome, runCommand } from '../testing/run-command.ts';

const JOBS = 'GET /v1/projects/research/jobs';
const STACKS = `POST /v1/projects/research/jobs/${aJob().id}/stacks`;

const group = (ranks: string, rankCount: number, frames: string[], more: Partial<StackGroup> = {}): StackGroup => ({
  thread: 'MainThread',
  isMain: true,
  ranks,
  rankCount,
  frames,
  ...more,
});

const TAKEN: JobStacks = {
  takenAt: '2026-01-09T12:00:00.000Z',
  epoch: 2,
  rankCount: 8,
  groups: [
    group('0-4', 5, ['all_reduce (torch/distributed/distributed_c10d.py:2911)', 'step (train.py:40)']),
    group('6', 1, ['next_batch (data.py:31)', 'step (train.py:12)'], { isCut: true }),
    group('0-6', 7, ['get (queue.py:171)'], { thread: 'loader', isMain: false }),
  ],
  silent: [{ ranks: '7', why: 'stopped', node: 'gpu-b' }],
  leftOut: '5',
};

function ask(argv: string, stacks: JobStacks = TAKEN, query = ''): Promise<Outcome> {
  return runCommand(argv, {
    [JOBS]: { json: { items: [aJob()] } },
    [`${JOBS}/${aJob().id}`]: { json: aJob() },
    [`${STACKS}${query}`]: { json: stacks },
  });
}

describe('coxswain stacks', () => {
  it('prints what most ranks are in the middle of, then who stands apart, then who did not answer', async () => {
    const { code, out, err } = await ask('stacks tiny-gpt');
    expect(out).toBe(`tiny-gpt, attempt 2, 2026-01-09 12:00:00 UTC: stacks of 8 ranks.

ranks 0-4 (5 of 8)
    all_reduce (torch/distributed/distributed_c10d.py:2911)
    step (train.py:40)

Other stacks, the rarest last:

rank 6 (1 of 8)
    next_batch (data.py:31)
    step (train.py:12)
    … functions further out are left out

No stack trace:
  Rank 7 on node gpu-b: its process is stopped by a signal (state T)

Other threads have 1 different stacks; show them with --threads.

The answer was too large: stacks of ranks 5 are incomplete. Ask for one rank with --rank.`);
    expect([code, err]).toEqual([0, 'Asking the ranks of tiny-gpt; each has 5 s to answer.']);
  });

  it.each<[string, string, Partial<JobStacks>, string, RegExp]>([
    [
      'prints other threads when it is asked to',
      '--threads',
      {},
      '',
      /\n\nranks 0-6 \(7 of 8\), thread loader\n {4}get \(queue\.py:171\)/,
    ],
    [
      'asks the pod of one rank, and prints that rank alone with all its threads',
      '--rank 6',
      {},
      '?rank=6',
      /^[^\n]*: stacks of 1 rank\.\n\nrank 6\n {4}next_batch[^]*\n\nrank 6, thread loader\n {4}get \(queue\.py:171\)$/,
    ],
    [
      'says why there is no stack of the one rank',
      '--rank 7',
      {},
      '?rank=7',
      /^[^\n]*\n\nNo stack trace:\n {2}Rank 7 on node gpu-b: its process is stopped/,
    ],
    [
      'takes nobody for most where none has more than half',
      '',
      { groups: [group('0', 1, ['a (a.py:1)']), group('1', 1, ['b (b.py:1)'])], silent: [], leftOut: '' },
      '',
      /8 ranks\.\n\nrank 0 \(1 of 8\)\n {4}a \(a\.py:1\)\n\nrank 1 \(1 of 8\)\n {4}b \(b\.py:1\)$/,
    ],
  ])('%s', async (...[, options, changes, query, want]) => {
    const { code, out } = await ask(`stacks tiny-gpt ${options}`, { ...TAKEN, ...changes }, query);
    expect(code).toBe(0);
    expect(out).toMatch(want);
  });

  it('is JSON for programs', async () => {
    const { out } = await ask('stacks tiny-gpt -o json');
    expect(JSON.parse(out)).toEqual(TAKEN);
  });

  it('says what the API says where there is nothing to ask', async () => {
    const detail = 'job "tiny-gpt" is Completed, and no rank of it runs: what its ranks wrote last is in their logs';
    const { code, err } = await runCommand('stacks tiny-gpt', {
      [JOBS]: { json: { items: [aJob()] } },
      [`${JOBS}/${aJob().id}`]: { json: aJob() },
      [STACKS]: { problem: { status: 409, code: 'CONFLICT', detail } },
    });
    expect([code, err]).toEqual([1, expect.stringContaining(detail)]);
  });
});
