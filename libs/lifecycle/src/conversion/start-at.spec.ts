/** A job of DeepSpeed that saved on four ranks and goes on with two. */
import {
  type Attempt,
  type Checkpoint,
  findCondition,
  type JobConversion,
  type TrainingJobStatus,
} from '@coxswain/api-types';
import { aVerification, someContents } from '@coxswain/api-types/testing';
import { adoptedSave } from '@coxswain/checkpoint';
import type { ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { jobEvents } from '../decide/job-events.ts';
import { situationOf } from '../decide/situation.ts';
import { aCheckpoint, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, NOW, settled } from '../testing/jobs.ts';

const dp4 = aLayout({ dataParallelDegree: 4 });
const dp2 = aLayout({ dataParallelDegree: 2 });
const uid = aJob().metadata.uid;

/** Saved by DeepSpeed; 1 GiB by default. */
const saved = (
  step: number,
  layout: ParallelLayout = dp4,
  more: Partial<Checkpoint['spec']> = {},
  status?: Checkpoint['status'],
) => ({
  ...aCheckpoint(aJob(), { spec: { step, layout, format: 'deepspeed', bytes: 2 ** 30, ...more } }),
  ...(status === undefined ? {} : { status }),
});
/** For specs of Checkpoints. */
const IN_BUCKET = { claimName: '', bucket: { uri: 's3://training/runs', endpoint: 'https://s3.research' } };
const inBucket = (one: Checkpoint): Checkpoint => ({ ...one, spec: { ...one.spec, ...IN_BUCKET } });
const nameOf = (step: number): string => saved(step).metadata.name;

type Conversion = NonNullable<Checkpoint['status']>['conversion'];
const orderedAt = '2026-01-01T00:12:00Z';
const converted = { orderedAt, convertedAt: '2026-01-01T00:13:00Z' };
const read: Partial<NonNullable<Checkpoint['status']>> = {
  state: 'Complete',
  verification: aVerification({ by: 'Worker', level: 'V2' }),
  contents: someContents({ isResumable: true, format: 'deepspeed-universal', optimizerSharding: 'universal' }),
  files: { count: 3, bytes: 300, sha256: 'a'.repeat(64) },
};

/** The Checkpoint that the conversion of that step makes, as the job sees it. */
function conversionOf(
  step: number,
  conversion: Conversion,
  status: Partial<NonNullable<Checkpoint['status']>> = {},
  sourceUid = saved(step).metadata.uid,
): Checkpoint {
  const source = saved(step);
  const name = `${nameOf(step)}-universal`;
  const { claimName, path, layout, manifestSha256 } = source.spec;
  const made: Checkpoint = {
    ...source,
    metadata: { name, namespace: 'research', uid: `uid-of-${name}` },
    spec: {
      ...{ claimName, path: `${path}.coxswain-converted/universal`, layout, manifestSha256 },
      ...{ jobName: '', jobUid: '', epoch: 0, step: 0, format: '', bytes: 0, files: 0 },
      convertedFrom: {
        ...{ checkpoint: source.metadata.name, uid: sourceUid, jobName: 'tiny-gpt', jobUid: uid, step },
        kind: 'DeepSpeedUniversal',
      },
    },
    status: { state: 'Unverified', conversion, ...status },
  };
  return adoptedSave(made, uid);
}

const ended: Attempt = anAttempt({
  ...{ epoch: 1, stage: 'Ended', outcome: 'Failed', reason: 'EngineFailed', charged: true, answer: 'Restart' },
  ...{ layout: dp4, endedAt: '2026-01-01T00:19:00Z' },
  // 2 s of four GPUs for each step.
  pace: { steps: 10, inStepsMs: 20_000, betweenStepsMs: 0, saves: 1 },
});

/** The job of two ranks, between two attempts. */
function waiting(
  checkpoints: readonly Checkpoint[],
  about: { readonly status?: Partial<TrainingJobStatus>; readonly spec?: Parameters<typeof aJob>[0] } = {},
) {
  const spec = { ...about.spec?.spec, layout: dp2 };
  const job = aJob({ ...about.spec, spec, status: aStatus({ attempts: [ended], ...about.status }) });
  return observe({ job, checkpoints });
}

/** `converting step 40`, `step 20`, `unresumable`: what the job does next. */
function doing(...about: Parameters<typeof waiting>): string {
  const { next } = situationOf(waiting(...about), NOW);
  if (next.kind === 'converting') return `converting ${next.conversion.checkpoint}`;
  if (next.kind !== 'placing') return next.kind;
  const { resume, layout } = next.spec;
  return `${resume?.checkpoint ?? 'scratch'}${layout.checkpointPolicy?.format === undefined ? '' : ' as universal'}`;
}

const suspect: Checkpoint['status'] = { state: 'Complete', suspect: { reason: 'EngineRefused', evidence: [] } };
const failedAt = (at: string): Conversion => ({ orderedAt, failedAt: at, problem: 'the claim is full' });
const agoMs = (ms: number): string => new Date(NOW.getTime() - ms).toISOString();
const unloaded = (epoch: number): Attempt => ({
  ...ended,
  epoch,
  reason: 'CheckpointUnreadable',
  resumedFrom: { checkpoint: `${nameOf(40)}-universal`, step: 40 },
});

describe('a job that saved on four ranks and goes on with two', () => {
  it.each<[what: string, ...about: Parameters<typeof waiting>, want: string]>([
    ['converts its newest save', [saved(20), saved(40)], {}, `converting ${nameOf(40)}`],
    ['converts nothing that loads as it is', [saved(40, dp2)], {}, nameOf(40)],
    ['goes back, if few steps are lost', [saved(39, dp2), saved(40, dp4, { bytes: 2 ** 34 })], {}, nameOf(39)],
    [
      'converts a large save rather than lose many steps',
      [saved(1, dp2), saved(40, dp4, { bytes: 2 ** 34 })],
      {},
      `converting ${nameOf(40)}`,
    ],
    [
      'does not go back to a suspect save',
      [saved(39, dp2, {}, suspect), saved(40, dp4, { bytes: 2 ** 34 })],
      {},
      `converting ${nameOf(40)}`,
    ],
    ['converts no suspect save', [saved(40, dp4, {}, suspect)], {}, 'unresumable'],
    ['goes back from a suspect save', [saved(20, dp2), saved(40, dp4, {}, suspect)], {}, nameOf(20)],
    ['converts a save in a bucket', [saved(40, dp4, IN_BUCKET)], {}, `converting ${nameOf(40)}`],
    ['converts rather than repeat a step', [saved(39, dp2), saved(40)], {}, `converting ${nameOf(40)}`],
    [
      'repeats a step rather than convert in a bucket, where a save also moves twice',
      [saved(39, dp2, IN_BUCKET), saved(40, dp4, IN_BUCKET)],
      {},
      nameOf(39),
    ],
    [
      'begins from what was converted in the bucket',
      [saved(40, dp4, IN_BUCKET), inBucket(conversionOf(40, converted, read))],
      { spec: { spec: { checkpoint: { bucket: IN_BUCKET.bucket } } } },
      `${nameOf(40)}-universal as universal`,
    ],
    [
      'takes no save of another bucket for what was converted',
      [saved(40, dp4, IN_BUCKET), conversionOf(40, converted, read)],
      {},
      'unresumable',
    ],
    ['converts nothing at other tensor degrees', [saved(40, aLayout({ tensorParallelDegree: 2 }))], {}, 'unresumable'],
    ['waits while it is converted', [saved(40), conversionOf(40, { orderedAt })], {}, `converting ${nameOf(40)}`],
    [
      'waits until a pod has read what was converted',
      [saved(40), conversionOf(40, converted)],
      {},
      `converting ${nameOf(40)}`,
    ],
    [
      'begins from what was converted',
      [saved(40), conversionOf(40, converted, read)],
      {},
      `${nameOf(40)}-universal as universal`,
    ],
    [
      'begins from it again after another failure',
      [saved(40), conversionOf(40, converted, read)],
      { status: { attempts: [ended, { ...ended, epoch: 2, layout: dp2 }] } },
      `${nameOf(40)}-universal as universal`,
    ],
    [
      'goes on from a newer save on two ranks',
      [saved(40), conversionOf(40, converted, read), saved(60, dp2, { epoch: 2 })],
      {},
      nameOf(60).replace('-e1', '-e2'),
    ],
    [
      'goes back after a conversion that failed',
      [saved(1, dp2), saved(40), conversionOf(40, failedAt(agoMs(1_000)))],
      {},
      nameOf(1),
    ],
    [
      'asks its user after a conversion that failed, without another save',
      [saved(40), conversionOf(40, failedAt(agoMs(1_000)))],
      {},
      'unresumable',
    ],
    [
      'tries a conversion that failed an hour ago again',
      [saved(40), conversionOf(40, failedAt(agoMs(3_600_000)))],
      {},
      `converting ${nameOf(40)}`,
    ],
    [
      'does not begin from a broken one',
      [
        saved(1, dp2),
        saved(40),
        conversionOf(40, converted, { ...read, verification: aVerification({ verdict: 'damaged' }) }),
      ],
      {},
      nameOf(1),
    ],
    [
      'does not begin a third time from one that does not load',
      [saved(1, dp2), saved(40), conversionOf(40, converted, read)],
      { status: { attempts: [ended, unloaded(2), unloaded(3)] } },
      nameOf(1),
    ],
    [
      'does not begin from what another save was converted to',
      [saved(1, dp2), saved(40), conversionOf(40, converted, read, 'other')],
      {},
      nameOf(1),
    ],
    [
      'converts the save that its user names, and goes back to no other',
      [saved(39, dp2), saved(40, dp4, { bytes: 2 ** 34 })],
      { spec: { spec: { resumeFrom: { from: nameOf(40) } } } as never },
      `converting ${nameOf(40)}`,
    ],
    [
      'begins from the converted save that its user names',
      [saved(40), conversionOf(40, converted, read)],
      { spec: { spec: { resumeFrom: { from: `${nameOf(40)}-universal` } } } as never },
      `${nameOf(40)}-universal as universal`,
    ],
  ])('%s', (_what, checkpoints, about, want) => {
    expect(doing(checkpoints, about)).toBe(want);
  });

  const order: JobConversion = {
    checkpoint: nameOf(40),
    converted: `${nameOf(40)}-universal`,
    kind: 'DeepSpeedUniversal',
    wantedSince: NOW.toISOString(),
    because: `To convert checkpoint ${nameOf(40)} (1.0 GiB, about 2.9 s at an assumed rate) costs 6 GPU-seconds, while 2 GPUs could train.`,
  };

  it('records the order, holds no GPU, and says what it costs', () => {
    const { status, actions, reserve } = settled(waiting([saved(40)]));
    expect([status.conversion, status.epoch, reserve, actions.map(({ kind }) => kind)]).toEqual([
      order,
      1,
      undefined,
      [],
    ]);
    expect(findCondition(status.conditions, 'Placed')).toMatchObject({
      status: 'False',
      reason: 'ConvertingCheckpoint',
      message: expect.stringMatching(
        /was saved as deepspeed with dataParallelDegree 4.* A pod converts it, and no GPU is held meanwhile\. To convert checkpoint/,
      ) as string,
    });
  });

  it.each<[what: string, measured: Partial<NonNullable<Conversion>>, says: RegExp]>([
    [
      'what an earlier one wrote in its time',
      { writtenBytes: 2 ** 29, readBytes: 2 ** 30, seconds: 50 },
      /1 min 40 s as measured before/,
    ],
    ['nothing of one that found its work done', { writtenBytes: 0, readBytes: 0, seconds: 50 }, /at an assumed rate/],
    [
      'nothing of one that failed',
      { writtenBytes: 2 ** 29, seconds: 50, convertedAt: undefined, failedAt: agoMs(1_000) },
      /at an assumed rate/,
    ],
  ])('prices the next conversion by %s', (_what, measured, says) => {
    const { status } = settled(waiting([saved(40), conversionOf(20, { ...converted, ...measured } as Conversion)]));
    expect(status.conversion?.because).toMatch(says);
  });

  it('goes on with a conversion that has begun, although another way is cheaper by now', () => {
    const checkpoints = [saved(39, dp2), saved(40, dp4, { bytes: 2 ** 34 })];
    expect(doing(checkpoints, { status: { conversion: order } })).toBe(`converting ${nameOf(40)}`);
  });

  it.each<[what: string, ...about: Parameters<typeof waiting>, isWanted: boolean]>([
    ['its layout is again the one that saved it', [saved(40, dp2)], {}, false],
    ['it is suspended', [saved(40)], { spec: { spec: { suspend: true } } as never }, false],
    ['it goes on waiting', [saved(40)], {}, true],
  ])('keeps the name of the save, and whether it waits for it: %s', (_what, checkpoints, about, isWanted) => {
    const { status } = settled(waiting(checkpoints, { ...about, status: { conversion: order } }));
    expect([status.conversion?.converted, status.conversion?.wantedSince !== undefined]).toEqual([
      order.converted,
      isWanted,
    ]);
  });

  it('says why its conversion cannot go on, and why it failed', () => {
    const stuck = settled(
      waiting([saved(40), conversionOf(40, { orderedAt, problem: 'the cluster rejects its pod: exceeded quota' })]),
    );
    expect(findCondition(stuck.status.conditions, 'Placed')?.message).toMatch(
      / Now: the cluster rejects its pod: exceeded quota\.$/,
    );
    const failed = settled(waiting([saved(40), conversionOf(40, failedAt(agoMs(1_000)))]));
    expect(findCondition(failed.status.conditions, 'Placed')).toMatchObject({
      reason: 'CheckpointsUnusable',
      message: expect.stringMatching(/ Its conversion failed: the claim is full\. Training never begins/) as string,
    });
    expect(jobEvents({ job: aJob({ status: failed.status }), checkpoints: [], placements: [] })).toContainEqual(
      expect.objectContaining({ type: 'Waiting', severity: 'warning' }),
    );
  });

  it('records an incident about the save that it did not go on from', () => {
    const { status } = settled(waiting([saved(39, dp2), saved(40, dp4, { bytes: 2 ** 34 })]));
    expect(status.incidents).toMatchObject([
      {
        kind: 'CheckpointTrouble',
        message: expect.stringMatching(
          /was saved as deepspeed with dataParallelDegree 4.*resumes from checkpoint .*-s39 \(step 39\) instead, and repeats 1 more step\./,
        ) as string,
      },
    ]);
  });
});
