import { POD_ENV } from '@coxswain/api-types';
import { isWholeGang, LAUNCHER_ENV, parseSettings, type Settings } from './settings.ts';

/** The environment of the second of two pods with two ranks each. */
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
  [POD_ENV.firstRank]: '2',
  [POD_ENV.localWorldSize]: '2',
  [POD_ENV.worldSize]: '4',
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
      firstRank: 2,
      worldSize: 4,
      reportUrls: ['https://operator-0:9443', 'https://operator-1:9443'],
      tokenFile: '/var/run/secrets/coxswain/token',
      saveDirectory: undefined,
      resume: undefined,
      gracePeriodMs: 30_000,
      terminationLog: '/dev/termination-log',
    });
  });

  it('names the checkpoint to resume from with the digest of its manifest', () => {
    const manifestSha256 = 'a'.repeat(64);
    const env = { [POD_ENV.resumeFrom]: '/ckpt/step-20', [POD_ENV.resumeManifestSha256]: manifestSha256 };
    expect(settingsOf(env).resume).toEqual({ directory: '/ckpt/step-20', manifestSha256 });
  });

  it('may set the grace period and the path of the termination message', () => {
    const env = { [POD_ENV.gracePeriodSeconds]: '5', [LAUNCHER_ENV.terminationLog]: '/tmp/log' };
    expect(settingsOf(env)).toMatchObject({ gracePeriodMs: 5_000, terminationLog: '/tmp/log' });
  });

  it.each<[string, Record<string, string | undefined>, string]>([
    ['lacks a name', { [POD_ENV.jobName]: undefined }, `${POD_ENV.jobName} is missing`],
    ['has an empty name', { [POD_ENV.podUid]: '' }, `${POD_ENV.podUid} is empty`],
    ['has a number that is none', { [POD_ENV.epoch]: 'three' }, `${POD_ENV.epoch} is not a whole number`],
    ['has half a rank', { [POD_ENV.firstRank]: '1.5' }, `${POD_ENV.firstRank} is not a whole number`],
    ['has no ranks', { [POD_ENV.localWorldSize]: '0' }, POD_ENV.localWorldSize],
    [
      'has ranks beyond the world',
      { [POD_ENV.worldSize]: '3' },
      `${POD_ENV.worldSize} is 3, but this pod's ranks reach beyond it`,
    ],
    ['is one of several and cannot meet', { [POD_ENV.reportUrls]: '' }, `${POD_ENV.reportUrls} is missing`],
    [
      'would send its token in clear text',
      { [POD_ENV.reportUrls]: 'http://operator:80' },
      'http://operator:80, which is not https',
    ],
    [
      'resumes from what it cannot verify',
      { [POD_ENV.resumeFrom]: '/ckpt' },
      `${POD_ENV.resumeManifestSha256} is missing`,
    ],
    [
      'has half a digest',
      { [POD_ENV.resumeManifestSha256]: 'abc' },
      `${POD_ENV.resumeManifestSha256} is not a SHA-256`,
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

  it.each([
    [{}, false],
    [{ [POD_ENV.firstRank]: '0', [POD_ENV.localWorldSize]: '4' }, true],
  ])('%j holds the whole gang: %s', (overrides, want) => {
    expect(isWholeGang(settingsOf(overrides))).toBe(want);
  });

  it('of a gang of one pod needs nobody to meet', () => {
    const alone = { [POD_ENV.firstRank]: '0', [POD_ENV.localWorldSize]: '4', [POD_ENV.reportUrls]: undefined };
    expect(settingsOf(alone).reportUrls).toEqual([]);
  });
});
