import type { Attempt, AttemptReason, FailurePolicy, FailureRule, FailureTally } from '@coxswain/api-types';
import fc from 'fast-check';
import { factsOf, type Facts } from '../observation/facts.ts';
import { type JobRecord, recordOf } from '../record/job-record.ts';
import { observe } from '../testing/index.ts';
import { aJob, anAttempt, NOW } from '../testing/jobs.ts';
import type { Failure } from './failure.ts';
import { judgeFailure, type Judged } from './judge-failure.ts';
import { MAX_FREE_RESTARTS_IN_A_ROW, restartDelayMs } from './restart-budget.ts';

interface Job {
  readonly record: JobRecord;
  readonly facts: Facts;
}

const aJobWith = (failurePolicy: FailurePolicy | undefined, maxRestarts = 20): Job => {
  const job = aJob({
    spec: { restartPolicy: { maxRestarts }, ...(failurePolicy === undefined ? {} : { failurePolicy }) },
  });
  return { record: { ...recordOf(job), epoch: 1, attempts: [anAttempt()] }, facts: factsOf(observe({ job })) };
};

const failed = (...lastLines: readonly string[]): Failure => ({
  reason: 'EngineFailed',
  message: 'rank 3 on node gpu-b exited with code 1',
  crash: { exitCode: 1, lastLines },
  node: 'gpu-b',
});
const ofReason = (reason: AttemptReason): Failure => ({ ...failed(), reason });
const XID_79 = 'NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.';
const KEY_ERROR = "KeyError: 'input_ids'";

const judged = ({ record, facts }: Job, failure: Failure, now = NOW, lastStep?: number): Judged =>
  judgeFailure(record, { failure, ...(lastStep === undefined ? {} : { lastStep }) }, { facts, now });

/** The job after that failure was recorded, and the next attempt begun. */
const after = (job: Job, failure: Failure, now = NOW, lastStep?: number): Job => {
  const { charged, failures } = judged(job, failure, now, lastStep);
  const { attempts, restarts, epoch } = job.record;
  const ended: Attempt = {
    ...(attempts.at(-1) ?? anAttempt()),
    stage: 'Ended',
    outcome: 'Failed',
    reason: failure.reason,
    charged,
    ...(lastStep === undefined ? {} : { lastStep }),
  };
  return {
    ...job,
    record: {
      ...job.record,
      epoch: epoch + 1,
      failures,
      restarts: { total: restarts.total + 1, charged: restarts.charged + Number(charged) },
      attempts: [...attempts.slice(0, -1), ended, anAttempt({ epoch: epoch + 1 })].slice(-20),
    },
  };
};

const tally = (about: Partial<FailureTally>): FailureTally => ({ withoutProgress: 0, sinceCheckpoint: 0, ...about });

describe('without a failure policy', () => {
  it('a failure is charged, and the pause is left to restartPolicy', () => {
    const { answer, charged, judgement } = judged(aJobWith(undefined, 3), failed(KEY_ERROR));
    expect([answer, charged]).toEqual(['Restart', true]);
    expect(judgement).toEqual({
      rule: 'default',
      action: 'Restart',
      class: 'PythonException',
      blame: 'program',
      says: `PythonException (program), rule default (Restart): ${KEY_ERROR}. Left: 2 of 3 restarts.`,
    });
  });

  it('the same traceback twice before the first step, on two nodes, is the end, whatever is left', () => {
    const once = after(aJobWith(undefined), failed(KEY_ERROR));
    const { answer, judgement } = judged(once, { ...failed(`[rank1]: ${KEY_ERROR}`), node: 'gpu-c' });
    expect(answer).toBe('GiveUp');
    expect(judgement.givenUp).toBe('SameTraceback');
    expect(judgement.says).toContain(
      'It raised the same exception twice before its first step, on nodes gpu-b and gpu-c, so it would a third time.',
    );
    expect(judgement.says).toContain(KEY_ERROR);
  });

  it.each<[string, Failure, Failure, number | undefined]>([
    ['another traceback', failed(KEY_ERROR), failed('ValueError: b'), undefined],
    ['the same after a step', failed(KEY_ERROR), failed(KEY_ERROR), 5],
    [
      'the same of a network',
      failed('No route to host', 'OSError: a'),
      failed('No route to host', 'OSError: a'),
      undefined,
    ],
    ['nothing said twice', failed(), failed(), undefined],
  ])('%s is tried again', (_sentence, first, second, lastStep) => {
    expect(judged(after(aJobWith(undefined), first), second, NOW, lastStep).answer).toBe('Restart');
  });

  it('three restarts in a row without progress are the end, and it is said what to look at', () => {
    let job = aJobWith(undefined);
    for (let count = 0; count < 3; count++) {
      expect(judged(job, failed(`line ${count}`), NOW, 7).answer).toBe('Restart');
      job = after(job, failed(`line ${count}`), NOW, 7);
    }
    expect(judged(job, failed(), NOW, 7).answer).toBe('Restart');
    job = after(job, failed(), NOW, 7);
    const { answer, judgement } = judged(job, failed(), NOW, 7);
    expect([answer, judgement.givenUp]).toEqual(['GiveUp', 'NoProgress']);
    expect(judgement.says).toContain('3 restarts in a row got no further (step 7, nothing is saved). Read its log.');
  });

  it('lost nodes in between are not counted against the program', () => {
    let job = aJobWith(undefined);
    for (const failure of [failed(), ofReason('NodeLost'), failed(), ofReason('Evicted'), failed()])
      job = after(job, failure);
    expect(judged(job, ofReason('NodeLost')).answer).toBe('Restart');
    expect(judged(job, failed()).judgement.givenUp).toBe('NoProgress');
  });
});

describe('a rule of a policy', () => {
  const rules: FailurePolicy = {
    rules: [
      { name: 'bad-gpus', onBlames: ['node'], action: 'RestartElsewhere', charged: false },
      { name: 'no-memory', onCrashClasses: ['GpuOutOfMemory'], action: 'Fail' },
    ],
  };

  it('that asks for another node avoids the one that failed, and may be free', () => {
    const { answer, charged, avoid, judgement } = judged(aJobWith(rules), failed(XID_79));
    expect([answer, charged]).toEqual(['Restart', false]);
    expect(avoid).toEqual({ nodes: ['gpu-b'], reason: 'FailurePolicy' });
    expect(judgement).toMatchObject({ rule: 'bad-gpus', action: 'RestartElsewhere', class: 'GpuLost', delayMs: 0 });
  });

  it('that says Fail ends the job, with the advice', () => {
    const { answer, judgement } = judged(aJobWith(rules), failed('CUDA out of memory'));
    expect([answer, judgement.rule, judgement.givenUp]).toEqual(['GiveUp', 'no-memory', 'FailurePolicy']);
    expect(judgement.says).toContain('Use a smaller micro-batch');
  });

  it('that does not hold leaves it to the built-in ones', () => {
    expect(judged(aJobWith(rules), failed(KEY_ERROR)).judgement.rule).toBe('default');
    const { answer, judgement } = judged(aJobWith(rules), ofReason('DoNotRestart'));
    expect([answer, judgement.rule, judgement.givenUp]).toEqual(['GiveUp', 'asked-to-stop', undefined]);
  });
});

describe('a budget of a policy', () => {
  const budgets: FailurePolicy = { budgets: [{ blame: 'node', maxRestarts: 2, windowSeconds: 21_600 }] };
  const later = (hours: number): Date => new Date(NOW.getTime() + hours * 3_600_000);

  it('pays for whoever is to blame, in place of restartPolicy', () => {
    const { charged, judgement, failures } = judged(aJobWith(budgets), failed(XID_79));
    expect(charged).toBe(false);
    expect(judgement).toMatchObject({
      budget: 'node',
      says: expect.stringContaining('Left for node: 1 of 2 restarts in 6 h 0 min.') as string,
    });
    expect(failures?.spent).toEqual([{ blame: 'node', total: 1, times: [NOW.toISOString()] }]);
  });

  it('that is spent is the end, and comes back with time', () => {
    const spent = after(after(aJobWith(budgets), failed(XID_79)), failed(XID_79), later(1));
    const { answer, judgement } = judged(spent, failed(XID_79), later(2));
    expect([answer, judgement.givenUp]).toEqual(['GiveUp', 'RestartsExhausted']);
    expect(judgement.says).toContain('All of 2 restarts in 6 h 0 min for node are spent. Reboot the node');
    expect(judged(spent, failed(XID_79), later(7)).answer).toBe('Restart');
  });

  it('leaves what others do to restartPolicy', () => {
    expect(judged(aJobWith(budgets), failed(KEY_ERROR))).toMatchObject({ charged: true });
  });
});

it('gangs of which nothing has run change nothing', () => {
  const job = aJobWith({ budgets: [{ blame: 'unknown', maxRestarts: 0 }] });
  const failures = tally({ withoutProgress: 9, furthestStep: 3 });
  const { answer, judgement, ...rest } = judged(
    { ...job, record: { ...job.record, failures } },
    ofReason('PodsRefused'),
  );
  expect([answer, judgement.delayMs]).toEqual(['Restart', undefined]);
  expect(rest).toEqual({ charged: false, failures, avoid: undefined });
});

describe('whatever fails, in whatever order', () => {
  const reasons = fc.constantFrom<AttemptReason>(
    'EngineFailed',
    'NodeLost',
    'Evicted',
    'LauncherFailed',
    'RendezvousPortLost',
  );
  const lines = fc.constantFrom(KEY_ERROR, XID_79, 'No route to host', 'CUDA out of memory', 'bye');
  const failures = fc.record({ reason: reasons, line: lines, steps: fc.option(fc.nat(50), { nil: undefined }) });
  const policies = fc.option(
    fc.record({
      rules: fc.uniqueArray(
        fc.record({
          name: fc.constantFrom('a', 'b', 'c'),
          onBlames: fc.constantFrom<FailureRule['onBlames']>(['node'], ['program'], undefined),
          action: fc.constantFrom('Restart' as const, 'RestartElsewhere' as const),
          charged: fc.boolean(),
        }),
        { maxLength: 3, selector: ({ name }) => name },
      ),
      budgets: fc.uniqueArray(
        fc.record({
          blame: fc.constantFrom('node' as const, 'program' as const, 'cluster' as const),
          maxRestarts: fc.nat(3),
        }),
        { selector: ({ blame }) => blame },
      ),
    }),
    { nil: undefined },
  );

  const MAX_RESTARTS = 3;
  const live = (
    policy: FailurePolicy | undefined,
    story: readonly { reason: AttemptReason; line: string; steps: number | undefined }[],
  ) => {
    let job = aJobWith(policy, MAX_RESTARTS);
    let clock = NOW;
    const pausesMs: number[] = [];
    for (const { reason, line, steps } of story) {
      const failure = { ...failed(line), reason };
      const { answer, judgement, charged } = judged(job, failure, clock, steps);
      if (answer === 'GiveUp') return { job, pausesMs, isOver: true };
      const before = job.record;
      job = after(job, failure, clock, steps);
      const ended = { ...before, restarts: job.record.restarts, attempts: job.record.attempts.slice(0, -1) };
      const last = ended.attempts.at(-1) ?? anAttempt();
      const withJudgement = { ...ended, attempts: [...ended.attempts.slice(0, -1), { ...last, judgement, charged }] };
      const pauseMs = restartDelayMs(withJudgement, { maxRestarts: MAX_RESTARTS, delaySeconds: 5 });
      pausesMs.push(pauseMs);
      clock = new Date(clock.getTime() + pauseMs);
    }
    return { job, pausesMs, isOver: false };
  };

  it('no budget is exceeded', () => {
    fc.assert(
      fc.property(policies, fc.array(failures, { maxLength: 60 }), (policy, story) => {
        const { job } = live(policy, story);
        expect(job.record.restarts.charged).toBeLessThanOrEqual(MAX_RESTARTS);
        for (const { blame, maxRestarts } of policy?.budgets ?? []) {
          const spent = job.record.failures?.spent?.find((one) => one.blame === blame);
          expect(spent?.total ?? 0).toBeLessThanOrEqual(maxRestarts);
        }
      }),
    );
  });

  it('a job that trains no step ends after a bounded number of restarts', () => {
    const most = (MAX_FREE_RESTARTS_IN_A_ROW + 1) * (MAX_RESTARTS + 1) + 9;
    const story = fc.array(
      failures.map((one) => ({ ...one, steps: undefined })),
      { minLength: most, maxLength: most },
    );
    fc.assert(fc.property(policies, story, (policy, all) => live(policy, all).isOver));
  });

  it('and one that saves nothing never restarts three times in a row without a pause', () => {
    fc.assert(
      fc.property(policies, fc.array(failures, { maxLength: 60 }), (policy, story) => {
        const { pausesMs } = live(policy, story);
        expect(
          pausesMs.every((_, index) => index < 2 || pausesMs.slice(index - 2, index + 1).some((ms) => ms > 0)),
        ).toBe(true);
      }),
    );
  });
});
