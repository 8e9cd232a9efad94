import type { Attempt, StopFacts, TerminationCause } from '@coxswain/api-types';
import { jobEvents } from '../decide/job-events.ts';
import type { Observed } from '../observation/observed.ts';
import { aCheckpoint, anExit, aPod } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, settled } from '../testing/jobs.ts';

const SUSPENDED = { stage: 'Stopping', outcome: 'Suspended', reason: 'SuspendRequested', charged: false } as const;
const stop = (facts: Partial<StopFacts> = {}): StopFacts => ({
  graceMs: 7_000,
  tookMs: 7_000,
  signalled: 2,
  unhandled: 0,
  killed: false,
  ...facts,
});

/** A gang that was asked to stop after step 90, has saved step 50, and whose first pod has ended with this cause. */
function aStoppedGang(about: {
  readonly cause?: Partial<TerminationCause>;
  readonly attempt?: Partial<Attempt>;
  readonly savedStep?: number;
}): Observed {
  const { cause, attempt, savedStep = 50 } = about;
  const exit = anExit({ exitCode: 137 }, { kind: 'stopped', message: 'rank 0 was killed', lastStep: 90, ...cause });
  const seen = aRunningJob({
    spec: { spec: { suspend: true, terminationGracePeriodSeconds: 10 } },
    status: { attempts: [anAttempt({ ...SUSPENDED, lastStep: 88, ...attempt })] },
    pods: (job) => [0, 1].map((podIndex) => aPod(job, { podIndex, phase: 'Failed', running: false, exit })),
  });
  const saved = savedStep === 0 ? [] : [aCheckpoint(aJob(), { spec: { step: savedStep } })];
  return { ...seen, checkpoints: saved };
}

const lostIn = (seen: Observed): Attempt['lostWork'] => settled(seen).status.attempts?.[0]?.lostWork;

describe('steps that a stopped gang did not save are counted from its newest checkpoint', () => {
  it.each<[string, Parameters<typeof aStoppedGang>[0], object | undefined]>([
    ['to the last step that a pod reports', {}, { steps: 40, savedStep: 50 }],
    ['from the start if there is none', { savedStep: 0 }, { steps: 90 }],
    ['and none are lost if it is of the last step', { savedStep: 90 }, undefined],
    [
      'and none are lost if the rank that saved has saved its last step, and others were ahead of it',
      { savedStep: 88, cause: { stop: stop({ save: { beganMs: 0, endedMs: 9, stepsAfter: 0 } }) } },
      undefined,
    ],
    [
      'but they are if an older save came to its end after SIGTERM',
      { cause: { stop: stop({ save: { beganMs: 0, endedMs: 9, stepsAfter: 40 } }) } },
      { steps: 40 },
    ],
    ['of a gang that moved', { attempt: { outcome: 'Moved', reason: 'NodeLeaving' } }, { steps: 40 }],
    ['of a gang that grew', { attempt: { outcome: 'Resized', reason: 'GpusFree' } }, { steps: 40 }],
    [
      'but not of a job that was cancelled',
      { attempt: { outcome: 'Cancelled', reason: 'CancelRequested' } },
      undefined,
    ],
    [
      'but not of a gang that failed, whose incident has them',
      { attempt: { outcome: 'Failed', reason: 'EngineFailed' } },
      undefined,
    ],
  ])('%s', (_sentence, about, want) => {
    const lost = lostIn(aStoppedGang(about));
    if (want === undefined) expect(lost).toBeUndefined();
    else expect(lost).toMatchObject(want);
  });
});

describe('why they were not saved', () => {
  it.each<[string, Partial<TerminationCause>, RegExp]>([
    [
      'the save took too long',
      { stop: stop({ killed: true, save: { beganMs: 1_000 } }) },
      /^The save had taken 6\.0 s when the ranks were killed, and was not complete: terminationGracePeriodSeconds is 10/,
    ],
    [
      'the ranks did not end',
      { stop: stop({ killed: true }) },
      /^The ranks had not ended 7\.0 s after SIGTERM and were killed: terminationGracePeriodSeconds is 10/,
    ],
    [
      'the program has no handler',
      { stop: stop({ tookMs: 20, unhandled: 1 }) },
      /^SIGTERM ended 2 processes that have no handler/,
    ],
    [
      'it has one and saves nothing',
      { stop: stop({ tookMs: 2_000 }) },
      /^The ranks ended 2\.0 s after SIGTERM and reported no complete save/,
    ],
    [
      'an older save ended',
      { stop: stop({ save: { beganMs: 0, endedMs: 9, stepsAfter: 40 } }) },
      /^The save that ended after SIGTERM was of an older step/,
    ],
    ['a launcher of an earlier release', {}, /^As the launcher on node node-a reported: rank 0 was killed\.$/],
    ['a cause of an earlier incarnation', { epoch: 7 }, /^No launcher reported/],
  ])('%s', (_sentence, cause, want) => {
    expect(lostIn(aStoppedGang({ cause }))?.why).toMatch(want);
  });
});

it('attempt, summary, condition and Event of a suspended job say what was lost', () => {
  const seen = aStoppedGang({ cause: { stop: stop({ tookMs: 20, unhandled: 1 }) } });
  const { status } = settled(seen);
  const sentence = /40 steps are lost since the checkpoint of step 50\. SIGTERM ended/;
  expect(status.attempts?.[0]?.message).toMatch(sentence);
  expect(status.summary).toMatch(sentence);
  expect(status.conditions?.find(({ type }) => type === 'Suspended')?.message).toMatch(sentence);
  const events = jobEvents({ ...seen, job: { ...seen.job, status } });
  expect(events.filter(({ type }) => type === 'WorkLost')).toMatchObject([
    { key: 'e1/WorkLost', severity: 'warning', message: expect.stringMatching(sentence) },
  ]);
});

it('steps are counted as lost only after the checkpoints were read from the API server, because a cache may lack the last save', () => {
  const cached = { ...aStoppedGang({}), isProven: true, areCheckpointsProven: false };
  const { status, actions } = settled(cached);
  expect(actions).toEqual([{ kind: 'readCheckpoints' }]);
  expect(status.attempts?.[0]).toMatchObject({ stage: 'Stopping' });
});
