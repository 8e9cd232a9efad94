import type { Attempt, TrainingJobStatus } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import type { ObservedLauncher } from '../observation/observed-launcher.ts';
import { factsOf } from '../observation/facts.ts';
import { recordOf, withLastAttempt } from '../record/job-record.ts';
import { aCheckpoint, anExit, aPod } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, NOW } from '../testing/jobs.ts';
import { recordMemorySave } from './record-memory-save.ts';

const RAN = '2026-01-01T00:11:00Z';
const job = aJob();
const [first, second] = [aPod(job), aPod(job, { podIndex: 1 })];
const memorySave = { incarnation: 1, step: 44 };
const RESUMED = { checkpoint: 'tiny-gpt-3f1c2b9e-e1-s40', step: 40 };
const ended = {
  incarnation: 1,
  runningAt: RAN,
  endedAt: '2026-01-01T00:19:50Z',
  reason: 'EngineFailed',
  charged: true,
  lastStep: 45,
} as const;

type Report = Omit<ObservedLauncher, 'epoch'>;
const reaped = (...saves: readonly (typeof memorySave)[]): Report => ({
  incarnation: 1,
  state: 'reaped',
  ...(saves.length === 0 ? {} : { memorySaves: saves }),
});
const running = (incarnation: number): Report => ({ incarnation, state: 'running' });

/** Of a gang of two pods that failed at step 45 and has saved step 40, after one decision. */
function statusWith(of: Report, other: Report, attempt: Partial<Attempt> = {}): TrainingJobStatus {
  const next = anAttempt({
    incarnation: 2,
    incarnations: [ended],
    resumedFrom: RESUMED,
    ...attempt,
  });
  const observed = aRunningJob({
    status: { restarts: { total: 1, charged: 1 }, attempts: [next] },
    pods: () => [first, second],
  });
  const launchers = new Map([
    [first.uid, { epoch: 1, ...of }],
    [second.uid, { epoch: 1, ...other }],
  ]);
  const checkpoints = [aCheckpoint(observed.job, { spec: { step: 40 } })];
  return decide({ ...observed, checkpoints, launchers }, NOW).status;
}

const lastOf = (status: TrainingJobStatus): Attempt | undefined => status.attempts?.at(-1);

describe('a save in the memory of the pods', () => {
  it('is recorded when every pod has it and no rank runs; the checkpoint stays beside it', () => {
    const status = statusWith(reaped(memorySave), reaped(memorySave));
    expect(lastOf(status)).toMatchObject({ incarnation: 2, resumedFrom: { step: 40 }, memorySave });
    expect(status.summary).toContain('(incarnation 2), from step 44 in memory.');
    // If a node is lost, training goes back to it.
    expect(status.checkpoint?.step).toBe(40);
  });

  it.each([
    ['a pod has another one', reaped({ incarnation: 1, step: 43 }), reaped(memorySave)],
    ['a pod has none', reaped(memorySave), reaped()],
    ['ranks still run', reaped(memorySave), running(1)],
    ['ranks have begun', reaped(memorySave), running(2)],
  ])('is not recorded if %s', (_sentence, of, other) => {
    expect(lastOf(statusWith(of, other))?.memorySave).toBeUndefined();
  });

  it('is not recorded by what was seen of the incarnation before: a standby may hold ranks of it now', () => {
    const before = anAttempt({ incarnation: 2, incarnations: [ended], resumedFrom: RESUMED });
    const { job: seen, ...observed } = aRunningJob({
      status: { attempts: [before] },
      pods: () => [first, second],
    });
    const launchers = new Map([first, second].map(({ uid }) => [uid, { epoch: 1, ...reaped(memorySave) }]));
    const recorded = recordOf(seen);
    const facts = factsOf({ ...observed, job: seen, launchers }, recorded);
    expect(recordMemorySave(recorded, facts).attempts.at(-1)?.memorySave).toEqual(memorySave);
    const next = withLastAttempt(recorded, { incarnation: 3, runningAt: undefined });
    expect(recordMemorySave(next, facts).attempts.at(-1)?.memorySave).toBeUndefined();
  });

  it('stays with the incarnation that began from it, and the next one begins without', () => {
    const { cause } = anExit({}, { epoch: 1, incarnation: 2, lastStep: 50 });
    const failed = { ...reaped(), incarnation: 2, ...(cause === undefined ? {} : { cause }) };
    const attempt = lastOf(statusWith(failed, running(2), { runningAt: RAN, memorySave }));
    expect(attempt?.incarnation).toBe(3);
    expect([attempt?.memorySave, attempt?.incarnations?.at(-1)?.memorySave]).toEqual([undefined, memorySave]);
  });
});
