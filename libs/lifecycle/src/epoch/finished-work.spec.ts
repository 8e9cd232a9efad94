import type { TerminationCause, TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { findCondition, leftBehindMark } from '@coxswain/api-types';
import type { aTrainingJob } from '@coxswain/api-types/testing';
import { newestFailure } from '../failure/newest-failure.ts';
import type { Observed } from '../observation/observed.ts';
import { aCheckpoint, anExit, aPod } from '../testing/index.ts';
import { anAttempt, aRunningJob, EARLIER, settled } from '../testing/jobs.ts';

type Spec = NonNullable<Parameters<typeof aTrainingJob>[0]>['spec'];
type Work = NonNullable<TerminationCause['work']>;

const NO_WORK: Work = { stepsVisible: true, savedFiles: false, cpuMs: 60_000 };

/** A gang of two pods whose ranks have all exited with 0. */
function finished(about: {
  readonly spec?: Spec;
  readonly work?: Partial<Work> | undefined;
  readonly cause?: Partial<TerminationCause>;
  readonly status?: Partial<TrainingJobStatus>;
  readonly observed?: (job: TrainingJob) => Partial<Observed>;
}): Observed {
  const work = 'work' in about && about.work === undefined ? {} : { work: { ...NO_WORK, ...about.work } };
  const exit = anExit(
    { exitCode: 0, reason: 'Completed' },
    { kind: 'finished', exitCode: 0, lastLines: [], ...work, ...about.cause },
  );
  const observed = aRunningJob({
    spec: { spec: about.spec ?? {} },
    status: { attempts: [anAttempt({ runningAt: EARLIER })], ...about.status },
    pods: (job) => [0, 1].map((podIndex) => aPod(job, { podIndex, phase: 'Succeeded', running: false, exit })),
  });
  return { ...observed, ...about.observed?.(observed.job) };
}

const ends = (observed: Observed): readonly [string | undefined, string | undefined] => {
  const { status } = settled(observed);
  const failed = findCondition(status.conditions, 'Failed')?.reason;
  return [status.state, failed ?? findCondition(status.conditions, 'Complete')?.message];
};

const FINISHED = 'Every rank of attempt 1 finished.';

describe('a gang whose ranks all exit with 0', () => {
  it.each<[string, Parameters<typeof finished>[0]]>([
    ['has trained nothing where steps and saves are visible and there are none', {}],
    ['has trained nothing without a hook if it was asked for checkpoints', { work: { stepsVisible: false } }],
    [
      'has trained nothing without a hook or a claim if it used hardly any CPU time',
      { spec: { checkpoint: undefined }, work: { stepsVisible: false, cpuMs: 300 } },
    ],
    ['has trained nothing where its ranks only met', { work: { collectives: 12 } }],
    [
      'has trained nothing where only checkpoints were asked for',
      { spec: { training: undefined, model: undefined }, work: { stepsVisible: false, cpuMs: 0 } },
    ],
  ])('%s', (_sentence, about) => {
    const { status } = settled(finished(about));
    expect([status.state, findCondition(status.conditions, 'Failed')?.reason]).toEqual(['Failed', 'NothingTrained']);
    expect(status.attempts).toMatchObject([
      { outcome: 'Failed', reason: 'NothingTrained', charged: true, answer: 'GiveUp', judgement: { blame: 'program' } },
    ]);
    expect(status.incidents).toMatchObject([{ kind: 'NotTraining', action: 'GaveUp', outcome: 'GivenUp' }]);
    expect(status.summary).toMatch(/exited with code 0, and the job made no step and no checkpoint; its spec asks for/);
    expect(status.summary).toMatch(/sets spec\.expects to Nothing/);
    expect(status.summary).toMatch(/(No rank reported a step|No hook or engine of the ranks reported).* CPU time\./);
  });

  const RAISED = ['Traceback (most recent call last):', '  File "train.py", line 3, in main'];
  it.each<[string, readonly string[], string, string]>([
    ['is the program’s', ['RuntimeError: loss is nan at step 3', 'wrapper done'], 'NothingTrained', 'GiveUp'],
    ['is of no known class', ['struct.error: unpack requires a buffer of 4 bytes'], 'NothingTrained', 'GiveUp'],
    [
      'is the environment’s, and tries again',
      ['botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://s3/index"'],
      'EngineFailed',
      'Restart',
    ],
  ])('names the error that exit code 0 hides, which %s', (_sentence, [error = '', ...after], reason, answer) => {
    const lastLines = ['step 29 loss 2.1', 'step 30 loss 2.0', ...RAISED, error, ...after];
    const { status } = settled(finished({ cause: { lastLines } }));
    expect(status.attempts).toMatchObject([{ reason, answer }]);
    expect(status.summary).toContain(`The exit code hides an error: ${error}.`);
    expect(status.summary).toContain('although its log shows steps');
    const failure = newestFailure({ name: 'tiny', state: status.state ?? '', attempts: status.attempts ?? [] });
    expect(failure?.lastLines).toEqual([...RAISED, error, ...after]);
    expect(failure?.verdict.split(error)).toHaveLength(2);
  });

  it('says that a shell did not wait for its program', () => {
    const { status } = settled(finished({ cause: { lastLines: ['started', leftBehindMark('rank 0', 'python3')] } }));
    expect(findCondition(status.conditions, 'Failed')?.reason).toBe('NothingTrained');
    expect(status.summary).toContain(
      'ended while it had not waited for python3, which ended with it. Start the program',
    );
    expect(status.summary).not.toContain('Check what the program does');
  });

  it.each<[string, Parameters<typeof finished>[0], string | RegExp]>([
    [
      'is complete where its log shows steps that nothing observes',
      { cause: { lastLines: ['step 119/120 | loss: nan', 'step 118/120 | loss: 2.0', 'step 119/120 | loss: 2.1'] } },
      /No step and no checkpoint of it was reported, although its log shows steps, so Coxswain cannot tell/,
    ],
    [
      'is complete where it made fewer steps than asked, and names the error at the end of its log',
      { cause: { lastStep: 3, lastLines: [...RAISED, 'ValueError: empty parameter list'] } },
      /last reported step is 3 of \d+\. Its log ends with an error: ValueError: empty parameter list\. It saved no checkpoint: spec\.checkpoint\.everySteps is 20\.$/,
    ],
    [
      'is complete without an error that its program survived',
      { cause: { lastStep: 3, lastLines: [...RAISED, 'ValueError: retry', 'saved the model, bye'] } },
      /last reported step is 3 of \d+\. It saved no checkpoint: spec\.checkpoint\.everySteps is 20\.$/,
    ],
    ['is complete where the job says that it expects nothing', { spec: { expects: 'Nothing' } }, FINISHED],
    [
      'is complete where nothing was asked for',
      { spec: { training: undefined, model: undefined, checkpoint: undefined } },
      FINISHED,
    ],
    [
      'is complete where a checkpoint is recorded',
      { observed: (job) => ({ checkpoints: [aCheckpoint(job)] }) },
      FINISHED,
    ],
    [
      'is complete where the launcher reports its last step',
      { cause: { lastStep: 1_000_000 } },
      `${FINISHED} It saved no checkpoint.`,
    ],
    [
      'is complete where an earlier attempt trained all steps',
      { status: { progress: { step: 1_000_000, reportedAt: EARLIER } } },
      `${FINISHED} It saved no checkpoint.`,
    ],
    [
      'is complete and says so where it made fewer steps than asked',
      { cause: { lastStep: 3 } },
      /last reported step is 3 of \d+\. It saved no checkpoint: spec\.checkpoint\.everySteps is 20\.$/,
    ],
    [
      'is complete and says that nothing was seen where files lie in its directory',
      { work: { savedFiles: true } },
      /No step and no checkpoint of it was reported, although files lie .* cannot tell whether it made/,
    ],
    [
      'is complete and says that nothing could be seen where no rank has a hook and it has no claim',
      { spec: { checkpoint: undefined }, work: { stepsVisible: false } },
      /no hook or engine of its ranks reports steps, so Coxswain cannot tell whether it made \d+ steps\.$/,
    ],
    [
      'is complete and says so where it imports PyTorch, and has worked for long without a step that the hook observes',
      { spec: { checkpoint: undefined }, work: { cpuMs: 36_000_000 } },
      /reported, although its ranks used 36000 s of CPU time, so Coxswain cannot tell whether it made \d+ steps\.$/,
    ],
    [
      'is complete and says so where its interval of saves may be longer than hours of work that reports no step',
      { work: { stepsVisible: false, cpuMs: 36_000_000 } },
      /and no hook or engine of its ranks reports steps, so Coxswain cannot tell whether it made \d+ steps and checkpoints\.$/,
    ],
    [
      'is complete and says so where its ranks completed many collectives and reported no step',
      { work: { collectives: 50_000 } },
      /although its ranks used 60 s of CPU time and completed 50000 collectives, so Coxswain cannot tell/,
    ],
    [
      'is complete and says that it saved nothing, where its steps were seen and its interval is longer',
      { spec: { checkpoint: { claimName: 'c', everySteps: 5_000 } }, cause: { lastStep: 3 } },
      /last reported step is 3 of \d+\. It saved no checkpoint: spec\.checkpoint\.everySteps is 5000\.$/,
    ],
    [
      'is complete where its launchers are of an earlier release',
      { work: undefined },
      /No step and no checkpoint of it was reported, so Coxswain cannot tell/,
    ],
  ])('%s', (_sentence, about, message) => {
    const [state, said] = ends(finished(about));
    expect(state).toBe('Complete');
    expect(said).toMatch(message);
  });
});
