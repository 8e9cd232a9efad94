/** What a person reads of checkpoints: on the page of their job, on their own page, and in the list of a project. */
import type { CheckpointRecord, Job } from '@coxswain/api-types';
import { aCheckpointRecord, aJob, anAttempt, aVerification, someContents } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import { CheckpointsPanel } from './checkpoints-panel.tsx';
import { attributesOf, markupOf, textOf } from './testing/rendered.ts';
import { asSignedIn } from './testing/signed-in.ts';

const SOUND: Partial<CheckpointRecord> = {
  name: 's20',
  uid: 'u20',
  verification: aVerification(),
  contents: someContents({ holds: { optimizer: true }, isResumable: true }),
};

describe('the checkpoints of a job', () => {
  const panel = (answer?: unknown, changes: Partial<Omit<Job, 'spec'>> = {}) => {
    const job = aJob(changes);
    const key = ['checkpoints of job', 'research', job.id, job.checkpoint?.name];
    const page = createElement(CheckpointsPanel, { job, project: 'research' });
    return asSignedIn(page, { answers: answer === undefined ? [] : [[key, answer]] });
  };
  const saves = (...items: readonly Partial<CheckpointRecord>[]) => ({ items: items.map(aCheckpointRecord) });
  const attempts = [anAttempt({ epoch: 2, resumedFrom: { checkpoint: 's20', step: 20 } })];

  it.each<[sentence: string, page: ReturnType<typeof panel>, words: string]>([
    ['are being read', panel(), 'Checkpoints Reading…'],
    ['failed to be read', panel(new Error('The API does not answer.')), 'Checkpoints The API does not answer.'],
    ['are none yet', panel(saves()), 'No checkpoints yet.'],
    ['have verdict, contents and size', panel(saves(SOUND)), 'step 20 s20 sound (V1) resumable 1.5 MiB'],
    ['are newest first', panel(saves(SOUND, { step: 40, name: 's40' })), 'step 40 s40 not verified unknown 1.5 MiB'],
    ['of weights say so', panel(saves({ contents: someContents() })), 'weights only'],
    [
      'have a mark on the one that the job would resume from',
      panel(saves(SOUND), { checkpoint: { name: 's20', step: 20 } }),
      'step 20 newest usable s20',
    ],
    ['have a mark if they are pinned', panel(saves({ ...SOUND, pin: 'the paper' })), 'step 20 pinned s20'],
    ['name the attempts that began from them', panel(saves(SOUND), { attempts }), 'by attempt 1 2 What the'],
    ['say which objects are gone', panel(saves({ deletedAt: 't' })), 'by attempt 1, object deleted'],
    ['explain their levels', panel(saves(SOUND)), 'V3: all bytes, compared with their checksums.'],
    [
      'are ten at first',
      panel(saves(...Array.from({ length: 13 }, (_, step) => ({ step, uid: `u${step}` })))),
      'Show 3 older ones',
    ],
  ])('%s', (_sentence, page, words) => {
    expect(textOf(page)).toContain(words);
  });

  it('link to their pages', () => {
    expect(attributesOf(panel(saves(SOUND)), 'href')).toEqual(['/projects/research/checkpoints/u20']);
  });

  it.each<[NonNullable<CheckpointRecord['verification']>['verdict'], string]>([
    ['sound', 'pill good'],
    ['suspect', 'pill held'],
    ['damaged', 'pill bad'],
    ['incomplete', 'pill bad'],
    ['unverifiable', 'pill idle'],
  ])('that are %s look like it, and say under the pointer what it means', (verdict, className) => {
    const markup = markupOf(panel(saves({ verification: aVerification({ verdict }) })));
    expect(markup).toContain(`<span class="${className}" title="`);
  });
});
