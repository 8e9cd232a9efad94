import type { CheckpointRecord } from '@coxswain/api-types';
import { aCheckpointRecord, aVerification, someContents } from '@coxswain/api-types/testing';
import { type Routes, runCommand } from '../testing/run-command.ts';
import { adoptionText } from './adopt-command.ts';

const adopted = (more: Partial<CheckpointRecord>): CheckpointRecord => ({
  ...aCheckpointRecord({}),
  name: 'llama',
  claimName: 'old-runs',
  path: 'llama/step-7',
  verification: null,
  contents: null,
  ...more,
});
const contents = someContents({ step: 700, isResumable: true });

it.each<[what: string, more: Partial<CheckpointRecord>, want: RegExp]>([
  ['is not verified yet', {}, /llama\/step-7 on claim old-runs\. A pod verifies it before/],
  [
    'is sound',
    { verification: aVerification({ level: 'V2' }), contents },
    /It holds .* of step 700\. It is sound as far as V2 sees\.$/,
  ],
  [
    'has weights alone',
    { verification: aVerification({ level: 'V2' }), contents: { ...contents, isResumable: false } },
    /of step 700, weights alone\./,
  ],
  [
    'is damaged',
    { verification: aVerification({ verdict: 'damaged', findings: [{ kind: 'damaged', message: 'w has a hole.' }] }) },
    /It is damaged .* w has a hole\.$/,
  ],
])('says that an adopted checkpoint %s', (_what, more, want) => {
  expect(adoptionText(adopted(more))).toMatch(want);
});

it.each<[what: string, argv: string, code: number, words: RegExp]>([
  [
    'a bucket',
    's3://training/llama/iter_7/ --endpoint http://minio:9000 --credentials-secret job-bucket',
    0,
    /in bucket s3:\/\/training\/llama\. A pod verifies it/,
  ],
  ['a bucket and a claim', 's3://training/llama/iter_7 --claim c --path p', 1, /without --claim and --path/],
  ['a whole bucket', 's3://training', 1, /is no checkpoint in a bucket/],
  ['a claim with a region', '--claim c --path p --region eu', 1, /Name the checkpoint by/],
  ['nothing', '', 1, /Name the checkpoint by s3:\/\/BUCKET\/PREFIX, or by --claim and --path/],
])('adopts from %s, or says how', async (_what, argv, code, words) => {
  const bucket = { uri: 's3://training/llama' };
  const { requests, ...found } = await runCommand(`checkpoint adopt llama ${argv}`, {
    'POST /v1/projects/research/checkpoints': { status: 201, json: adopted({ claimName: '', bucket, path: 'iter_7' }) },
  });
  expect([found.code, `${found.out}${found.err}`]).toEqual([code, expect.stringMatching(words)]);
  const bodies = requests.filter(({ method }) => method === 'POST').map(({ body }) => body);
  const access = { endpoint: 'http://minio:9000', credentialsSecret: 'job-bucket' };
  expect(bodies).toEqual(code === 0 ? [{ name: 'llama', bucket: { ...bucket, ...access }, path: 'iter_7' }] : []);
});

describe('coxswain checkpoint adopt --wait', () => {
  const UNVERIFIED = adopted({ jobName: '', jobUid: '', state: 'Unverified' });
  const byWorker = aVerification({ level: 'V2', by: 'Worker' });
  const detail = (more: Partial<CheckpointRecord>) => ({
    json: {
      ...UNVERIFIED,
      ...more,
      verifications: more.verification === undefined || more.verification === null ? [] : [more.verification],
      tensorGroups: null,
    },
  });
  const adopt = (argv: string, details: Routes[string]) =>
    runCommand(`checkpoint adopt llama --claim old-runs --path llama/step-7 --wait ${argv}`, {
      'POST /v1/projects/research/checkpoints': { status: 201, json: UNVERIFIED },
      [`GET /v1/projects/research/checkpoints/${UNVERIFIED.uid}`]: details,
    });
  const absent = { status: 404, json: { status: 404, code: 'NOT_FOUND', title: 'Not found', detail: 'no' } };
  const waiting = detail({ message: 'claim old-runs does not exist' });
  const sound = { verification: byWorker, contents };

  it.each<[what: string, details: Routes[string], code: number, err: RegExp]>([
    ['a save that jobs can resume from', [absent, detail(sound)], 0, /^$/],
    ['a claim that appears later', [waiting, waiting, detail(sound)], 0, /^llama: claim old-runs does not exist$/],
    ['weights alone', [detail({ ...sound, contents: { ...contents, isResumable: false } })], 1, /no optimizer state/],
    ['a save without contents', [detail({ verification: byWorker })], 1, /no reader says what it holds/],
    [
      'a save without a step',
      [detail({ ...sound, path: 'llama/final', contents: someContents({ isResumable: true, step: undefined }) })],
      1,
      /which step it holds\. To remove it, run `kubectl delete checkpoint/,
    ],
  ])('answers for %s', async (_what, details, code, err) => {
    const found = await adopt('', details);
    expect([found.code, found.err]).toEqual([code, expect.stringMatching(err)]);
  });

  it('gives up after a time, and says why', async () => {
    const { code, err } = await adopt('--timeout 1', waiting);
    expect([code, err]).toEqual([1, expect.stringMatching(/^llama: claim old-runs does[^]*no verdict after 1 minute/)]);
  });
});
