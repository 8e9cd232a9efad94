import { parseLocation } from './store-location.ts';

describe('a location', () => {
  it.each([
    ['outputs/step-1', { kind: 'directory', path: 'outputs/step-1' }],
    ['/mnt/s3:/x', { kind: 'directory', path: '/mnt/s3:/x' }],
    ['s3://training', { kind: 'bucket', bucket: 'training', prefix: '' }],
    ['S3://training/run 7//step-1/', { kind: 'bucket', bucket: 'training', prefix: 'run 7//step-1' }],
  ])('%s is a place', (text, place) => {
    expect(parseLocation(text)).toEqual(place);
  });

  it.each([
    ['s3://', /names no valid bucket/],
    ['s3:///run', /names no valid bucket/],
    ['s3://a b/run', /names no valid bucket/],
    ['gs://bucket/run', /gs:\/\/ is not supported/],
    ['https://bucket.s3.amazonaws.com/run', /https:\/\/ is not supported/],
  ])('%s is refused', (text, message) => {
    expect(() => parseLocation(text)).toThrow(message);
  });
});
