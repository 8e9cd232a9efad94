import { decide } from './decide.ts';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { aCheckpoint, anExit, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, EARLIER, kinds, NOW, settled } from '../testing/jobs.ts';

const deleted = { deletionTimestamp: EARLIER } as const;
const succeeded = { phase: 'Succeeded', running: false, exit: { exitCode: 0, reason: 'Completed' } } as const;
const failed = { phase: 'Failed', running: false, exit: anExit() } as const;
const stopping = anAttempt({ stage: 'Stopping', outcome: 'Suspended', reason: 'SuspendRequested', charged: false });

/** Both pods of attempt 1, held, each as told. */
const gang =
  (...overrides: readonly Partial<ObservedPod>[]) =>
  (job: Parameters<typeof aPod>[0]): readonly ObservedPod[] =>
    overrides.map((one, podIndex) => aPod(job, { podIndex, held: true, ...one }));

/** A pod that somebody deleted before it had a node. */
function withoutNode(job: Parameters<typeof aPod>[0], overrides: Partial<ObservedPod> = {}): ObservedPod {
  const { nodeName: _, ...pod } = aPod(job, { held: true, phase: 'Pending', running: false, ...deleted, ...overrides });
  return pod;
}

describe('a gang that ended while nobody looked, and whose pods were deleted since', () => {
  it('has finished when every pod says so, and its pods are let go of', () => {
    const { status, actions } = settled(
      aRunningJob({ pods: gang({ ...succeeded, ...deleted }, { ...succeeded, ...deleted }) }),
    );
    expect(status).toMatchObject({ state: 'Complete', restarts: { total: 0, charged: 0 } });
    expect(kinds(actions)).toEqual(['releasePods']);
  });

  it('has failed with the exit code that its pods say, and not because a pod was lost', () => {
    const { status } = settled(aRunningJob({ pods: gang({ ...failed, ...deleted }, { ...failed, ...deleted }) }));
    expect(status.attempts?.[0]).toMatchObject({ stage: 'Ended', reason: 'EngineFailed', charged: true });
  });
});

describe('a pod is let go of', () => {
  const cases: readonly { readonly name: string; readonly seen: Observed; readonly want: readonly string[] }[] = [
    { name: 'not while its gang runs', seen: aRunningJob({ pods: gang({}, {}) }), want: [] },
    {
      name: 'not before the whole gang has ended',
      seen: aRunningJob({
        spec: { spec: { suspend: true } },
        status: { attempts: [stopping] },
        pods: gang({ ...failed, ...deleted }, deleted),
      }),
      want: [],
    },
    {
      name: 'when the end of its gang is recorded',
      seen: aRunningJob({
        spec: { spec: { suspend: true } },
        status: { attempts: [stopping] },
        pods: gang({ ...failed, ...deleted }, { ...failed, ...deleted }),
      }),
      want: ['releasePods'],
    },
    {
      name: 'once: one that carries our finalizer no more is left alone',
      seen: aRunningJob({
        spec: { spec: { suspend: true } },
        status: { attempts: [stopping] },
        pods: gang({ ...failed, held: false }, { ...failed, held: false }),
      }),
      want: [],
    },
    {
      name: 'not before the checkpoint that only it tells of is recorded',
      seen: savedUnheard(),
      want: ['createCheckpoint'],
    },
    {
      name: 'after the checkpoint that only it tells of is recorded',
      seen: { ...savedUnheard(), checkpoints: [aCheckpoint(aJob(), { spec: { step: 40 } })] },
      want: ['createPlacement', 'releasePods'],
    },
    {
      name: 'before its job is',
      seen: aRunningJob({
        spec: { metadata: { deletionTimestamp: EARLIER } },
        status: { attempts: [anAttempt({ stage: 'Ended', outcome: 'Cancelled', reason: 'CancelRequested' })] },
        pods: gang(failed, failed),
      }),
      want: ['releasePods', 'removeFinalizer'],
    },
    {
      name: 'when it was deleted before it had a node and its gang is being made, so that its successor can be',
      seen: observe({
        job: aJob({ status: aStatus({ attempts: [anAttempt({ stage: 'Creating' })] }) }),
        placements: [aPlacement(aJob())],
        pods: [withoutNode(aJob(), { gated: true }), aPod(aJob(), { podIndex: 1, held: true, gated: true })],
      }),
      want: ['releasePods'],
    },
  ];
  it.each(cases)('$name', ({ seen, want }) => {
    expect(kinds(settled(seen).actions)).toEqual(want);
  });
});

it('a pod that was deleted before it had a node is lost to a gang that was released, is not waited for, and costs nothing: it never ran', () => {
  const seen = aRunningJob({ pods: (job) => [withoutNode(job), aPod(job, { podIndex: 1, held: true })] });
  const { status } = decide(seen, NOW);
  expect(status.attempts?.[0]).toMatchObject({ stage: 'Stopping', reason: 'PodNeverRan', charged: false });
  expect(status.restarts.charged).toBe(0);
  const over = aRunningJob({
    status: { attempts: status.attempts ?? [] },
    pods: (job) => [withoutNode(job), aPod(job, { podIndex: 1, held: true, ...failed, ...deleted })],
  });
  expect(settled(over).status.attempts?.[0]).toMatchObject({ stage: 'Ended' });
});

/** A gang that failed, recorded, and left a checkpoint of step 40 that only a termination message tells of. */
function savedUnheard(): Observed {
  const { spec } = aCheckpoint(aJob(), { spec: { step: 40 } });
  const { step, format, bytes, files, manifestSha256 } = spec;
  const saved = { step, directory: 'step-40', format, bytes, files, manifestSha256 };
  const exit = anExit({}, { unreportedCheckpoints: [saved] });
  return aRunningJob({
    status: { attempts: [anAttempt({ stage: 'Stopping', outcome: 'Failed', answer: 'Restart', charged: true })] },
    pods: gang({ ...failed, exit }),
  });
}
