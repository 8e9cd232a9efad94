import type { Job } from '@coxswain/api-types';
import { aJob, aJobFailure, anAttempt } from '@coxswain/api-types/testing';
import { withColors } from '../output/paint.ts';
import { jobDetails } from './job-tables.ts';

const NOW = new Date('2026-11-25T12:00:00Z');
const PROGRESS = {
  step: 120,
  totalSteps: 400,
  loss: 2.312,
  tokensPerSecond: 51_200,
  etaSeconds: 123,
  reportedAt: NOW.toISOString(),
};

describe('the details of a job', () => {
  it.each([
    ['Running', 'step 120 of 400, loss 2.3120, 51,200 tokens/s, 2 min 3 s left'],
    ['Suspended', 'step 120 of 400, loss 2.3120, 51,200 tokens/s'],
    ['Failed', 'step 120 of 400, loss 2.3120, 51,200 tokens/s'],
    ['Complete', 'step 120 of 400, loss 2.3120, 51,200 tokens/s'],
  ] as const)('say the time that is left only while it runs: %s', (state, progress) => {
    const lines = jobDetails({ ...aJob(), state, progress: PROGRESS }, NOW).split('\n');
    expect(lines.find((line) => line.startsWith('Progress'))?.replace(/^Progress:\s+/, '')).toBe(progress);
  });
});

it('a job that restarted shows how long its newest restart took, phase by phase', () => {
  const at = (seconds: number): string => `2026-01-01T00:00:${seconds}Z`;
  const ended = { incarnation: 1, endedAt: at(20), reason: 'EngineFailed', charged: true, lastStepAt: at(19) } as const;
  const clock = { failedAt: at(19), startedAt: at(22), importedAt: at(30), metAt: at(31), loadedAt: at(32) };
  const restarted = anAttempt({ incarnation: 2, incarnations: [ended], clock, firstStep: { step: 8, at: at(33) } });
  const lines = jobDetails(aJob({ attempts: [restarted] }), NOW).split('\n');
  expect(lines.find((line) => line.startsWith('Restart:'))?.replace(/^Restart:\s+/, '')).toBe(
    '1.2 after 14.0 s: deciding 1.0 s, placing 0 ms, starting 2.0 s, importing 8.0 s, meeting 1.0 s, loading 1.0 s, stepping 1.0 s; not known: detecting, reaping',
  );
});

describe('a job that waits for GPUs', () => {
  it.each<[number | null, string | undefined]>([
    [null, undefined],
    [0, 'no job of namespace research has waited longer'],
    [1, '1 job of namespace research has waited longer'],
    [3, '3 jobs of namespace research have waited longer'],
  ])('names its place: %s before it', (jobsBefore, want) => {
    const lines = jobDetails(aJob({ state: 'Queued', jobsBefore }), NOW).split('\n');
    expect(lines.find((line) => line.startsWith('Queue:'))?.replace(/^Queue:\s+/, '')).toBe(want);
  });
});

describe('a job that failed', () => {
  const details = (job: Partial<Omit<Job, 'spec'>>): readonly string[] =>
    withColors(jobDetails(aJob(job), NOW), false).split('\n');

  it('opens with its cause', () => {
    expect(details({ state: 'Failed', lastFailure: aJobFailure() }).slice(0, 10)).toEqual([
      'Attempt 3 failed: Rank 1 on node gpu-b exited with code 1: ValueError: planted.',
      '  | Traceback (most recent call last):',
      '  |   File "train.py", line 3, in main',
      '  | ValueError: planted',
      '  Where:   rank 1, pod tiny-gpt-3f1c2b9e-e3-0, node gpu-b',
      '  Exit:    exit code 1',
      '  Blame:   program (PythonException)',
      '  Result:  The job ended because its restarts are spent.',
      '  Next:    Read the traceback.',
      '',
    ]);
  });

  it('opens with one line while it restarts', () => {
    const nextAttemptAt = new Date(NOW.getTime() + 20_000).toISOString();
    const lastFailure = aJobFailure({ isFinal: false, answer: 'Attempt 4 follows.', nextAttemptAt });
    const [first, second] = details({ state: 'Restarting', lastFailure });
    expect(first).toBe(
      'Attempt 3 failed: Rank 1 on node gpu-b exited with code 1: ValueError: planted. Attempt 4 follows in 20.0 s.',
    );
    expect(second).toBe('');
  });

  it('keeps the judgement on a failure that was answered in the pods', () => {
    const judgement = { rule: 'default', action: 'Restart', class: 'Killed', blame: 'unknown' } as const;
    const says = 'Killed (unknown), rule default (Restart). Left: 2 of 3 restarts.';
    const ended = { incarnation: 1, endedAt: NOW.toISOString(), reason: 'EngineFailed', charged: true } as const;
    const attempts = [anAttempt({ incarnation: 2, incarnations: [{ ...ended, judgement: { ...judgement, says } }] })];
    const lines = details({ attempts, lastFailure: aJobFailure({ attempt: '1.1', isFinal: false }) });
    expect(lines[0]).toMatch(/^Name:/);
    expect(lines.at(-3)).toBe(`  Rule:    ${says}`);
    const over = details({ state: 'Complete', attempts, lastFailure: aJobFailure({ attempt: '1.1', isFinal: false }) });
    expect(over.at(-2)).toMatch(/^Attempt 1\.1 failed: Rank 1 /);
    expect(over.at(-1)).toBe(`  Rule:  ${says}`);
  });

  it('shows the judgement on that failure, and not on a later attempt that got no pods', () => {
    const judged = { rule: 'default', action: 'Restart', class: 'Unknown', blame: 'unknown' } as const;
    const attempts = ['of the failure', 'of the refusal'].map((says, index) =>
      anAttempt({ epoch: index + 1, judgement: { ...judged, says } }),
    );
    const lines = details({ attempts, lastFailure: aJobFailure({ attempt: '1', isFinal: false }) });
    expect(lines.filter((line) => line.startsWith('  Rule:'))).toEqual(['  Rule:    of the failure']);
  });
});
