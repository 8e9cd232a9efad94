import { type Attempt, ATTEMPT_REASONS, type AttemptReason } from '@coxswain/api-types';
import fc from 'fast-check';
import { recordOf, type JobRecord } from '../record/job-record.ts';
import { answerTo as answerByRule, MAX_FREE_RESTARTS_IN_A_ROW, restartDelayMs } from './restart-budget.ts';
import { crashOf, ruleFor } from './failure-rules.ts';
import { aJob, anAttempt } from '../testing/jobs.ts';

const failed = (reason: AttemptReason, more: Partial<Attempt> = {}): Attempt =>
  anAttempt({ stage: 'Ended', outcome: 'Failed', reason, charged: ATTEMPT_REASONS[reason].charged, ...more });

const recordWith = (attempts: readonly Attempt[], charged = 0): JobRecord => ({
  ...recordOf(aJob()),
  attempts: attempts.map((attempt, index) => ({ ...attempt, epoch: index + 1 })),
  restarts: { total: attempts.length, charged },
});

const times = (count: number, attempt: Attempt): readonly Attempt[] => Array.from({ length: count }, () => attempt);
const policy = { maxRestarts: 3, delaySeconds: 5 };

/** By the rules that nobody stated. */
const answerTo = (record: JobRecord, restarts: typeof policy): ReturnType<typeof answerByRule> => {
  const failure = { reason: record.attempts.at(-1)?.reason ?? 'LauncherFailed', message: '', crash: { lastLines: [] } };
  return answerByRule(record, restarts, ruleFor([], failure, crashOf(failure)));
};

describe('what answers a failure', () => {
  const cases = [
    ['a failure of the engine is paid for', [failed('EngineFailed')], 0, 'Restart', true],
    ['the last restart is still given', [failed('EngineFailed')], 2, 'Restart', true],
    ['a spent budget is the end', [failed('EngineFailed')], 3, 'GiveUp', true],
    ['a lost node costs nothing, even with a spent budget', [failed('NodeLost')], 3, 'Restart', false],
    ['an eviction costs nothing', [failed('Evicted')], 3, 'Restart', false],
    ['an engine that says so is not restarted, whatever is left', [failed('DoNotRestart')], 0, 'GiveUp', true],
    [
      'names that somebody else has cost nothing, and others are tried for ever',
      times(50, failed('NameConflict')),
      3,
      'Restart',
      false,
    ],
    ['pods that are refused are tried for ever', times(50, failed('PodsRefused')), 3, 'Restart', false],
    ['the tenth free restart in a row is still free', times(10, failed('NodeLost')), 0, 'Restart', false],
    ['the eleventh is charged', times(11, failed('NodeLost')), 0, 'Restart', true],
    ['and is the end where nothing is left', times(11, failed('NodeLost')), 3, 'GiveUp', true],
    [
      'a step in between begins the row anew',
      [...times(9, failed('NodeLost')), failed('NodeLost', { lastStep: 7 }), ...times(10, failed('NodeLost'))],
      0,
      'Restart',
      false,
    ],
    [
      'a resumed step is no step in between',
      times(11, failed('NodeLost', { lastStep: 20, resumedFrom: { checkpoint: 'c', step: 20 } })),
      0,
      'Restart',
      true,
    ],
    [
      'a suspend in between begins the row anew',
      [...times(9, failed('NodeLost')), anAttempt({ outcome: 'Suspended' }), ...times(5, failed('NodeLost'))],
      0,
      'Restart',
      false,
    ],
    [
      'refused pods do not count in the row',
      [...times(9, failed('NodeLost')), ...times(9, failed('PodsRefused')), failed('NodeLost')],
      0,
      'Restart',
      false,
    ],
  ] as const;
  const table = cases.map(([sentence, attempts, spent, answer, charged]) => ({
    sentence,
    record: recordWith(attempts, spent),
    want: { answer, charged },
  }));
  it.each(table)('$sentence', ({ record, want }) => {
    expect(answerTo(record, policy)).toEqual(want);
  });

  it('a failure without a reason is the launcher’s', () => {
    const { reason: _, ...silent } = failed('LauncherFailed');
    expect(answerTo(recordWith([silent]), policy)).toEqual({ answer: 'Restart', charged: true });
  });
});

describe('the pause before the next epoch', () => {
  it.each([
    ['the first charged restart waits as long as the policy says', [failed('EngineFailed')], 1, 5],
    ['each further one twice as long', [failed('EngineFailed')], 4, 40],
    ['up to five minutes', [failed('EngineFailed')], 12, 300],
    ['the first free one waits as long as the policy says, whatever was charged before', [failed('NodeLost')], 4, 5],
    ['a free one after another doubles', times(3, failed('NodeLost')), 0, 20],
    ['a free one after a step does not', [failed('NodeLost', { lastStep: 3 }), failed('NodeLost')], 0, 5],
  ] as const)('%s', (_sentence, attempts, charged, seconds) => {
    expect(restartDelayMs(recordWith(attempts, charged), policy)).toBe(seconds * 1_000);
  });

  it.each([
    ['a policy without delay waits not at all', 'EngineFailed', 0, 0],
    ['but refused pods a second, as a quota does not change at once', 'PodsRefused', 0, 1],
    ['a first delay beyond five minutes is kept', 'EngineFailed', 3_600, 3_600],
  ] as const)('%s', (_sentence, reason, delaySeconds, seconds) => {
    expect(restartDelayMs(recordWith([failed(reason)], 1), { maxRestarts: 3, delaySeconds })).toBe(seconds * 1_000);
  });
});

describe('the pause before a free restart in the same pods', () => {
  it.each([
    [0, 0],
    [1, 2],
    [4, 16],
  ])('after %i others in a row is %i s even by a policy without delay', (before, seconds) => {
    const record = recordWith([failed('RendezvousPortLost')]);
    expect(restartDelayMs(record, { maxRestarts: 3, delaySeconds: 0 }, before)).toBe(seconds * 1_000);
  });
});

describe('whatever fails, in whatever order', () => {
  const reason = fc.constantFrom<AttemptReason>(
    'EngineFailed',
    'NodeLost',
    'Evicted',
    'TurnedAway',
    'RendezvousPortLost',
    'LauncherFailed',
  );

  it('a job that never trains a step ends after a bounded number of attempts', () => {
    fc.assert(
      fc.property(fc.array(reason, { minLength: 80, maxLength: 80 }), (reasons) => {
        let charged = 0;
        const attempts: Attempt[] = [];
        const ended = reasons.findIndex((next) => {
          attempts.push(failed(next));
          const { answer, charged: isCharged } = answerTo(recordWith(attempts.slice(-20), charged), policy);
          attempts.splice(-1, 1, failed(next, { charged: isCharged }));
          charged += isCharged ? 1 : 0;
          return answer === 'GiveUp';
        });
        expect(ended).toBeGreaterThanOrEqual(0);
        expect(ended).toBeLessThan((MAX_FREE_RESTARTS_IN_A_ROW + 1) * (policy.maxRestarts + 1));
      }),
    );
  });
});
