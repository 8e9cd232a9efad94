import { type Attempt, formatFailureLine, type FailureJudgement } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { tracebackOf } from './last-lines.ts';
import { type FailedJob, newestFailure } from './newest-failure.ts';

const AT = '2026-01-01T00:10:00.000Z';
const NOW = new Date('2026-01-01T00:10:05.000Z');
const TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\nValueError: planted';
const judged = (changes: Partial<FailureJudgement> = {}): FailureJudgement => ({
  rule: 'default',
  action: 'Restart',
  class: 'PythonException',
  blame: 'program',
  ...changes,
});

const failed = (changes: Partial<Attempt> = {}): Attempt =>
  anAttempt({
    epoch: 3,
    stage: 'Ended',
    outcome: 'Failed',
    reason: 'EngineFailed',
    message: `Rank 1 on node gpu-b exited with code 1.\nLast lines of its log:\nstep 12\n${TRACEBACK}`,
    origin: { rank: 1, pod: 'tiny-e3-0', node: 'gpu-b', exitCode: 1 },
    stoppingAt: AT,
    answer: 'Restart',
    judgement: judged(),
    ...changes,
  });
const running = anAttempt({ epoch: 4, runningAt: AT });
const inPods = anAttempt({
  epoch: 2,
  incarnation: 2,
  incarnations: [
    {
      incarnation: 1,
      endedAt: AT,
      reason: 'EngineFailed',
      charged: true,
      message: 'Rank 3 on node gpu-b was killed by SIGKILL (exit code 137).',
      origin: { rank: 3, pod: 'tiny-e2-1', node: 'gpu-b', exitCode: 137, signal: 'SIGKILL' },
      judgement: judged({ class: 'Killed', blame: 'unknown' }),
      lastLines: ['step 43'],
    },
  ],
});

const of = (state: string, ...attempts: readonly Attempt[]): FailedJob => ({
  name: 'tiny',
  state,
  attempts,
  notBefore: '2026-01-01T00:10:25.000Z',
});
const lineOf = (job: FailedJob): string | undefined => {
  const failure = newestFailure(job);
  return failure === null ? undefined : formatFailureLine(failure, NOW);
};

const ERROR = 'Rank 1 on node gpu-b exited with code 1: ValueError: planted.';
const KILLED = 'Rank 3 on node gpu-b was killed by SIGKILL (exit code 137).';

describe('the newest failure of a job in one line', () => {
  it.each<[string, FailedJob, string | undefined]>([
    ['is absent before any attempt', of('Queued'), undefined],
    ['is absent if nothing failed', of('Running', running), undefined],
    [
      'names when the next attempt starts',
      of('Restarting', failed()),
      `Attempt 3 failed: ${ERROR} Attempt 4 follows in 20.0 s.`,
    ],
    [
      'has no time once the next attempt is placed',
      of('Starting', failed(), anAttempt({ epoch: 4 })),
      `Attempt 3 failed: ${ERROR} Attempt 4 starts.`,
    ],
    [
      'is past once the next attempt runs',
      of('Running', failed(), running),
      `Attempt 3 failed: ${ERROR} Attempt 4 followed.`,
    ],
    [
      'names the incarnation whose ranks restart in their pods',
      of('Restarting', inPods),
      `Attempt 2.1 failed: ${KILLED} The ranks restart in their pods in 20.0 s.`,
    ],
    [
      'keeps the last failure after a restart in the pods',
      of('Running', { ...inPods, runningAt: AT }),
      `Attempt 2.1 failed: ${KILLED} The ranks restarted in their pods.`,
    ],
    [
      'says why the job ended: the restarts are spent',
      of('Failed', failed({ answer: 'GiveUp', judgement: judged({ givenUp: 'RestartsExhausted' }) })),
      `Attempt 3 failed: ${ERROR} The job ended because its restarts are spent.`,
    ],
    [
      'says why the job ended: the same traceback',
      of('Failed', failed({ answer: 'GiveUp', judgement: judged({ givenUp: 'SameTraceback' }) })),
      `Attempt 3 failed: ${ERROR} The job ended because it raised the same exception on two nodes before its first step.`,
    ],
    [
      'says why the job ended: the program asked for it',
      of('Failed', failed({ answer: 'GiveUp', reason: 'DoNotRestart' })),
      `Attempt 3 failed: ${ERROR} The job ended because the program asked for no restart (exit code 93).`,
    ],
    [
      'says why the job ended: it trained nothing, with restarts left',
      of('Failed', failed({ answer: 'GiveUp', reason: 'NothingTrained' })),
      `Attempt 3 failed: ${ERROR} The job ended because it trained nothing, and another attempt would do the same.`,
    ],
    [
      'says why the job ended: a rule of the job for what trains nothing',
      of(
        'Failed',
        failed({ answer: 'GiveUp', reason: 'NothingTrained', judgement: judged({ givenUp: 'FailurePolicy' }) }),
      ),
      `Attempt 3 failed: ${ERROR} The job ended because a rule of its failure policy does not restart this failure.`,
    ],
    [
      'says why the job ended: it trained nothing',
      of(
        'Failed',
        failed({
          ...{ answer: 'GiveUp', reason: 'NothingTrained', origin: undefined },
          message: 'Every rank of attempt 3 exited with code 0, and the job made no step.',
          judgement: judged({ rule: 'nothing-trained', action: 'Fail', class: 'NothingTrained' }),
        }),
      ),
      'Attempt 3 failed: Every rank of attempt 3 exited with code 0, and the job made no step. The job ended because it trained nothing, and another attempt would do the same.',
    ],
    [
      'waits with a job that was suspended meanwhile',
      of('Suspended', failed()),
      `Attempt 3 failed: ${ERROR} The job is suspended and starts when it is resumed.`,
    ],
    [
      'leaves out an attempt that has run nothing',
      of('Queued', failed({ epoch: 1 }), failed({ epoch: 2, reason: 'PodsRefused', message: 'Quota.' })),
      `Attempt 1 failed: ${ERROR} Attempt 2 follows.`,
    ],
  ])('%s', (_sentence, job, want) => {
    expect(lineOf(job)).toBe(want);
  });
});

describe('the cause of a failure', () => {
  it('has verdict, place, exit, lines and advice', () => {
    expect(newestFailure(of('Failed', failed({ answer: 'GiveUp' })))).toEqual({
      attempt: '3',
      at: AT,
      isFinal: true,
      verdict: ERROR,
      reason: 'EngineFailed',
      rank: 1,
      pod: 'tiny-e3-0',
      node: 'gpu-b',
      exitCode: 1,
      signal: null,
      class: 'PythonException',
      blame: 'program',
      lastLines: TRACEBACK.split('\n'),
      answer: 'The job ended because its restarts are spent.',
      nextAttemptAt: null,
      advice:
        'Read the traceback. More of the log: `coxswain logs tiny --rank 1 --attempt 3`. Then submit the job again; a job that ended does not continue.',
    });
  });

  it.each<[string, Partial<Attempt>, string]>([
    ['a Secret that is missing', { reason: 'SecretMissing' }, 'Create the Secret with its key'],
    ['a lost node', { reason: 'NodeLost' }, 'Ask an administrator to check the named node.'],
    ['a pod that did not start', { reason: 'NotStarted' }, 'Check the image, the claims and the Secrets'],
    [
      'a launcher that reached no operator',
      { reason: 'NotStarted', origin: { exitCode: 76 } },
      'correct the clock of the pod or its node',
    ],
    ['an end that no rule knows', { reason: 'LauncherFailed' }, 'Read its log.'],
  ])('advises about %s', (_what, changes, want) => {
    const attempt = failed({ judgement: judged({ class: 'Unknown', blame: 'unknown' }), ...changes });
    expect(newestFailure(of('Restarting', attempt))?.advice).toContain(want);
  });

  it('does not say that a job continues which has ended', () => {
    const attempt = failed({ reason: 'Evicted', answer: 'GiveUp', judgement: judged({ class: 'Disrupted' }) });
    expect(newestFailure(of('Failed', attempt))?.advice).not.toContain('continues');
  });

  it('reads an attempt that an earlier release recorded', () => {
    const { origin: _, judgement: __, message: ___, ...old } = failed({ answer: 'GiveUp' });
    expect(newestFailure(of('Failed', old))).toMatchObject({
      verdict: 'The reason was not recorded.',
      rank: null,
      class: null,
      lastLines: [],
    });
  });

  it('leaves out attempts that cannot be read', () => {
    const nonsense = [
      'many',
      null,
      { epoch: 5, stage: 'Ended', outcome: 'Failed', message: 7 },
    ] as unknown as Attempt[];
    expect(newestFailure(of('Running', failed(), ...nonsense))?.attempt).toBe('3');
  });

  it('keeps what a rank wrote from driving a terminal', () => {
    const message = 'Rank 0 exited.\nLast lines of its log:\n\u001b[2JValueError: \u202Eevil\u0007';
    const { verdict = '', lastLines = [] } = newestFailure(of('Failed', failed({ message, answer: 'GiveUp' }))) ?? {};
    expect(`${verdict}${lastLines.join('')}`).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(verdict).toContain('ValueError');
  });
});

describe('the lines that show a failure', () => {
  const lines = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);

  it.each<[string, readonly string[], readonly string[]]>([
    ['are the last ten of a log without a traceback', lines(30), lines(30).slice(20)],
    [
      'are the last traceback and what follows',
      ['a', ...TRACEBACK.split('\n'), 'b', ...TRACEBACK.split('\n')],
      TRACEBACK.split('\n'),
    ],
    [
      'are the innermost frames of a long traceback',
      ['Traceback (most recent call last):', ...lines(40), 'ValueError: x'],
      [...lines(40).slice(21), 'ValueError: x'],
    ],
    ['leave out empty ones', ['a', '  ', '', 'b'], ['a', 'b']],
    ['are cut', ['x'.repeat(400)], [`${'x'.repeat(299)}…`]],
    ['are none', [], []],
  ])('%s', (_sentence, log, want) => {
    expect(tracebackOf(log)).toEqual(want);
  });
});
