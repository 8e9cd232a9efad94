import { ANNOTATIONS, type Checkpoint, CheckpointResourceSpec } from '@coxswain/api-types';
import { aVerification } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { wantedVerifications } from './wanted-verifications.ts';

const spec = CheckpointResourceSpec.parse({ claimName: 'old-runs', path: 'llama/step-700' });

function adopted(verify?: string, status?: Checkpoint['status']): Checkpoint {
  const { status: _, metadata, ...made } = aCheckpoint();
  const annotations = verify === undefined ? {} : { annotations: { [ANNOTATIONS.verify]: verify } };
  return { ...made, spec, metadata: { ...metadata, ...annotations }, ...(status === undefined ? {} : { status }) };
}

it.each<[what: string, checkpoint: Checkpoint, want: readonly string[]]>([
  ['read once', adopted(), ['Adopted V2']],
  ['read as closely as every other, although less was asked for', adopted('V0'), ['Requested V2']],
  ['read more closely if that was asked for', adopted('V3'), ['Requested V3']],
  [
    'not read again',
    adopted('V0', { state: 'Complete', verification: aVerification({ level: 'V2', by: 'Worker' }) }),
    [],
  ],
])('an adopted checkpoint is %s', (_what, checkpoint, want) => {
  expect(wantedVerifications([checkpoint], 0).map(({ why, level }) => `${why} ${level}`)).toEqual(want);
});
