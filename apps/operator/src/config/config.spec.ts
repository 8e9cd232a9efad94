import { readConfig } from './config.ts';

const least = {
  COXSWAIN_REPORT_URLS: 'https://127.0.0.1:9443/, https://operator.coxswain-system.svc:9443',
  COXSWAIN_LAUNCHER_IMAGE: 'coxswain/launcher:dev',
};

const profiles = (...gpus: readonly string[]): string =>
  JSON.stringify(
    Object.fromEntries(
      gpus.map((gpu) => [gpu, { name: 'ours', factors: [{ constant: 'gemmSlowdown', factor: 1.1 }] }]),
    ),
  );

describe('the configuration', () => {
  it('takes what is empty for what is not said', () => {
    const config = readConfig({ ...least, COXSWAIN_CREATING_TIMEOUT_MS: '', COXSWAIN_LEASE_NAME: '' });
    expect([config.timeouts, config.lease]).toEqual([readConfig(least).timeouts, readConfig(least).lease]);
  });

  it('needs only the report addresses and the launcher image', () => {
    const config = readConfig(least);
    expect(config.reports.urls).toEqual(['https://127.0.0.1:9443', 'https://operator.coxswain-system.svc:9443']);
    expect(config.reports.ownUrl).toBe('https://127.0.0.1:9443');
    expect(config.reports.seriesReaders).toEqual([]);
  });

  it.each([
    ['10.0.0.7', 'https://10.0.0.7:9443'],
    ['fd00::7', 'https://[fd00::7]:9443'],
  ])('names itself by the address of its pod, %s', (COXSWAIN_REPORT_OWN_HOST, want) => {
    expect(readConfig({ ...least, COXSWAIN_REPORT_OWN_HOST }).reports.ownUrl).toBe(want);
  });

  it('takes a bucket for code with its credentials, and refuses one without', () => {
    const bucket = { COXSWAIN_CODE_BUCKET_URI: 's3://training/code', COXSWAIN_CODE_BUCKET_KEY_ID: 'id' };
    expect(readConfig(least).codeBucket).toBeUndefined();
    expect(readConfig({ ...least, ...bucket, COXSWAIN_CODE_BUCKET_KEY: 'key' }).codeBucket).toMatchObject({
      uri: 's3://training/code',
      credentials: { accessKeyId: 'id', secretAccessKey: 'key' },
    });
    expect(() => readConfig({ ...least, ...bucket })).toThrow(
      'needs COXSWAIN_CODE_BUCKET_KEY_ID and COXSWAIN_CODE_BUCKET_KEY',
    );
    expect(() => readConfig({ ...least, COXSWAIN_CODE_BUCKET_URI: '/data' })).toThrow('must be s3://BUCKET');
  });

  it('spells series readers as the API server does', () => {
    const config = readConfig({ ...least, COXSWAIN_SERIES_READERS: 'coxswain-system:api' });
    expect(config.reports.seriesReaders).toEqual(['system:serviceaccount:coxswain-system:api']);
  });

  it('knows what was measured of a GPU by the planner’s own name of it', () => {
    const { measuredGpus } = readConfig({ ...least, COXSWAIN_MEASURED_GPUS: profiles('h100') });
    expect(measuredGpus).toMatchObject({ 'h100-sxm5-80gb': { name: 'ours' } });
  });

  it('serves metrics only where a token for them is configured', () => {
    expect(readConfig(least).metrics).toEqual({ listenHost: '::', listenPort: 8082, tokenFile: undefined });
    const COXSWAIN_METRICS_TOKEN_FILE = '/var/run/coxswain/metrics/token';
    expect(readConfig({ ...least, COXSWAIN_METRICS_TOKEN_FILE }).metrics.tokenFile).toBe(COXSWAIN_METRICS_TOKEN_FILE);
  });

  it('cannot be changed after it was read', () => {
    const { lease } = readConfig(least) as { lease: { durationMs: number } };
    expect(() => {
      lease.durationMs = 1;
    }).toThrow(TypeError);
  });

  it.each([
    ['an address without TLS', { COXSWAIN_REPORT_URLS: 'http://127.0.0.1:9443' }, /COXSWAIN_REPORT_URLS.*https/],
    ['a missing launcher image', { COXSWAIN_LAUNCHER_IMAGE: undefined }, /COXSWAIN_LAUNCHER_IMAGE/],
    ['to keep a single checkpoint', { COXSWAIN_CHECKPOINTS_KEPT: '1' }, /COXSWAIN_CHECKPOINTS_KEPT.*>=2/],
    ['notices that are no list', { COXSWAIN_DISRUPTION_NOTICES: '{' }, /COXSWAIN_DISRUPTION_NOTICES.*JSON list/],
    ['a notice without a mark', { COXSWAIN_DISRUPTION_NOTICES: '[{"name":"a"}]' }, /exactly one of taint, label/],
    ['profiles that are no object', { COXSWAIN_MEASURED_GPUS: 'h100' }, /COXSWAIN_MEASURED_GPUS.*JSON object/],
    [
      'a profile of no known GPU',
      { COXSWAIN_MEASURED_GPUS: profiles('abacus') },
      /"abacus" is no GPU that the planner/,
    ],
    ['two profiles of one GPU', { COXSWAIN_MEASURED_GPUS: profiles('h100', 'H100') }, /"H100" is another name of h100/],
    ['a port that is none', { COXSWAIN_HEALTH_LISTEN_PORT: 'eighty' }, /COXSWAIN_HEALTH_LISTEN_PORT/],
    ['an own address that is none', { COXSWAIN_REPORT_OWN_HOST: 'me' }, /COXSWAIN_REPORT_OWN_HOST.*IPv4 or IPv6/],
    ['a reader without namespace', { COXSWAIN_SERIES_READERS: 'api' }, /namespace:serviceaccount/],
    ['a lease that outlives its renewal', { COXSWAIN_LEASE_RENEW_DEADLINE_MS: '15000' }, /two replicas could lead/],
  ])('refuses %s and says which variable and why', (_what, change, want) => {
    expect(() => readConfig({ ...least, ...change })).toThrow(want);
  });
});
