import type { TerminationCause } from '@coxswain/api-types';
import { factsOf } from '../look/facts.ts';
import { aCheckpoint, anExit, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, aStatus } from '../testing/jobs.ts';
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
  unreportedCheckpoints(factsOf(observe({ job, placements: [aPlacement(job)], ...observed }))).map(
    ({ spec }) => spec.step,
  );

describe('checkpoints that only a termination message tells of', () => {
  it('are told with everything that a resource needs', () => {
    const facts = factsOf(observe({ job, placements: [aPlacement(job)], pods: [podThatSaved(0, [40])] }));
    expect(unreportedCheckpoints(facts)).toEqual([
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
    [
      'a recorded one is left out',
      { pods: [podThatSaved(0, [20, 40])], checkpoints: [aCheckpoint(job, { spec: { step: 40 } })] },
      [20],
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
