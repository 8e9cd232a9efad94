import { ANNOTATIONS, type Checkpoint } from '@coxswain/api-types';
import { aVerification } from '@coxswain/api-types/testing';
import { decide } from './decide.ts';
import type { Observed } from '../observation/observed.ts';
import { aCheckpoint, aPod } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, EARLIER, kinds, NOW, settled } from '../testing/jobs.ts';

const job = aJob();
const saved = (
  step: number,
  more: { readonly epoch?: number; readonly status?: Checkpoint['status'] } = {},
): Checkpoint => {
  const { epoch = 1, status = { state: 'Complete' } } = more;
  const checkpoint = aCheckpoint(job, { spec: { step, epoch }, status });
  return { ...checkpoint, metadata: { ...checkpoint.metadata, resourceVersion: `${epoch}${step}` } };
};
const damaged = { status: { state: 'Damaged' } } as const;
const DAMAGED = aVerification({ level: 'V3', verdict: 'damaged', by: 'Worker' });
const pinned = (checkpoint: Checkpoint): Checkpoint => ({
  ...checkpoint,
  metadata: { ...checkpoint.metadata, annotations: { [ANNOTATIONS.pin]: 'the paper' } },
});
const steps = (...all: readonly number[]): readonly Checkpoint[] => all.map((step) => saved(step));

/** A job of which three checkpoints are kept, and two once it is finished. */
function seen(checkpoints: readonly Checkpoint[], about: Parameters<typeof aRunningJob>[0] = {}): Observed {
  const observed = { retention: { checkpoints: 3, checkpointsOfFinished: 2 }, checkpoints, ...about.observed };
  return aRunningJob({ ...about, observed });
}

const collected = (observed: Observed): readonly string[] =>
  settled(observed).actions.flatMap((action) =>
    action.kind === 'deleteCheckpoints' ? action.checkpoints.map(({ name }) => name.replace(/^.*-(?=e\d)/, '')) : [],
  );

const finished = { attempts: [anAttempt({ stage: 'Ended', outcome: 'Succeeded' })] };

describe('of the Checkpoint objects of a job', () => {
  it.each<[string, Observed, readonly string[]]>([
    ['as many are kept as the policy says', seen(steps(10, 20, 30)), []],
    ['the oldest go when there are more', seen(steps(10, 20, 30, 40, 50)), ['e1-s20', 'e1-s10']],
    [
      'one that a user pinned stays, and keeps no place of another',
      seen([pinned(saved(10)), ...steps(20, 30, 40, 50)]),
      ['e1-s20'],
    ],
    ['fewer are kept of a finished job', seen(steps(10, 20, 30), { status: finished }), ['e1-s10']],
    [
      'newest are those that were saved last, though an earlier epoch had come further',
      seen([saved(80), saved(90), saved(10, { epoch: 2 }), saved(20, { epoch: 2 }), saved(30, { epoch: 2 })], {
        status: { attempts: [anAttempt({ epoch: 2 })], resumeFrom: { from: 'scratch', epoch: 2 } },
      }),
      ['e1-s80'],
    ],
    [
      'damaged ones keep no place',
      seen([...steps(10, 20, 30, 40), saved(50, damaged), saved(60, damaged)]),
      ['e1-s10'],
    ],
    [
      'those whose bytes were found damaged keep no place',
      seen([...steps(10, 20, 30, 40), saved(50, { status: { state: 'Complete', verification: DAMAGED } })]),
      ['e1-s10'],
    ],
    [
      'those older than what is kept go as well, damaged or without a state',
      seen([saved(5, damaged), ...steps(10, 20, 30, 40)]),
      ['e1-s10', 'e1-s5'],
    ],
    [
      'the one that the gang under way began from stays',
      seen(steps(10, 20, 30, 40, 50), {
        status: { attempts: [anAttempt({ resumedFrom: { checkpoint: saved(10).metadata.name, step: 10 } })] },
      }),
      ['e1-s20'],
    ],
    [
      'the one that a person names stays',
      seen(steps(10, 20, 30, 40, 50), { spec: { spec: { resumeFrom: { from: saved(20).metadata.name } } } }),
      ['e1-s10'],
    ],
    [
      'the last complete one stays, however many came after it',
      seen([saved(10), ...[20, 30, 40, 50].map((step) => saved(step, damaged))]),
      [],
    ],
    [
      'none goes while pods may still tell of them',
      seen(steps(10, 20, 30, 40, 50), {
        pods: (one) => [aPod(one, { phase: 'Succeeded', running: false }), aPod(one, { podIndex: 1 })],
      }),
      [],
    ],
    [
      'none goes with a job that is deleted',
      seen(steps(10, 20, 30, 40, 50), { spec: { metadata: { deletionTimestamp: EARLIER } } }),
      [],
    ],
  ])('%s', (_sentence, observed, want) => {
    expect(collected(observed)).toEqual(want);
  });

  it('go in batches, so that each new one does not cost a live read', () => {
    const many = (count: number): readonly Checkpoint[] => steps(...Array.from({ length: count }, (_, step) => step));
    const of = (count: number) =>
      collected(seen(many(count), { observed: { retention: { checkpoints: 20, checkpointsOfFinished: 2 } } })).length;
    expect([20, 21, 22, 23].map(of)).toEqual([0, 0, 0, 3]);
  });

  it('go by UID and resourceVersion, after a live read', () => {
    const observed = seen(steps(10, 20, 30, 40));
    const cached = { ...observed, isProven: false, isStatusProven: true };
    const { status } = decide(observed, NOW);
    expect(kinds(decide({ ...cached, job: { ...observed.job, status } }, NOW).actions)).toEqual(['readCheckpoints']);
    const { metadata } = saved(10);
    const { name, uid, resourceVersion } = metadata;
    expect(settled(observed).actions).toEqual([
      { kind: 'deleteCheckpoints', checkpoints: [{ name, uid, resourceVersion }] },
    ]);
  });

  it('one that the API server does not let go of is tried again later', () => {
    const refused = { message: 'forbidden', retryInMs: 30_000 };
    const refusedCheckpoints = new Map([[`deleteCheckpoint/${saved(10).metadata.name}`, refused]]);
    expect(collected({ ...seen(steps(10, 20, 30, 40)), refusedCheckpoints })).toEqual([]);
  });

  it('one hundred stay where nobody says otherwise', () => {
    const all = steps(...Array.from({ length: 150 }, (_, step) => step));
    expect(collected(aRunningJob({ observed: { checkpoints: all } }))).toHaveLength(50);
  });
});
