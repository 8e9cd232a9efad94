import { POD_ENV } from '@coxswain/api-types';
import { LAUNCHER_ENV, parseSettings, type Settings } from './settings.ts';

/** The environment of the second of two pods. */
const POD: Readonly<Record<string, string>> = {
  [POD_ENV.jobName]: 'tiny',
  [POD_ENV.jobUid]: 'job-uid',
  [POD_ENV.namespace]: 'research',
  [POD_ENV.podName]: 'tiny-e3-1',
  [POD_ENV.podUid]: 'pod-uid',
  [POD_ENV.podIp]: '10.0.0.7',
  [POD_ENV.nodeName]: 'node-b',
  [POD_ENV.podIndex]: '1',
  [POD_ENV.epoch]: '3',
  [POD_ENV.reportUrls]: 'https://operator-0:9443/, https://operator-1:9443',
};

function settingsOf(overrides: Record<string, string | undefined> = {}): Settings {
  const parsed = parseSettings({ ...POD, ...overrides });
  if (parsed.kind === 'refused') throw new Error(parsed.sentence);
  return parsed.settings;
}

function refusalOf(overrides: Record<string, string | undefined>): string {
  const parsed = parseSettings({ ...POD, ...overrides });
  return parsed.kind === 'refused' ? parsed.sentence : 'accepted';
}

describe('the environment of a pod', () => {
  it('is read with its numbers, its list of addresses and its defaults', () => {
    expect(settingsOf()).toMatchObject({
      podIndex: 1,
      epoch: 3,
      reportUrls: ['https://operator-0:9443', 'https://operator-1:9443'],
      tokenFile: '/var/run/secrets/coxswain/token',
      checkpointMount: '/coxswain/checkpoints',
      patienceMs: 120_000,
      firstContactMs: 240_000,
      mountPatienceMs: 120_000,
      gracePeriodMs: 30_000,
      terminationLog: '/dev/termination-log',
    });
  });

  it('may set the grace period and the path of the termination message', () => {
    const env = { [POD_ENV.gracePeriodSeconds]: '5', [LAUNCHER_ENV.terminationLog]: '/tmp/log' };
    expect(settingsOf(env)).toMatchObject({ gracePeriodMs: 5_000, terminationLog: '/tmp/log' });
  });

  it.each([
    ['WhenPossible', true],
    ['Never', false],
    [undefined, false],
    ['a value of a later release', false],
  ])('asks for processes that import PyTorch early with %s: %s', (value, want) => {
    expect(settingsOf({ [POD_ENV.preloadPyTorch]: value }).preloadsPyTorch).toBe(want);
  });

  it('may name a bucket, with credentials or without', () => {
    const bucket = { uri: 's3://training/runs', endpoint: 'http://minio:9000' };
    const env = { [POD_ENV.bucket]: JSON.stringify(bucket) };
    expect(settingsOf().bucket).toBeUndefined();
    expect(settingsOf(env).bucket).toEqual({ ...bucket, credentials: undefined });
    expect(settingsOf({ ...env, [POD_ENV.bucketKeyId]: 'a', [POD_ENV.bucketKey]: 'b' }).bucket?.credentials).toEqual({
      accessKeyId: 'a',
      secretAccessKey: 'b',
    });
  });

  it.each<[string, Record<string, string | undefined>, string]>([
    ['names a bucket that is none', { [POD_ENV.bucket]: '{"uri":"/data"}' }, `${POD_ENV.bucket} is no bucket`],
    ['lacks a name', { [POD_ENV.jobName]: undefined }, `${POD_ENV.jobName} is missing`],
    ['has an empty name', { [POD_ENV.podUid]: '' }, `${POD_ENV.podUid} is empty`],
    ['has a number that is none', { [POD_ENV.epoch]: 'three' }, `${POD_ENV.epoch} is not a whole number`],
    ['has half an index', { [POD_ENV.podIndex]: '1.5' }, `${POD_ENV.podIndex} is not a whole number`],
    ['names nobody who could give it ranks', { [POD_ENV.reportUrls]: undefined }, `${POD_ENV.reportUrls} is missing`],
    ['names nobody but a comma', { [POD_ENV.reportUrls]: ' , ' }, `${POD_ENV.reportUrls} is empty`],
    [
      'would send its token in clear text',
      { [POD_ENV.reportUrls]: 'http://operator:80' },
      'http://operator:80, which is not https',
    ],
  ])('that %s is refused by the name of the variable, with what to do', (_what, overrides, want) => {
    const sentence = refusalOf(overrides);
    expect(sentence).toContain(want);
    expect(sentence).toContain('start the launcher through a TrainingJob');
  });

  it('names everything that is wrong at once', () => {
    const sentence = refusalOf({ [POD_ENV.jobName]: undefined, [POD_ENV.epoch]: '-1' });
    expect(sentence).toContain(POD_ENV.jobName);
    expect(sentence).toContain(POD_ENV.epoch);
  });
});
