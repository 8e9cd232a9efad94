import { aCheckpointRecord } from '@coxswain/api-types/testing';
import { toCheckpointRecord } from './checkpoint-record.ts';

describe('a checkpoint as it is answered', () => {
  const want = aCheckpointRecord({ jobId: 'job-1', createdAt: '2026-01-01T00:05:00.000Z' });
  const { name, uid, namespace, state, message, jobId: _job, createdAt: _created, ...more } = want;
  const { deletedAt: _deleted, isSuspect: _suspect, verification, contents, progress, pin, ...rest } = more;
  const { retention: _retention, isBeingDeleted: _deleting, isAbsent: _absent, ...spec } = rest;
  const created = new Date('2026-01-01T00:05:00Z');
  const said = { state, message, verification, contents, progress, pin, retention: null, is_suspect: null };
  const row = { name, uid, namespace, spec, ...said, created_at: created, deleted_at: null };

  it('has the fields of its resource, and the job that it belongs to', () => {
    expect(toCheckpointRecord(row as never, 'job-1')).toEqual(want);
  });

  it('says where it is: in a claim, or in a bucket', () => {
    const inBucket = { ...spec, claimName: '', bucket: { uri: 's3://training/runs' } };
    expect(toCheckpointRecord({ ...row, spec: inBucket } as never, 'job-1')).toMatchObject({
      claimName: '',
      location: `s3://training/runs/${want.path}`,
    });
  });

  it.each([
    ['Complete', null, null, false],
    ['Complete', 'It is suspect, because it could not be read.', null, true],
    ['Damaged', 'A file is cut off.', null, false],
    ['Complete', 'It could not be verified: its pod did not start.', false, false],
    ['Complete', 'It is suspect, because it could not be read.', true, true],
    ['Damaged', 'A file is cut off.', true, false],
  ])('of state %s with message %j and mark %j is suspect: %j', (of, words, mark, isSuspect) => {
    const marked = { ...row, state: of, message: words, is_suspect: mark };
    expect(toCheckpointRecord(marked as never, 'job-1')).toMatchObject({ isSuspect });
  });

  it('says what retention decided, and that it is being deleted until its object is gone', () => {
    const decision = { keeps: false, because: 'A newer one stays.' };
    const going = { ...row, retention: { decision, isBeingDeleted: true, isAbsent: false } };
    expect(toCheckpointRecord(going as never, 'job-1')).toMatchObject({ retention: decision, isBeingDeleted: true });
    const gone = { ...going, deleted_at: new Date('2026-01-02T00:00:00Z') };
    expect(toCheckpointRecord(gone as never, 'job-1')).toMatchObject({ retention: decision, isBeingDeleted: false });
  });

  it('says when its object was deleted', () => {
    const deleted = { ...row, deleted_at: new Date('2026-01-02T00:00:00Z') };
    expect(toCheckpointRecord(deleted as never, 'job-1').deletedAt).toBe('2026-01-02T00:00:00.000Z');
  });
});
