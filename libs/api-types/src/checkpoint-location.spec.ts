import { CheckpointBucket, bucketVariables, describeLocation, formatPlace } from './checkpoint-location.ts';
import { CheckpointResourceSpec } from './checkpoint.ts';
import { aJobSpec, aPlannedJobSpec } from './testing/index.ts';
import { TrainingJobSpec } from './training-job-spec.ts';

const BUCKET = { uri: 's3://training/runs' };
const ON_ONE_NODE = { ...aJobSpec().resources, gpusPerNode: 8 };
function problems(
  schema: typeof TrainingJobSpec | typeof CheckpointResourceSpec | typeof CheckpointBucket,
  value: unknown,
) {
  return (schema.safeParse(value).error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('a job keeps its checkpoints', () => {
  it.each<[string, unknown, readonly string[]]>([
    ['in a claim', aJobSpec(), []],
    ['in a bucket', { ...aJobSpec(), checkpoint: { bucket: BUCKET }, resources: ON_ONE_NODE }, []],
    [
      'in a bucket, and the planner chooses its layout',
      { ...aPlannedJobSpec(), checkpoint: { bucket: BUCKET }, resources: ON_ONE_NODE },
      [],
    ],
    [
      'not in both',
      { ...aJobSpec(), checkpoint: { claimName: 'tiny', bucket: BUCKET }, resources: ON_ONE_NODE },
      ['checkpoint.claimName: give either claimName or bucket'],
    ],
    ['not in neither', { ...aJobSpec(), checkpoint: {} }, ['checkpoint.claimName: give either claimName or bucket']],
    ['in a bucket, on several nodes', { ...aJobSpec(), checkpoint: { bucket: BUCKET } }, []],
  ])('%s', (_what, spec, expected) => {
    expect(problems(TrainingJobSpec, spec)).toEqual(expected);
  });
});

describe('a bucket is', () => {
  it.each<[string, unknown, readonly string[]]>([
    ['a bucket of AWS', { uri: 's3://training' }, []],
    ['one of another store', { uri: 's3://a.b-c/d/e_f', endpoint: 'http://minio.storage:9000', region: 'eu-1' }, []],
    ['one with credentials', { ...BUCKET, credentialsSecret: 'job-bucket' }, []],
    ['not a folder', { uri: '/data' }, ['uri: must be s3://BUCKET or s3://BUCKET/PREFIX, without a slash at its end']],
    ...['s3://training/', 's3://training/../other', 's3://t', 's3://training//x', 's3://training/x?y'].map(
      (uri): [string, unknown, readonly string[]] => [
        `not ${uri}`,
        { uri },
        ['uri: must be s3://BUCKET or s3://BUCKET/PREFIX, without a slash at its end'],
      ],
    ),
    [
      'not at an endpoint with credentials or a path',
      { ...BUCKET, endpoint: 'http://user:pw@host/path' },
      ['endpoint: must be http://HOST:PORT or https://HOST, without a path'],
    ],
    [
      'not one with any Secret of the namespace',
      { ...BUCKET, credentialsSecret: 'admin' },
      [
        'credentialsSecret: must begin with "job-": a job can use no other Secret of its namespace; make one of such a name that holds the key',
      ],
    ],
  ])('%s', (_what, bucket, expected) => {
    expect(problems(CheckpointBucket, bucket)).toEqual(expected);
  });
});

describe('a Checkpoint', () => {
  const spec = {
    jobName: 'tiny',
    jobUid: 'uid',
    epoch: 1,
    step: 10,
    claimName: 'tiny',
    path: 'tiny-uid/epoch-1/step-10',
    layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 },
    format: 'reference',
    bytes: 1,
    files: 1,
    manifestSha256: '0'.repeat(64),
  };
  it.each<[string, object, readonly string[]]>([
    ['of the release before is valid', {}, []],
    ['in a bucket has an empty claim name', { claimName: '', bucket: BUCKET }, []],
    ['is not in both', { bucket: BUCKET }, ['claimName: give either claimName or bucket']],
    ['is somewhere', { claimName: '' }, ['claimName: give either claimName or bucket']],
  ])('%s', (_what, change, expected) => {
    expect(problems(CheckpointResourceSpec, { ...spec, ...change })).toEqual(expected);
  });
});

it('a place is named for people', () => {
  expect([describeLocation({ claimName: 'tiny' }), describeLocation({ claimName: '', bucket: BUCKET })]).toEqual([
    'claim tiny',
    'bucket s3://training/runs',
  ]);
  expect([formatPlace({ claimName: 'tiny' }, 'a/b'), formatPlace({ claimName: '', bucket: BUCKET }, 'a/b')]).toEqual([
    'tiny/a/b',
    's3://training/runs/a/b',
  ]);
});

it('the launcher gets credentials by variables that no user may set', () => {
  expect(bucketVariables(BUCKET)).toEqual([]);
  const variables = bucketVariables({ ...BUCKET, credentialsSecret: 'job-bucket' });
  expect(variables.map(({ name, key }) => `${name}=${key}`)).toEqual([
    'COXSWAIN_CHECKPOINT_BUCKET_KEY_ID=AWS_ACCESS_KEY_ID',
    'COXSWAIN_CHECKPOINT_BUCKET_KEY=AWS_SECRET_ACCESS_KEY',
  ]);
});
