import type { Checkpoint } from '@coxswain/api-types';
import { aVerification } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { backgroundVerifications } from './background-verifications.ts';

const NOW = '2026-01-01T12:00:00Z';
const V1 = aVerification({ at: '2026-01-01T11:00:00Z' });

interface Save {
  readonly step?: number;
  readonly job?: string;
  readonly namespace?: string;
  readonly status?: Partial<NonNullable<Checkpoint['status']>>;
  readonly deleted?: boolean;
  readonly spec?: Partial<Checkpoint['spec']>;
}

function save({ step = 20, job = 'j', namespace = 'research', status, deleted = false, spec }: Save = {}): Checkpoint {
  const one = aCheckpoint({ step, jobUid: job, bytes: 1_000, ...spec });
  const deletion = deleted ? { deletionTimestamp: NOW } : {};
  return {
    ...one,
    metadata: { ...one.metadata, namespace, ...deletion },
    status: { state: 'Complete', verification: V1, ...status },
  };
}

const DOUBT = { reason: 'Unreadable', evidence: [] } as never;
const DELETION = { orderedAt: NOW } as never;

/** The launcher reported it, and its inspection had not ended. */
function unverified(one: Save = {}, creationTimestamp = '2026-01-01T11:00:00Z'): Checkpoint {
  const { metadata, spec, status } = save(one);
  const { verification: _, ...rest } = status ?? { state: 'Complete' };
  return { ...save(), spec, metadata: { ...metadata, creationTimestamp }, status: rest };
}

function wanted(saves: readonly Checkpoint[], bytesPerHour = 1_000): readonly string[] {
  const bounds = { bytesPerHour, nowMs: Date.parse(NOW), hasJob: ({ spec }: Checkpoint) => spec.jobUid !== 'gone' };
  return backgroundVerifications(saves, bounds).map(({ checkpoint: { spec } }) => `${spec.jobUid} ${spec.step}`);
}

it.each<[what: string, one: Checkpoint, isRead: boolean]>([
  ['a sound one of V1', save(), true],
  ['one of V2', save({ status: { verification: { ...V1, level: 'V2' } } }), false],
  ['one that was found damaged', save({ status: { verification: { ...V1, verdict: 'damaged' } } }), false],
  [
    'one that nothing can show to be right',
    save({ status: { verification: { ...V1, verdict: 'unverifiable' } } }),
    false,
  ],
  ['one in doubt', save({ status: { suspect: { reason: 'Unreadable', evidence: [] } } }), false],
  ['one that is condemned', save({ status: { state: 'Damaged' } }), false],
  ['one in a bucket', save({ spec: { claimName: '', bucket: { uri: 's3://training' } } }), true],
  ['one of a deleted job', save({ job: 'gone' }), false],
  ['one that is being deleted', save({ deleted: true }), false],
  ['one of a minute ago', save({ status: { verification: { ...V1, at: '2026-01-01T11:59:00Z' } } }), false],
  ['one that its launcher had no time to verify', unverified(), true],
  ['one without a verdict, of a minute ago', unverified({}, '2026-01-01T11:59:00Z'), false],
  ['one without a verdict, in doubt', unverified({ status: { suspect: DOUBT } }), false],
  ['one without a verdict, whose deletion has begun', unverified({ status: { deletion: DELETION } }), false],
  ['one without a verdict, of a deleted job', unverified({ job: 'gone' }), false],
  ['one without a verdict, of the stand-in engine', unverified({ spec: { format: 'reference' } }), false],
  ['one without a verdict, in an unknown format', unverified({ spec: { format: 'my-own' } }), false],
  ['one that a user adopted', unverified({ spec: { jobName: '' } }), false],
  ['one that a pod converts', unverified({ spec: { convertedFrom: { name: 's', uid: 'u' } as never } }), false],
])('is read in the background or not: %s', (_what, one, isRead) => {
  expect(wanted([one])).toHaveLength(isRead ? 1 : 0);
});

it('reads the newest of each job first, whatever their steps are', () => {
  const saves = [save({ job: 'a', step: 900 }), save({ job: 'a', step: 800 }), save({ job: 'b', step: 7 })];
  expect(wanted(saves)).toEqual(['a 900', 'b 7', 'a 800']);
});

describe('saves without a verdict', () => {
  const bounds = { bytesPerHour: 1_000, nowMs: Date.parse(NOW), hasJob: () => true };

  it('are read up to V1, before sound ones are read up to V2', () => {
    const saves = [save({ step: 30 }), unverified({ step: 10 }), unverified({ step: 20 })];
    const read = backgroundVerifications(saves, bounds).map(({ checkpoint, level }) => [checkpoint.spec.step, level]);
    expect(read).toEqual([
      [20, 'V1'],
      [10, 'V1'],
      [30, 'V2'],
    ]);
  });

  it('are read where the bytes of an hour are used up, because V1 reads metadata alone', () => {
    const used = save({
      step: 9,
      status: { verification: aVerification({ level: 'V3', by: 'Worker', readBytes: 1e9 }) },
    });
    const at = '2026-01-01T11:30:00Z';
    const now = {
      ...used,
      status: { ...used.status, verification: { ...used.status?.verification, at } },
    } as Checkpoint;
    expect(wanted([now, unverified(), save({ step: 30 })])).toEqual(['j 20']);
  });
});

describe('the bytes of an hour', () => {
  const read = (readBytes: number, namespace = 'research', at = '2026-01-01T11:30:00Z'): Checkpoint =>
    save({ namespace, status: { verification: aVerification({ level: 'V3', by: 'Worker', at, readBytes }) } });

  it('of 0 mean that none is read', () => {
    expect(wanted([save(), unverified()], 0)).toEqual([]);
  });

  it('are used up by what a worker read', () => {
    expect([wanted([save(), read(999)]), wanted([save(), read(1_000)])]).toEqual([['j 20'], []]);
  });

  it('are there again an hour later', () => {
    expect(wanted([save(), read(1_000, 'research', '2026-01-01T11:00:00Z')])).toHaveLength(1);
  });

  it('are divided among namespaces, and a lie of one costs itself alone', () => {
    const other = save({ job: 'other', namespace: 'other' });
    expect(wanted([save(), other, read(1e15)])).toEqual(['other 20']);
    expect(wanted([save(), other, read(499)])).toHaveLength(2);
    expect(wanted([save(), other, read(500)])).toEqual(['other 20']);
  });
});
