import type { Checkpoint } from '@coxswain/api-types';
import { aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { CheckpointManifest, checkpointName, keptLogsPlace, newestRestorable, saveDirectoryOf } from './index.ts';
import { aCheckpoint, aManifest } from './testing/index.ts';

const job = aTrainingJob();
const { uid: jobUid } = job.metadata;

function verified(spec: Partial<Checkpoint['spec']>, verification?: Parameters<typeof aVerification>[0]): Checkpoint {
  return { ...aCheckpoint(spec), status: { state: 'Complete', verification: aVerification(verification) } };
}

describe('the checkpoint to resume from', () => {
  const cases: readonly {
    readonly name: string;
    readonly checkpoints: readonly Checkpoint[];
    readonly want: number | undefined;
  }[] = [
    { name: 'is none when there are none', checkpoints: [], want: undefined },
    {
      name: 'has the highest step',
      checkpoints: [aCheckpoint({ step: 20 }), aCheckpoint({ step: 100 }), aCheckpoint({ step: 40 })],
      want: 100,
    },
    {
      name: 'is not a damaged one',
      checkpoints: [aCheckpoint({ step: 20 }), { ...aCheckpoint({ step: 40 }), status: { state: 'Damaged' } }],
      want: 20,
    },
    {
      name: 'is not one whose state is unknown',
      checkpoints: [withoutStatus(aCheckpoint({ step: 40 }))],
      want: undefined,
    },
    ...(['damaged', 'incomplete'] as const).map((verdict) => ({
      name: `is not one whose bytes were found ${verdict}`,
      checkpoints: [aCheckpoint({ step: 20 }), verified({ step: 40 }, { verdict })],
      want: 20,
    })),
    ...(['suspect', 'unverifiable'] as const).map((verdict) => ({
      name: `may be one whose bytes were found ${verdict}`,
      checkpoints: [aCheckpoint({ step: 20 }), verified({ step: 40 }, { verdict })],
      want: 40,
    })),
    { name: 'is not of another job', checkpoints: [aCheckpoint({ step: 40, jobUid: 'another' })], want: undefined },
    {
      name: 'is not one that is being deleted',
      checkpoints: [deleting(aCheckpoint({ step: 40 })), aCheckpoint({ step: 20 })],
      want: 20,
    },
  ];
  it.each(cases)('$name', ({ checkpoints, want }) => {
    expect(newestRestorable(checkpoints, { jobUid })?.spec.step).toBe(want);
  });

  it.each<[sentence: string, earlier: Checkpoint, later: Checkpoint, epoch: number]>([
    [
      'found sound by all its bytes, rather than by its structure',
      verified({ epoch: 1 }, { level: 'V3' }),
      verified({ epoch: 2 }),
      1,
    ],
    [
      'found sound by all its bytes, rather than as an earlier release recorded it',
      verified({ epoch: 1 }, { level: 'V3' }),
      aCheckpoint({ epoch: 2 }),
      1,
    ],
    ['later, when both were verified as closely', verified({ epoch: 1 }), aCheckpoint({ epoch: 2 }), 2],
    [
      'later, when the bytes of the other cannot show that they are right',
      verified({ epoch: 1 }, { level: 'V3', verdict: 'unverifiable' }),
      verified({ epoch: 2 }),
      2,
    ],
    ['not suspect', verified({ epoch: 1 }), verified({ epoch: 2 }, { level: 'V3', verdict: 'suspect' }), 1],
  ])('is of two of the same step the one that is %s', (_sentence, earlier, later, epoch) => {
    for (const order of [
      [earlier, later],
      [later, earlier],
    ])
      expect(newestRestorable(order, { jobUid })?.spec.epoch).toBe(epoch);
  });

  it('is of two of the same step the one of the later epoch', () => {
    const both = [aCheckpoint({ epoch: 2 }), aCheckpoint({ epoch: 3 }), aCheckpoint({ epoch: 1 })];
    expect(newestRestorable(both, { jobUid })?.spec.epoch).toBe(3);
  });

  it('is of two of the same step and epoch the one of the later incarnation', () => {
    const all = [aCheckpoint(), aCheckpoint({ incarnation: 3 }), aCheckpoint({ incarnation: 2 })];
    for (const order of [all, all.toReversed()]) expect(newestRestorable(order, { jobUid })?.spec.incarnation).toBe(3);
    expect(newestRestorable([...all, aCheckpoint({ epoch: 2 })], { jobUid })?.spec.epoch).toBe(2);
  });
});

describe('names and places', () => {
  it.each([
    [{ epoch: 2 }, 'tiny-gpt-3f1c2b9e-e2-s40'],
    [{ epoch: 2, incarnation: 1 }, 'tiny-gpt-3f1c2b9e-e2-s40'],
    [{ epoch: 2, incarnation: 3 }, 'tiny-gpt-3f1c2b9e-e2i3-s40'],
  ])('name a checkpoint that %j saved %s', (fence, want) => {
    expect(checkpointName(job.metadata, { ...fence, step: 40 })).toBe(want);
  });

  it.each([
    { path: '', incarnation: undefined, want: 'tiny-gpt-3f1c2b9e/epoch-2' },
    { path: 'runs/', incarnation: 1, want: 'runs/tiny-gpt-3f1c2b9e/epoch-2' },
    { path: 'runs', incarnation: 2, want: 'runs/tiny-gpt-3f1c2b9e/epoch-2-2' },
  ])('below "$path" incarnation $incarnation of epoch 2 saves into $want', ({ path, incarnation, want }) => {
    const spec = { checkpoint: { claimName: 'c', path } };
    expect(saveDirectoryOf(aTrainingJob({ spec }), { epoch: 2, incarnation })).toBe(want);
  });

  it.each([
    ['runs/tiny-gpt-3f1c2b9e/epoch-2-2', 'runs/coxswain-logs/team-a'],
    ['a/b/tiny-gpt-3f1c2b9e/epoch-2', 'a/b/coxswain-logs/team-a'],
    ['tiny-gpt-3f1c2b9e/epoch-2', 'coxswain-logs/team-a'],
  ])('a job of team-a that saves into %s keeps its logs below %s', (saveDirectory, folder) => {
    expect(keptLogsPlace(saveDirectory, 'team-a')).toEqual({ folder, job: 'tiny-gpt-3f1c2b9e' });
  });

  it('there is no place when the job keeps no checkpoints', () => {
    expect(saveDirectoryOf(aTrainingJob({ spec: { checkpoint: undefined } }), { epoch: 1 })).toBeUndefined();
  });
});

describe('a manifest', () => {
  it('that lists a file twice is refused', () => {
    const [file] = aManifest().files;
    const parsed = CheckpointManifest.safeParse({ ...aManifest(), files: [file, file] });
    expect(parsed.error?.issues).toMatchObject([{ path: ['files'], message: 'must list each file once' }]);
  });

  it.each(['/etc/passwd', '../other', 'a/../../b', ''])('may not list the path "%s"', (path) => {
    expect(
      CheckpointManifest.safeParse({ ...aManifest(), files: [{ path, bytes: 1, sha256: 'a'.repeat(64) }] }).success,
    ).toBe(false);
  });

  it('may hold what else an engine wants to know of its model', () => {
    const model = { ...aManifest().model, vocabularySize: 256 };
    expect(CheckpointManifest.parse({ ...aManifest(), model }).model).toEqual(model);
  });

  it.each([{ formatVersion: 2 }, { step: -1 }, { files: [] }, { layout: { tensorParallelDegree: 0 } }])(
    'with %j is refused',
    (change) => {
      expect(CheckpointManifest.safeParse({ ...aManifest(), ...change }).success).toBe(false);
    },
  );
});

function withoutStatus({ status: _, ...checkpoint }: Checkpoint): Checkpoint {
  return checkpoint;
}

function deleting(checkpoint: Checkpoint): Checkpoint {
  return { ...checkpoint, metadata: { ...checkpoint.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
}
