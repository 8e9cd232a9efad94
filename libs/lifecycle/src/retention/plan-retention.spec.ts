import {
  ANNOTATIONS,
  type Attempt,
  type Checkpoint,
  type CheckpointResourceStatus,
  type CheckpointRetention,
  type TrainingJob,
} from '@coxswain/api-types';
import { aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { newestRestorable } from '@coxswain/checkpoint';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import fc from 'fast-check';
import { aPlacement } from '../testing/builders.ts';
import { anAttempt } from '../testing/jobs.ts';
import { planRetention } from './plan-retention.ts';
import { withDeletionOrdered, withDeletionStarted } from './record-deletion.ts';
import type { RetentionView } from './uses.ts';

const KEEP_ONE: CheckpointRetention = { keepNewestVerified: 1 };
const { uid } = aTrainingJob().metadata;
const V2 = aVerification({ level: 'V2', by: 'Worker' });

interface Saved {
  readonly step: number;
  readonly level?: 'V1' | 'V2';
  readonly spec?: Partial<Checkpoint['spec']>;
  readonly status?: Partial<CheckpointResourceStatus>;
  readonly pin?: string;
}

function saved({ step, level = 'V2', spec, status, pin }: Saved): Checkpoint {
  const made = aCheckpoint({ step, ...spec });
  const annotations = pin === undefined ? {} : { annotations: { [ANNOTATIONS.pin]: pin } };
  return {
    ...made,
    metadata: { ...made.metadata, ...annotations },
    status: { state: 'Complete', verification: { ...V2, level }, ...status },
  };
}

function aView(saves: readonly Saved[], more: Partial<RetentionView> = {}): RetentionView {
  return { checkpoints: saves.map(saved), jobs: [aTrainingJob()], placements: [], readByPods: new Set(), ...more };
}

/** Steps that go. */
function deleted(view: RetentionView, policy: CheckpointRetention | undefined = KEEP_ONE): readonly number[] {
  return planRetention(uid, view, policy).flatMap(({ checkpoint, action }) =>
    action === 'Delete' ? [checkpoint.spec.step] : [],
  );
}

function whyKept(view: RetentionView, step: number, policy: CheckpointRetention | undefined = KEEP_ONE): string {
  const found = planRetention(uid, view, policy).find(({ checkpoint }) => checkpoint.spec.step === step);
  return found?.action === 'Keep' ? found.because : '';
}

const named = (step: number): string => aCheckpoint({ step }).metadata.name;
const resumedFrom = (step: number) => ({ checkpoint: named(step), step });
const jobWith = (attempt: Partial<Attempt>): TrainingJob =>
  aTrainingJob({ status: { epoch: 1, restarts: { total: 0, charged: 0 }, attempts: [anAttempt(attempt)] } });
const jobOf = (spec: NonNullable<Parameters<typeof aTrainingJob>[0]>['spec'], name = 'other'): TrainingJob =>
  aTrainingJob({ metadata: { name, uid: `uid-of-${name}` }, ...(spec === undefined ? {} : { spec }) });
const IN_BUCKET = { claimName: '', bucket: { uri: 's3://training/runs' } };
const TWO: readonly Saved[] = [{ step: 10 }, { step: 20 }];

it('deletes what is older than the newest verified saves, and names the saves that it relies on', () => {
  const [first] = planRetention(uid, aView([...TWO, { step: 30, level: 'V1' }]), KEEP_ONE);
  expect(first).toMatchObject({
    action: 'Delete',
    because: 'The newest 1 verified saves stay, and the policy keeps this one for no other reason.',
    survivors: [{ spec: { step: 20 } }],
  });
  expect(deleted(aView([...TWO, { step: 30, level: 'V1' }]))).toEqual([10]);
});

it('deletes saves in a bucket by the same rule', () => {
  expect(deleted(aView(TWO.map((one) => ({ ...one, spec: IN_BUCKET }))))).toEqual([10]);
});

it.each<[what: string, view: RetentionView, policy: CheckpointRetention | undefined]>([
  ['no policy is written', aView(TWO), undefined],
  ['only V1 shows that the newer one is good', aView([{ step: 10 }, { step: 20, level: 'V1' }]), KEEP_ONE],
  [
    'the release before recorded the newer one',
    aView([{ step: 10 }, { step: 20, status: { verification: undefined } }]),
    KEEP_ONE,
  ],
  [
    'the newer one is not on disk',
    aView([{ step: 10 }, { step: 20, status: { absent: { since: '2026-01-01T00:00:00Z' } } }]),
    KEEP_ONE,
  ],
  ['the newer one is damaged', aView([{ step: 10 }, { step: 20, status: { state: 'Damaged' } }]), KEEP_ONE],
])('deletes nothing if %s', (_what, view, policy) => {
  expect(planRetention(uid, view, policy).filter(({ action }) => action === 'Delete')).toEqual([]);
});

it.each<[what: string, view: RetentionView, why: RegExp]>([
  ['a user pinned', aView([{ step: 10, pin: 'for the paper' }, { step: 20 }]), /^It is pinned: for the paper\.$/],
  [
    'Coxswain did not write',
    aView([{ step: 10, spec: { path: 'mine/step-10' } }, { step: 20 }]),
    /^Coxswain did not write it\.$/,
  ],
  [
    'is the only verified one of its layout',
    aView([
      { step: 10, spec: { layout: { tensorParallelDegree: 4, pipelineParallelDegree: 1, dataParallelDegree: 1 } } },
      { step: 20 },
    ]),
    /newest verified save of its layout/,
  ],
  [
    'a live attempt resumed from',
    aView(TWO, { jobs: [jobWith({ resumedFrom: resumedFrom(10) })] }),
    /attempt 1 of job tiny-gpt resumed from it/,
  ],
  [
    'a live attempt verifies',
    aView(TWO, {
      jobs: [
        jobWith({
          passedOver: [{ ...resumedFrom(10), path: 'p', manifestSha256: 'a'.repeat(64), files: [], why: 'x' }],
        }),
      ],
    }),
    /attempt 1 of job tiny-gpt verifies it/,
  ],
  [
    'a placement of another job resumes from, whose attempt is not recorded yet',
    aView(TWO, {
      placements: [
        aPlacement(jobOf({}), {
          resume: { checkpoint: named(10), step: 10, path: 'p', manifestSha256: 'a'.repeat(64) },
        }),
      ],
    }),
    /attempt 1 of job other resumes from it/,
  ],
  [
    'a user named in spec.resumeFrom',
    aView(TWO, { jobs: [aTrainingJob({ spec: { resumeFrom: { from: named(10) } } })] }),
    /spec.resumeFrom of job tiny-gpt names it/,
  ],
  [
    'a placement resumes from by its place, although the object that it names is gone',
    aView(TWO, {
      placements: [
        aPlacement(jobOf({}), {
          resume: {
            ...{ checkpoint: 'adopted', step: 10, manifestSha256: 'a'.repeat(64) },
            ...{ claimName: aCheckpoint().spec.claimName, path: `./${aCheckpoint({ step: 10 }).spec.path}//` },
          },
        }),
      ],
    }),
    /attempt 1 of job other resumes from it/,
  ],
  [
    'a placement resumes from by its place in a bucket, whatever prefix its job names',
    aView(
      TWO.map((one) => ({ ...one, spec: IN_BUCKET })),
      {
        jobs: [aTrainingJob(), jobOf({ checkpoint: { bucket: { uri: 's3://training' } } })],
        placements: [
          aPlacement(jobOf({}), {
            resume: {
              ...{ checkpoint: 'gone', step: 10, manifestSha256: 'a'.repeat(64) },
              path: `runs/${aCheckpoint({ step: 10 }).spec.path}`,
            },
          }),
        ],
      },
    ),
    /attempt 1 of job other resumes from it/,
  ],
  ['a pod reads', aView(TWO, { readByPods: new Set([named(10)]) }), /a pod reads it/],
  [
    'another job began from',
    aView(TWO, {
      jobs: [
        aTrainingJob(),
        jobOf({
          initialWeights: {
            claimName: 'checkpoints',
            path: `${aCheckpoint().spec.path.replace('step-20', 'step-10')}/`,
            format: 'dcp',
          },
        }),
      ],
    }),
    /job other began from it/,
  ],
  [
    'holds another checkpoint',
    aView([
      { step: 10, spec: { path: 'tiny-gpt-3f1c2b9e/epoch-1/all' } },
      { step: 20, spec: { path: 'tiny-gpt-3f1c2b9e/epoch-1/all/step-20' } },
    ]),
    /its folder holds checkpoint/,
  ],
])('keeps a save that %s', (_what, view, why) => {
  expect([deleted(view), whyKept(view, 10)]).toEqual([[], expect.stringMatching(new RegExp(why.source, 'i'))]);
});

it.each<[what: string, view: RetentionView, why: RegExp]>([
  [
    'another checkpoint is suspect',
    aView([...TWO, { step: 30, status: { suspect: { reason: 'StorageUnavailable', evidence: [] } } }]),
    /while checkpoint .*-s30 is suspect/,
  ],
  [
    'one node found another one damaged',
    aView([...TWO, { step: 30, status: { verification: { ...V2, verdict: 'damaged' } } }]),
    /while checkpoint .*-s30 is suspect/,
  ],
  [
    'the last attempt could not read its checkpoint',
    aView(TWO, { jobs: [jobWith({ reason: 'CheckpointIoError' })] }),
    /attempt 1 could not read/,
  ],
])('deletes nothing of a job while %s', (_what, view, why) => {
  expect([deleted(view), whyKept(view, 10)]).toEqual([[], expect.stringMatching(why)]);
});

it.each<[what: string, status: Partial<NonNullable<Checkpoint['status']>>, steps: readonly number[]]>([
  ['and lets it go too', {}, [5, 10]],
  ['which stays if a pod found it incomplete', { verification: { ...V2, verdict: 'incomplete' } }, [10]],
  ['which stays while it is suspect', { suspect: { reason: 'ContentDiffers', evidence: [] } }, [10]],
])('goes on beside a save whose files are gone, %s', (_what, status, steps) => {
  const absent = { since: '2026-01-01T00:00:00Z' };
  const view = aView([{ step: 5, status: { ...status, absent } }, ...TWO]);
  expect(deleted(view)).toEqual(steps);
});

it('keeps the verified saves with the lowest loss, if the policy says so', () => {
  const view = aView([
    { step: 10, status: { progress: { loss: 2, lossStep: 10 } } },
    { step: 20, status: { progress: { loss: 1.5, lossStep: 20 } } },
    { step: 30, status: {} },
    { step: 40, status: { progress: { loss: 3, lossStep: 40 } } },
  ]);
  const policy: CheckpointRetention = { keepNewestVerified: 1, keepBestByLoss: 1 };
  expect(deleted(view, policy)).toEqual([10, 30]);
  expect(whyKept(view, 20, policy)).toBe('It is one of the 1 verified saves with the lowest loss.');
});

describe('a deletion that was ordered', () => {
  const ordered = (status: CheckpointResourceStatus): CheckpointResourceStatus =>
    withDeletionOrdered(status, 'Old.', '2026-01-01T00:00:00Z');
  const withStatus = (
    change: (status: CheckpointResourceStatus) => CheckpointResourceStatus,
    pin?: string,
  ): RetentionView => {
    const [old, ...rest] = aView([
      { step: 10, ...(pin === undefined ? {} : { pin }) },
      { step: 20 },
      { step: 30 },
    ]).checkpoints;
    return aView([], {
      checkpoints: [...(old?.status === undefined ? [] : [{ ...old, status: change(old.status) }]), ...rest],
    });
  };

  it('is decided again until it starts, and a pin takes it back', () => {
    expect([deleted(withStatus(ordered)), deleted(withStatus(ordered, 'wait'))]).toEqual([[10, 20], [20]]);
  });

  it('counts no more once it has started', () => {
    const started = withStatus((status) => withDeletionStarted(ordered(status), '2026-01-01T00:01:00Z'));
    expect(planRetention(uid, started, KEEP_ONE).map(({ checkpoint }) => checkpoint.spec.step)).toEqual([20, 30]);
  });
});

describe('the saves of a deleted job', () => {
  const DELETE = { retention: { action: 'Keep' as const, because: 'New.', whenJobIsDeleted: 'Delete' as const } };
  const saves: readonly Saved[] = [
    { step: 10, status: DELETE },
    { step: 20, status: DELETE },
  ];

  it.each<[what: string, view: RetentionView, goes: readonly number[]]>([
    ['go, even the last one, if their policy said so', aView(saves, { jobs: [] }), [10, 20]],
    ['stay if it did not', aView(TWO, { jobs: [] }), []],
    ['stay if a job of its name exists again', aView(saves, { jobs: [jobOf({}, 'tiny-gpt')] }), []],
    ['stay if they are pinned', aView([{ step: 10, status: DELETE, pin: '' }], { jobs: [] }), []],
    [
      'stay while one is suspect',
      aView([...saves, { step: 30, status: { suspect: { reason: 'Unreadable', evidence: [] } } }], { jobs: [] }),
      [],
    ],
  ])('%s', (_what, view, goes) => {
    expect(deleted(view, undefined)).toEqual(goes);
  });
});

const anySaved: fc.Arbitrary<Saved> = fc.record(
  {
    step: fc.integer({ min: 1, max: 30 }),
    level: fc.constantFrom('V1' as const, 'V2' as const),
    spec: fc.record({ epoch: fc.integer({ min: 1, max: 3 }) }),
    pin: fc.constant('x'),
  },
  { requiredKeys: ['step', 'level', 'spec'] },
);
const anySaves = fc.uniqueArray(anySaved, {
  maxLength: 12,
  selector: ({ step, spec }) => `${spec?.epoch ?? 1} ${step}`,
});

it('keeps what training would resume from, the newest verified saves, and deletes nothing more afterwards', () => {
  fc.assert(
    fc.property(anySaves, fc.integer({ min: 1, max: 3 }), (saves, keepNewestVerified) => {
      const view = aView(saves);
      const plan = planRetention(uid, view, { keepNewestVerified });
      const kept = plan.filter(({ action }) => action === 'Keep').map(({ checkpoint }) => checkpoint);
      const next = newestRestorable(view.checkpoints, { jobUid: uid });
      if (next !== undefined) expect(kept).toContainEqual(next);
      const isVerified = ({ status }: Checkpoint): boolean => status?.verification?.level === 'V2';
      const verified = view.checkpoints.filter(isVerified).length;
      expect(kept.filter(isVerified).length).toBeGreaterThanOrEqual(Math.min(verified, keepNewestVerified));
      const again = planRetention(uid, { ...view, checkpoints: kept }, { keepNewestVerified });
      expect(again.filter(({ action }) => action === 'Delete')).toEqual([]);
    }),
    { numRuns: 200 },
  );
});
