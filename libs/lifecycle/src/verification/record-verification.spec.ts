import type { Checkpoint, CheckpointVerification } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aCheckpoint } from '../testing/builders.ts';
import { withVerdict } from './record-verification.ts';

const AT = '2026-01-01T00:00:00Z';

function found(changes: Partial<CheckpointVerification>): CheckpointVerification {
  return {
    level: 'V2',
    verdict: 'sound',
    at: AT,
    by: 'Worker',
    node: 'node-a',
    readBytes: 1,
    findings: [],
    ...changes,
  };
}

const absent = (verification: CheckpointVerification): Checkpoint =>
  aCheckpoint(aTrainingJob(), { status: { state: 'Complete', absent: { since: AT }, verification } });

describe('a checkpoint whose files are gone', () => {
  it('does not become suspect if a pod finds it incomplete', () => {
    const status = withVerdict(absent(found({})), {
      verification: found({ level: 'V3', verdict: 'incomplete' }),
      epoch: 1,
    });
    expect(status).toMatchObject({ absent: { since: AT }, verification: { verdict: 'incomplete' } });
    expect(status.suspect).toBeUndefined();
  });

  it('counts again with the verification that found it again, although that was less close', () => {
    const before = absent(found({ level: 'V3', verdict: 'incomplete' }));
    const status = withVerdict(before, { verification: found({}), epoch: 1 });
    expect([status.absent, status.verification]).toMatchObject([undefined, { level: 'V2', verdict: 'sound' }]);
  });
});
