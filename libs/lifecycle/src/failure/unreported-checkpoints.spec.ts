import { findCondition, type TerminationCause, TrainingJobSpec } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import { factsOf } from '../observation/facts.ts';
import type { Observed } from '../observation/observed.ts';
import { recordOf } from '../record/job-record.ts';
import { aCheckpoint, anExit, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, kinds, NOW, settled } from '../testing/jobs.ts';
import { unreportedCheckpoints } from './unreported-checkpoints.ts';

const saved = (step: number): TerminationCause['unreportedCheckpoints'][number] => ({
  step,
  directory: `step-${step}`,
  format: 'torch_dcp',
  bytes: 5,
  files: 1,
  manifestSha256: 'b'.repeat(64),
});

const job = aJob({ status: aStatus() });
const podThatSaved = (podIndex: number, steps: readonly number[], cause: Partial<TerminationCause> = {}) =>
  aPod(job, { podIndex, phase: 'Failed', exit: anExit({}, { unreportedCheckpoints: steps.map(saved), ...cause }) });

const stepsIn = (observed: Parameters<typeof observe>[0]): readonly number[] =>
  unreported(observe({ job, placements: [aPlacement(job)], ...observed })).map(({ spec }) => spec.step);

const unreported = (observed: Observed) => unreportedCheckpoints(recordOf(observed.job), factsOf(observed));

/** The job in steps of 1,024 tokens. */
const ofTokens = (tokens: number) => {
  const model = { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 };
  const spec = TrainingJobSpec.parse({ ...job.spec, model, training: { tokens, globalBatchSize: 8 } });
  return aJob({ status: aStatus(), spec });
};

/** The job whose attempt is recorded so. */
const recorded = (attempt: Parameters<typeof anAttempt>[0], more: Parameters<typeof aStatus>[0] = {}) =>
  aJob({ status: aStatus({ attempts: [anAttempt(attempt)], ...more }) });

describe('checkpoints that only a termination message tells of', () => {
  it('are told with everything that a resource needs', () => {
    expect(unreported(observe({ job, placements: [aPlacement(job)], pods: [podThatSaved(0, [40])] }))).toEqual([
      {
        name: 'tiny-gpt-3f1c2b9e-e1-s40',
        spec: {
          jobName: 'tiny-gpt',
          jobUid: job.metadata.uid,
          epoch: 1,
          step: 40,
          claimName: 'checkpoints',
          path: expect.stringMatching(/\/step-40$/) as string,
          layout: job.spec.layout,
          format: 'torch_dcp',
          bytes: 5,
          files: 1,
          manifestSha256: 'b'.repeat(64),
        },
      },
    ]);
  });

  it.each([
    ['several of one pod', { pods: [podThatSaved(0, [20, 40])] }, [20, 40]],
    ['one that two pods tell of counts once', { pods: [podThatSaved(0, [40]), podThatSaved(1, [40])] }, [40]],
    ['a message of another epoch is not believed', { pods: [podThatSaved(0, [40], { epoch: 2 })] }, []],
    ['also where somebody has deleted the placement', { placements: [], pods: [podThatSaved(0, [40])] }, [40]],
    ['an epoch that status does not know is not believed', { job: aJob(), pods: [podThatSaved(0, [40])] }, []],
    ['the last step of the job counts, and none behind it', { pods: [podThatSaved(0, [100, 101])] }, [100]],
    [
      'the same where its length is given in tokens',
      { job: ofTokens(99.5 * 8 * 128), pods: [podThatSaved(0, [100, 101])] },
      [100],
    ],
    [
      'a recorded one is left out',
      { pods: [podThatSaved(0, [20, 40])], checkpoints: [aCheckpoint(job, { spec: { step: 40 } })] },
      [20],
    ],
    [
      'nothing is believed of a gang whose end is recorded',
      { job: recorded({ stage: 'Ended', outcome: 'Failed', reason: 'EngineFailed' }), pods: [podThatSaved(0, [40])] },
      [],
    ],
    [
      'nor of one that finished, whose saves were recorded before',
      { job: recorded({ stage: 'Ended', outcome: 'Succeeded' }), pods: [podThatSaved(0, [40])] },
      [],
    ],
    [
      'nor of an earlier one, while the next is under way',
      {
        job: aJob({
          status: aStatus({
            attempts: [anAttempt({ stage: 'Ended', outcome: 'Failed', reason: 'NodeLost' }), anAttempt({ epoch: 2 })],
          }),
        }),
        pods: [podThatSaved(0, [40])],
      },
      [],
    ],
    [
      'of a gang that failed what was saved before counts, and not what it saved behind the fence',
      {
        job: recorded({ stage: 'Stopping', outcome: 'Failed', reason: 'NodeLost', lastStep: 47 }),
        pods: [podThatSaved(0, [40, 60])],
      },
      [40],
    ],
    [
      'where nobody knows how far it had come, what verified counts',
      {
        job: recorded({ stage: 'Stopping', outcome: 'Failed', reason: 'NodeLost' }),
        pods: [podThatSaved(0, [40])],
      },
      [40],
    ],
    [
      'a gang that is evicted or suspended saves while it stops',
      {
        job: recorded({ stage: 'Stopping', outcome: 'Failed', reason: 'Evicted', lastStep: 47 }),
        pods: [podThatSaved(0, [60])],
      },
      [60],
    ],
    [
      'a job that is being deleted leaves them',
      {
        job: aJob({ status: aStatus(), metadata: { deletionTimestamp: NOW.toISOString() } }),
        pods: [podThatSaved(0, [40])],
      },
      [],
    ],
    ['a pod that still runs tells nothing', { pods: [aPod(job)] }, []],
    [
      'a job without checkpoints has none',
      { job: aJob({ spec: { checkpoint: undefined } }), pods: [podThatSaved(0, [40])] },
      [],
    ],
  ])('%s', (_sentence, observed, want) => {
    expect(stepsIn(observed)).toEqual(want);
  });
});

describe('the end of a gang that saved while nobody listened', () => {
  const stageIn = (observed: Observed) => decide(observed, NOW).status.attempts?.at(-1)?.stage;
  const finished = (checkpoints: Observed['checkpoints'] = []): Observed =>
    aRunningJob({
      pods: () =>
        [0, 1].map((podIndex) => ({ ...podThatSaved(podIndex, [40], { kind: 'finished' }), phase: 'Succeeded' })),
      observed: { checkpoints },
    });
  const stopping = (checkpoints: Observed['checkpoints'] = []): Observed =>
    aRunningJob({
      status: { attempts: [anAttempt({ stage: 'Stopping', outcome: 'Suspended', reason: 'SuspendRequested' })] },
      spec: { spec: { suspend: true } },
      pods: () => [0, 1].map((podIndex) => podThatSaved(podIndex, [40], { kind: 'stopped' })),
      observed: { checkpoints },
    });

  it.each([
    ['one that finished', finished, 'Released'],
    ['one that was asked to stop', stopping, 'Stopping'],
  ])('%s is recorded after its saves are, not before', (_sentence, seen, before) => {
    expect(stageIn(seen())).toBe(before);
    expect(kinds(settled(seen()).actions)).toContain('createCheckpoint');
    expect(stageIn(seen([aCheckpoint(job, { spec: { step: 40 } })]))).toBe('Ended');
  });

  it.each([
    ['one that finished', finished, 'Complete'],
    ['one that was asked to stop', stopping, 'Suspended'],
  ])(
    '%s does not wait for what the API server refuses: status keeps that, and a condition tells it',
    (_s, seen, state) => {
      const refused = { message: 'exceeded quota: checkpoints', retryInMs: 30_000 };
      const refusedCheckpoints = new Map([['createCheckpoint/tiny-gpt-3f1c2b9e-e1-s40', refused]]);
      const { status, actions, requeueAfterMs } = settled({ ...seen(), refusedCheckpoints });
      expect(status).toMatchObject({ state, unrecordedCheckpoints: [{ spec: { epoch: 1, step: 40 } }] });
      expect(findCondition(status.conditions, 'CheckpointsRecorded')).toMatchObject({
        status: 'False',
        reason: 'CheckpointRefused',
        message: expect.stringContaining('e1-s40 of step 40: exceeded quota: checkpoints') as string,
      });
      expect(kinds(actions)).not.toContain('createCheckpoint');
      expect(requeueAfterMs).toBe(30_000);

      const later = { ...seen(), job: { ...seen().job, status } };
      expect(kinds(settled(later).actions).at(-1)).toBe('createCheckpoint');
      const made = settled({ ...later, checkpoints: [aCheckpoint(job, { spec: { step: 40 } })] });
      expect(made.status.unrecordedCheckpoints).toBeUndefined();
      expect(findCondition(made.status.conditions, 'CheckpointsRecorded')).toBeUndefined();
    },
  );

  it('never begins from scratch beside a save that is refused: the job waits and lists it', () => {
    const { spec } = aCheckpoint(job, { spec: { step: 40 } });
    const name = 'tiny-gpt-3f1c2b9e-e1-s40';
    const attempts = [anAttempt({ stage: 'Ended', outcome: 'Failed', reason: 'NodeLost', answer: 'Restart' })];
    const unrecordedCheckpoints = [{ name, spec, refusal: 'exceeded quota' }];
    const seen = aRunningJob({ status: { attempts, unrecordedCheckpoints }, pods: () => [] });
    const placed = findCondition(settled(seen).status.conditions, 'Placed');
    expect(placed).toMatchObject({ status: 'False', reason: 'CheckpointsUnusable' });
    expect(placed?.message).toContain(`step 40 (${name}): saved, but its object is refused: exceeded quota`);
  });

  it('brings back no Checkpoint that somebody deletes afterwards, out of a pod that is kept for its logs', () => {
    const attempts = [
      anAttempt({ stage: 'Ended', outcome: 'Failed', reason: 'EngineFailed', charged: true, answer: 'Restart' }),
    ];
    const seen = aRunningJob({ status: { attempts }, pods: () => [podThatSaved(0, [40])] });
    expect(kinds(settled(seen).actions)).not.toContain('createCheckpoint');
  });
});
