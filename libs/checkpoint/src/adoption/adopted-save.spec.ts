import { createHash } from 'node:crypto';
import { type Checkpoint, CheckpointResourceSpec, isAdopted } from '@coxswain/api-types';
import { aVerification, someContents } from '@coxswain/api-types/testing';
import { recordedSave } from '../loads/recorded-save.ts';
import { aCheckpoint } from '../testing/index.ts';
import { adoptedSave, adoptionProblem, comparedFileList, fileListSha256 } from './adopted-save.ts';

type Status = Checkpoint['status'];

const FILES = { count: 3, bytes: 300, sha256: 'a'.repeat(64) };
const READ: NonNullable<Status> = {
  state: 'Complete',
  verification: aVerification({ level: 'V2', by: 'Worker' }),
  contents: someContents({ step: 700, isResumable: true, format: 'torch_dist' }),
  files: FILES,
};
const { step: _, ...NO_STEP } = READ.contents ?? someContents();

function adopted(status: Status, spec: { readonly path?: string; readonly layout?: object } = {}): Checkpoint {
  const named = CheckpointResourceSpec.parse({ claimName: 'old-runs', path: 'llama/latest', ...spec });
  return { ...aCheckpoint({}), spec: named, ...(status === undefined ? {} : { status }) };
}

it.each<[why: string, checkpoint: Checkpoint, problem: RegExp | undefined]>([
  ['one that a job saved', aCheckpoint({}), undefined],
  ['one that was read', adopted(READ), undefined],
  ['one that was never read', adopted(undefined), /not verified yet$/],
  ['one that could not be read', adopted({ state: 'Unverified', message: 'EACCES' }), /not verified yet: EACCES/],
  ['one whose list of files is not known', adopted({ ...READ, files: undefined }), /not verified yet/],
  [
    'one that is damaged',
    adopted({
      ...READ,
      verification: aVerification({ verdict: 'damaged', findings: [{ kind: 'damaged', message: 'w has a hole.' }] }),
    }),
    /is adopted and damaged: w has a hole\./,
  ],
  [
    'one of weights alone',
    adopted({ ...READ, contents: someContents({ step: 7, isResumable: false }) }),
    /initialWeights/,
  ],
  ['one that no reader describes', adopted({ ...READ, contents: undefined }), /no reader says/],
  ['one of no step', adopted({ ...READ, contents: NO_STEP }), /which step it holds/],
  [
    'one whose folder names the step',
    adopted({ ...READ, contents: NO_STEP }, { path: 'llama/iter_0000700/' }),
    undefined,
  ],
])('says why no job resumes from %s', (_why, checkpoint, problem) => {
  const found = adoptionProblem(checkpoint);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});

it('gives the job what was found in the files, and stays adopted', () => {
  const seen = adoptedSave(adopted({ ...READ, files: { ...FILES, manifestSha256: 'b'.repeat(64) } }), 'job-uid');
  expect(seen.spec).toMatchObject({
    jobUid: 'job-uid',
    step: 700,
    format: 'torch_dist',
    bytes: 300,
    files: 3,
    manifestSha256: 'b'.repeat(64),
  });
  expect(isAdopted(seen)).toBe(true);
});

it.each<[what: string, checkpoint: Checkpoint, want: string | undefined]>([
  ['without a manifest', adopted(READ), FILES.sha256],
  ['with a manifest', adopted({ ...READ, files: { ...FILES, manifestSha256: 'b'.repeat(64) } }), undefined],
  ['that a job saved', { ...aCheckpoint({}), status: READ }, undefined],
])('compares the list of files of a checkpoint %s: %j', (_what, checkpoint, want) => {
  expect(comparedFileList(checkpoint)).toBe(want);
});

it.each([
  ['a layout that its user states', { dataParallelDegree: 4 }, { dataParallelDegree: 4 }],
  ['no layout where its user states none', undefined, undefined],
])('is judged by %s', (_what, layout, want) => {
  const save = recordedSave(adoptedSave(adopted(READ, layout === undefined ? {} : { layout }), 'job-uid'));
  if (want === undefined) expect(save.layout).toBeUndefined();
  else expect(save.layout).toMatchObject(want);
});

it('is valid where the release before expects the fields of a job', () => {
  const { jobUid, epoch, step, manifestSha256, layout } = adopted(undefined).spec;
  expect({ jobUid, epoch, step, manifestSha256, layout }).toEqual({
    jobUid: '',
    epoch: 0,
    step: 0,
    manifestSha256: '0'.repeat(64),
    layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 },
  });
});

it.each([
  ['the order of files', [0, 1], true],
  ['a file that is gone', [1], false],
])('has another list of files with %s: %j', (_what, kept, isSame) => {
  const files = [
    { path: 'b', bytes: 2 },
    { path: 'a', bytes: 1 },
  ];
  const some = kept.toReversed().flatMap((index) => files[index] ?? []);
  const of = (list: typeof files): string => fileListSha256(list, createHash('sha256'));
  expect(of(some) === of(files)).toBe(isSame);
});
