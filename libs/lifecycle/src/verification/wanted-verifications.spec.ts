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

describe('a save with signs that two saves are mixed', () => {
  const withSigns = (level: 'V1' | 'V3', of = aCheckpoint()): Checkpoint => ({
    ...of,
    status: { state: 'Complete', verification: aVerification({ level, verdict: 'suspect' }) },
  });
  it.each<[what: string, checkpoint: Checkpoint, want: readonly string[]]>([
    ['is read whole', withSigns('V1'), ['Suspected V3']],
    ['is read whole once', withSigns('V3'), []],
    ['is left to its user if it is adopted', withSigns('V1', adopted()), []],
  ])('%s', (_what, checkpoint, want) => {
    expect(wantedVerifications([checkpoint], 0).map(({ why, level }) => `${why} ${level}`)).toEqual(want);
  });
});

describe('a conversion', () => {
  const orderedAt = '2026-01-01T00:10:00Z';
  const failedAt = '2026-01-01T00:20:00Z';
  const source = aCheckpoint();
  const convertedFrom = {
    ...{ checkpoint: source.metadata.name, uid: source.metadata.uid, jobName: 'tiny-gpt', jobUid: source.spec.jobUid },
    ...{ step: 20, kind: 'DeepSpeedUniversal' },
  };
  const made = (conversion: NonNullable<Checkpoint['status']>['conversion']): Checkpoint => ({
    ...source,
    metadata: { ...source.metadata, name: 'converted', uid: 'converted' },
    spec: { ...spec, convertedFrom },
    status: { state: 'Unverified', conversion },
  });
  const readWhole = (at: string): Checkpoint => ({
    ...source,
    status: { state: 'Complete', verification: aVerification({ level: 'V3', by: 'Worker', at }) },
  });
  const failed = made({ orderedAt, failedAt, readBytes: 7 });

  it.each<[what: string, checkpoints: readonly Checkpoint[], want: readonly string[]]>([
    ['has its save read once it is done', [source, made({ orderedAt, convertedAt: failedAt })], ['converted V2']],
    ['has nothing read before', [source, made({ orderedAt })], []],
    [
      'has nothing read once it is dropped',
      [source, made({ orderedAt, convertedAt: failedAt, droppedAt: failedAt })],
      [],
    ],
    ['has its source read whole if its pod failed', [source, failed], [`${source.metadata.name} V3`]],
    [
      'has its source read whole again if that was before',
      [readWhole('2026-01-01T00:09:00Z'), failed],
      [`${source.metadata.name} V3`],
    ],
    ['does not have its source read whole twice', [readWhole('2026-01-01T00:30:00Z'), failed], []],
    ['casts no doubt on its source if its pods were lost', [source, made({ orderedAt, failedAt, tries: 3 })], []],
  ])('%s', (_what, checkpoints, want) => {
    expect(wantedVerifications(checkpoints, 0).map((one) => `${one.checkpoint.metadata.name} ${one.level}`)).toEqual(
      want,
    );
  });
});
