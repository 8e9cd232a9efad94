import type { Condition, Job, WhoAmI } from '@coxswain/api-types';
import { aCheckpointRecord, aJob } from '@coxswain/api-types/testing';
import { describeLoads, goOnFrom, resumeFromYaml, type Resumable } from './go-on.ts';

const SAVE: Resumable = { ...aCheckpointRecord({ name: 'tiny-s20' }), loads: null };
const REFUSED: Resumable['loads'] = {
  ...{ verdict: 'cannot', message: 'It was saved as torch_dist.', warnings: [], isRefused: true },
};
const RESUME = 'coxswain resume tiny-gpt --from tiny-s20';
const SUSPEND = 'coxswain suspend tiny-gpt --wait';
const UNUSABLE: Condition = {
  type: 'Placed',
  status: 'False',
  reason: 'CheckpointsUnusable',
  message: 'No checkpoint can be used.',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

interface Asked {
  readonly job?: Parameters<typeof aJob>[0];
  readonly role?: WhoAmI['role'];
  readonly deletedAt?: string;
  readonly isBeingDeleted?: boolean;
  readonly loads?: Resumable['loads'];
}
const answer = ({ job = {}, role = 'submitter', deletedAt, isBeingDeleted = false, loads = null }: Asked) =>
  goOnFrom({ ...SAVE, isBeingDeleted, loads, deletedAt: deletedAt ?? null }, aJob(job), role);
const SUSPENDED: Parameters<typeof aJob>[0] = { state: 'Suspended', spec: { suspend: true } };
const ended = (state: Job['state']): Asked => ({ job: { state } });

describe('training goes on from a checkpoint', () => {
  it.each<[sentence: string, asked: Asked, why: RegExp | undefined, commands: readonly string[]]>([
    ['if the job is suspended', { job: SUSPENDED }, undefined, [RESUME]],
    ['if the job waits for a choice', { job: { state: 'Queued', conditions: [UNUSABLE] } }, undefined, [RESUME]],
    ['once a running job is suspended', {}, /is not suspended\. Suspend it first/, [SUSPEND, RESUME]],
    ['for whom may resume jobs', { job: SUSPENDED, role: 'viewer' }, /role is viewer/, [RESUME]],
    [
      'not of a job that ended',
      ended('Complete'),
      /is Complete and does not continue\. Another job can resume .* once you adopt it/,
      [],
    ],
    ['not of a job that is deleted', ended('Deleting'), /is Deleting and does not/, []],
    ['not of a job that is cancelled', { job: { spec: { cancel: true } } }, /being cancelled/, []],
    [
      'not at a layout that does not load it',
      { job: SUSPENDED, loads: REFUSED },
      /tiny-gpt has does not load it\. It was saved as torch_dist/,
      [],
    ],
    ['not from one that is being deleted', { job: SUSPENDED, isBeingDeleted: true }, /is being deleted/, []],
    ['not from a deleted object', { job: SUSPENDED, deletedAt: 't' }, /object was deleted/, []],
  ])('%s', (_sentence, asked, why, commands) => {
    const found = answer(asked);
    expect(found).toMatchObject({ canAct: why === undefined, commands });
    expect(found.why).toMatch(why ?? /^$/);
  });

  it.each<[string, Resumable['loads'], string | undefined]>([
    ['unknown', null, undefined],
    ['a refusal of its own', REFUSED, undefined],
    [
      'shown with what is lost',
      {
        verdict: 'engine reshards',
        message: 'It was saved wider.',
        warnings: ['Its seeds are lost.'],
        isRefused: false,
      },
      'The engine divides its state anew while it loads: It was saved wider. Its seeds are lost.',
    ],
  ])('whether it loads is %s', (_what, loads, want) => {
    expect(describeLoads({ ...SAVE, loads })).toBe(want);
  });

  it('is asked for in YAML as a new request each time', () => {
    expect(resumeFromYaml(SAVE, { specVersion: 6 })).toBe(
      'spec:\n  suspend: false\n  resumeFrom:\n    from: tiny-s20\n    request: "7"\n',
    );
  });
});
