import type { FailureBudget, FailureTally } from '@coxswain/api-types';
import { type FailedRun, leftOf, sentBack, withFailedRun, withSpent } from './failure-tally.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const hoursAgo = (hours: number): string => new Date(NOW.getTime() - hours * 3_600_000).toISOString();
const run = (about: Partial<FailedRun> = {}): FailedRun => ({ fromStep: 0, ranMs: 1_000, blame: 'program', ...about });
const tally = (about: Partial<FailureTally> = {}): FailureTally => ({
  withoutProgress: 2,
  sinceCheckpoint: 3,
  ...about,
});

describe('failures in a row without progress', () => {
  it.each<[string, Partial<FailureTally>, Partial<FailedRun>, number]>([
    ['grow where nothing is told', {}, {}, 3],
    ['grow where the furthest step is only reached again', { furthestStep: 80 }, { fromStep: 50, reachedStep: 80 }, 3],
    ['begin anew with a step beyond', { furthestStep: 80 }, { fromStep: 50, reachedStep: 81 }, 0],
    ['grow where a resumed run trained nothing', {}, { fromStep: 50, reachedStep: 50 }, 3],
    [
      'begin anew with a new checkpoint',
      { checkpointStep: 50, furthestStep: 80 },
      { fromStep: 50, checkpointStep: 60 },
      0,
    ],
    ['grow where the checkpoint is the one that it began from', {}, { fromStep: 50, checkpointStep: 50 }, 3],
    ['stay as they are where a node failed', {}, { blame: 'node' }, 2],
    ['stay as they are where the cluster ended it', {}, { blame: 'cluster' }, 2],
    ['stay as they are where a job that tells nothing ran for long', {}, { ranMs: 3_600_000 }, 2],
    ['grow where a job that tells steps ran for long', { furthestStep: 5 }, { ranMs: 3_600_000 }, 3],
  ])('%s', (_sentence, before, failed, want) => {
    expect(withFailedRun(tally(before), run(failed)).withoutProgress).toBe(want);
  });

  it('are one after the first', () => {
    expect(withFailedRun(undefined, run())).toEqual({ withoutProgress: 1, sinceCheckpoint: 1 });
  });
});

describe('failures since something was saved', () => {
  it.each<[string, Partial<FailureTally>, Partial<FailedRun>, number]>([
    ['grow though a step was trained, which is lost', { furthestStep: 80 }, { reachedStep: 99 }, 4],
    ['begin anew with a new checkpoint', { checkpointStep: 50 }, { checkpointStep: 60 }, 1],
    ['grow where an older one is all that is left', { checkpointStep: 50 }, { checkpointStep: 40 }, 4],
    ['grow whoever is to blame', {}, { blame: 'node' }, 4],
  ])('%s', (_sentence, before, failed, want) => {
    expect(withFailedRun(tally(before), run(failed)).sinceCheckpoint).toBe(want);
  });
});

describe('the same failure before the first step', () => {
  const once = { traceback: { fingerprint: 'a', times: 1 } };
  it.each<[string, Partial<FailureTally>, Partial<FailedRun>, FailureTally['traceback']]>([
    ['is remembered', {}, { fingerprint: 'a' }, { fingerprint: 'a', times: 1 }],
    ['is counted', once, { fingerprint: 'a' }, { fingerprint: 'a', times: 2 }],
    ['gives way to another', once, { fingerprint: 'b' }, { fingerprint: 'b', times: 1 }],
    ['is forgotten with a step', once, { fingerprint: 'a', reachedStep: 1 }, undefined],
    ['is kept over a lost node', once, { blame: 'node' }, once.traceback],
    ['is not counted where it is not the program’s', once, { blame: 'unknown', fingerprint: 'a' }, once.traceback],
    ['is forgotten where a job that tells nothing ran for long', once, { fingerprint: 'a', ranMs: 700_000 }, undefined],
  ])('%s', (_sentence, before, failed, want) => {
    expect(withFailedRun(tally(before), run(failed)).traceback).toEqual(want);
  });
});

describe('what is left of a budget', () => {
  const budget: FailureBudget = { blame: 'node', maxRestarts: 3, windowSeconds: 6 * 3_600 };
  const spent = (total: number, ...times: readonly string[]): FailureTally =>
    tally({ spent: [{ blame: 'node', total, times: [...times] }] });
  it.each<[string, FailureTally | undefined, FailureBudget, number]>([
    ['is all where nothing failed', undefined, budget, 3],
    ['is less by each in the window', spent(2, hoursAgo(5), hoursAgo(1)), budget, 1],
    ['comes back as they leave it', spent(9, hoursAgo(7), hoursAgo(6), hoursAgo(1)), budget, 2],
    ['is never less than nothing', spent(9, ...Array.from({ length: 9 }, () => hoursAgo(1))), budget, 0],
    ['counts what another clock put into the future', spent(1, hoursAgo(-5)), budget, 2],
    ['counts a time that cannot be read', spent(1, 'yesterday'), budget, 2],
    ['without a window is less by all', spent(2, hoursAgo(700)), { blame: 'node', maxRestarts: 3 }, 1],
    ['is of its own blame', spent(3, hoursAgo(1)), { ...budget, blame: 'program' }, 3],
  ])('%s', (_sentence, before, of, want) => {
    expect(leftOf(before, of, NOW)).toBe(want);
  });

  it('is less by one after another, and the times kept are bounded', () => {
    let after: FailureTally = tally();
    for (let count = 0; count < 60; count++) after = withSpent(after, 'node', NOW);
    expect(after.spent).toEqual([
      { blame: 'node', total: 60, times: Array.from({ length: 50 }, () => NOW.toISOString()) },
    ]);
  });
});

it('a job that a person sends back has its way before it again, and no more to spend', () => {
  const spent = [{ blame: 'node' as const, total: 1, times: [hoursAgo(1)] }];
  const before = tally({ furthestStep: 80, checkpointStep: 50, spent, traceback: { fingerprint: 'a', times: 1 } });
  expect(sentBack(before)).toEqual({ withoutProgress: 0, sinceCheckpoint: 3, spent });
  expect(sentBack(undefined)).toBeUndefined();
});
