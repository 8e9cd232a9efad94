import { type SigningBucket, signReadUrl } from './sign-read-url.ts';

/** The example of AWS: "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)". */
const EXAMPLE = {
  uri: 's3://examplebucket',
  credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
};
const signedAt = new Date('2013-05-24T00:00:00Z');

const urlOf = async (bucket: SigningBucket, path: string): Promise<URL> =>
  new URL(await signReadUrl(bucket, { path, seconds: 86_400, signedAt }));

it('signs as the example of AWS does', async () => {
  const url = await urlOf(EXAMPLE, 'test.txt');
  expect(url.origin + url.pathname).toBe('https://examplebucket.s3.amazonaws.com/test.txt');
  expect(url.searchParams.get('X-Amz-Signature')).toBe(
    'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  );
});

it.each<[string, Partial<SigningBucket>, string, string]>([
  ['AWS', { uri: 's3://codes/code' }, 'ns/1.tar.gz', 'https://codes.s3.amazonaws.com/code/ns/1.tar.gz'],
  [
    'a region of AWS',
    { uri: 's3://codes', region: 'eu-central-1' },
    'x',
    'https://codes.s3.eu-central-1.amazonaws.com/x',
  ],
  ['AWS whose name has a dot', { uri: 's3://my.codes' }, 'x', 'https://s3.amazonaws.com/my.codes/x'],
  [
    'another store',
    { uri: 's3://codes/code', endpoint: 'http://minio:9000' },
    'ns/1',
    'http://minio:9000/codes/code/ns/1',
  ],
])('a file in a bucket of %s has its address', async (_which, bucket, path, address) => {
  const url = await urlOf({ ...EXAMPLE, ...bucket }, path);
  expect(url.origin + url.pathname).toBe(address);
  expect(url.searchParams.get('X-Amz-Expires')).toBe('86400');
  expect(url.searchParams.get('X-Amz-Credential')).toContain(
    `/20130524/${bucket.region ?? 'us-east-1'}/s3/aws4_request`,
  );
});
