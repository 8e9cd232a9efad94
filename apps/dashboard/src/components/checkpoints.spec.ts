/** What a person reads of checkpoints: on the page of their job, on their own page, and in the list of a project. */
import type { CheckpointDetail, CheckpointRecord, Job, WhoAmI } from '@coxswain/api-types';
import { aCheckpointRecord, aJob, anAttempt, aVerification, someContents } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import type { TensorGroup } from '@coxswain/api-types';
import { aTensorGroup } from '../checkpoints/testing/a-tensor-group.ts';
import { CheckpointPage } from '../pages/checkpoint-page.tsx';
import { CheckpointsPage } from '../pages/checkpoints-page.tsx';
import { CheckpointsPanel } from './checkpoints-panel.tsx';
import { attributesOf, markupOf, textOf } from './testing/rendered.ts';
import { type Answers, asSignedIn } from './testing/signed-in.ts';

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
    ['have the loss of their step', panel(saves({ ...SOUND, progress: { loss: 2.31, lossStep: 20 } })), 'loss 2.31'],
    ['of weights say so', panel(saves({ contents: someContents() })), 'weights only'],
    [
      'have a mark on the one that the job would resume from',
      panel(saves(SOUND), { checkpoint: { name: 's20', step: 20 } }),
      'step 20 newest usable s20',
    ],
    ['have a mark if they are pinned', panel(saves({ ...SOUND, pin: 'the paper' })), 'step 20 pinned s20'],
    [
      'have a mark if a retention policy decided about them',
      panel(saves({ ...SOUND, retention: { keeps: true, because: 'It is the newest.' } })),
      'step 20 kept s20',
    ],
    [
      'say which are being deleted',
      panel(saves({ ...SOUND, state: 'Damaged', isBeingDeleted: true })),
      'being deleted',
    ],
    ['say whose files are gone', panel(saves({ ...SOUND, isAbsent: true })), 'files gone'],
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

describe('the page of a checkpoint', () => {
  interface Seen {
    readonly save?: Partial<CheckpointDetail> & { readonly tensorGroups?: readonly TensorGroup[] };
    readonly job?: Parameters<typeof aJob>[0];
    readonly role?: WhoAmI['role'];
  }
  const key = ['checkpoint', 'research', 'u20'];
  const page = (answers: Answers, role: WhoAmI['role'] = 'submitter') =>
    asSignedIn(createElement(CheckpointPage, { project: 'research', uid: 'u20' }), { me: { role }, answers });
  const seen = ({ save = {}, job = {}, role }: Seen = {}) => {
    const record = { ...aCheckpointRecord(SOUND), verifications: [aVerification()], loads: null, ...save };
    const its = aJob(job);
    return page(
      [
        [key, record],
        [['job of checkpoint', 'research', its.id], its],
      ],
      role,
    );
  };
  const USE = {
    jobId: '0b0d2f2c-6a43-4c8e-9a52-0c9de1cbb0d7',
    jobName: 'pretrain',
    epoch: 1,
    startedAt: '2026-01-02T00:00:00Z',
  };
  const worker = aVerification({ level: 'V3', by: 'Worker', node: 'gpu-a', readBytes: 2048 });
  const damaged = aVerification({
    verdict: 'damaged',
    findings: [{ kind: 'damaged', message: 'a.distcp is cut off' }],
  });

  it.each<[sentence: string, page: ReturnType<typeof page>, words: string]>([
    ['is being read', page([]), 'Reading the checkpoint…'],
    ['failed to be read', page([[key, new Error('There is no such checkpoint.')]]), 'There is no such checkpoint.'],
    [
      'has the verdict first, with what it means',
      seen(),
      'Step 20 of tiny-gpt sound (V1) The verification found nothing',
    ],
    ['says what the bytes are', seen(), 'Size 1.5 MiB in 5 files'],
    ['says what the run that saved it began from', seen({ job: { attempts: [anAttempt()] } }), 'began from scratch'],
    ['says if that is not known any more', seen(), 'Which began from not recorded any more'],
    [
      'says which attempts began from it',
      seen({ job: { attempts: [anAttempt({ epoch: 2, resumedFrom: { checkpoint: 's20', step: 20 } })] } }),
      'Attempts from here 2',
    ],
    [
      'links to the attempts of any job that began from it, and counts those that are not listed',
      seen({ save: { usedBy: { total: 22, attempts: [USE, { ...USE, jobName: 'tune', epoch: 4 }] } } }),
      'Used by pretrain attempt 1, tune attempt 4, 20 more',
    ],
    ['has each verification', seen({ save: { verifications: [worker] } }), 'sound (V3)'],
    ['says who read it and how much', seen({ save: { verifications: [worker] } }), 'a pod on gpu-a 2.0 KiB'],
    ['has what was found', seen({ save: { verifications: [damaged] } }), 'damaged: a.distcp is cut off'],
    [
      'says that nothing was verified',
      seen({ save: { verifications: [] } }),
      'No verification has read its files yet.',
    ],
    ['says what it holds', seen(), 'resumable holds: optimizer unknown: random states, position in the data'],
    [
      'says how it was divided',
      seen({ save: { contents: someContents({ worldSize: 8, degrees: { tensorParallelDegree: 4 } }) } }),
      'Saved by ranks 8 Degrees tensor parallel 4',
    ],
    [
      'says that no reader knows its format',
      seen({ save: { contents: null } }),
      'Its contents are unknown: format torch_dcp',
    ],
    ['says that no geometry is known', seen(), 'Shards No geometry is known'],
    ['lists how tensors are divided', seen({ save: { tensorGroups: [aTensorGroup()] } }), '4 bfloat16 8 × 4 2 chunks'],
    [
      'counts the tensors that have no group of their own',
      seen({ save: { tensorGroups: [aTensorGroup({ name: '*', tensors: 1_200 })] } }),
      '1,200 further tensors of several shapes are not drawn. The same as a table',
    ],
    [
      'says what retention decided, and why',
      seen({ save: { retention: { keeps: false, because: 'A newer one stays.', problem: 'its pod failed' } } }),
      'Retention It goes: A newer one stays. Its files could not be deleted yet: its pod failed',
    ],
    ['says why it is pinned', seen({ save: { pin: 'the paper' } }), 'Pin Unpin Pinned: the paper'],
    ['explains to viewers what they may not do', seen({ role: 'viewer' }), 'viewer, which may not verify or pin'],
    ['says that the object is gone', seen({ save: { deletedAt: 't' } }), 'it cannot be verified or pinned any more'],
    [
      'goes on from here if the job is suspended',
      seen({ job: { spec: { suspend: true } } }),
      'Go on from step 20 With',
    ],
    [
      'says whether it loads at the layout of the job',
      seen({
        save: {
          loads: { verdict: 'loads as is', message: 'It was saved as torch_dcp.', warnings: [], isRefused: false },
        },
      }),
      'It loads as it is: It was saved as torch_dcp.',
    ],
    ['says what has to happen before', seen(), 'is not suspended. Suspend it first'],
    ['has the commands', seen(), 'coxswain suspend tiny-gpt --wait coxswain resume tiny-gpt --from s20'],
    [
      'warns before training goes on from damage',
      seen({ save: { verification: damaged } }),
      'It is damaged (V1). The bytes are not what was saved.',
    ],
  ])('%s', (_sentence, node, words) => {
    expect(textOf(node)).toContain(words);
  });

  const PIN = 'pin is typed first';
  it.each<[sentence: string, page: ReturnType<typeof page>, disabled: readonly string[]]>([
    ['all but the resume of a job that runs', seen(), [PIN, 'Go on from step 20']],
    ['all of a suspended job', seen({ job: { spec: { suspend: true } } }), [PIN]],
    ['nothing to viewers', seen({ role: 'viewer' }), ['Verify', PIN, 'Go on from step 20']],
  ])('allows %s', (_sentence, node, disabled) => {
    const buttons = [...markupOf(node).matchAll(/<button[^>]*disabled=""[^>]*>(?:([^<]*)(?:<!-- -->)?)([^<]*)</g)];
    expect(buttons.map(([, first = '', second = '']) => first + second)).toEqual(
      disabled.map((name) => (name === PIN ? 'Pin' : name)),
    );
  });

  it('has a picture of the shards that says what it shows and how to move', () => {
    expect(attributesOf(seen({ save: { tensorGroups: [aTensorGroup()] } }), 'aria-label')).toContain(
      '1 group of tensors in chunks. Arrow keys go from chunk to chunk; the table below lists the groups.',
    );
  });
});

describe('the checkpoints of a project', () => {
  const page = (answer?: unknown, me: Partial<WhoAmI> = {}) =>
    asSignedIn(createElement(CheckpointsPage, { project: 'research' }), {
      me,
      answers: answer === undefined ? [] : [[['checkpoints', 'research', { job: '', verdict: '' }, undefined], answer]],
    });
  const two = ['research', 'vision'].map((project) => ({ project, role: 'viewer' as const }));
  const listed = { items: [aCheckpointRecord(SOUND)] };

  it.each<[sentence: string, page: ReturnType<typeof page>, words: string]>([
    ['are being read', page(), 'Reading checkpoints…'],
    ['failed to be read', page(new Error('No access.')), 'No access.'],
    ['are none', page({ items: [] }), 'No job has saved a checkpoint yet.'],
    ['name their jobs', page(listed), 'step 20 s20 tiny-gpt sound (V1) resumable'],
    ['have further pages', page({ ...listed, nextPageToken: 'x' }), 'Older'],
    [
      'offer the projects of somebody with several',
      page(listed, { project: null, memberships: two }),
      'research vision',
    ],
  ])('%s', (_sentence, node, words) => {
    expect(textOf(node)).toContain(words);
  });

  it('link to the checkpoint and to its job', () => {
    expect(attributesOf(page(listed), 'href')).toEqual([
      '/projects/research/checkpoints/u20',
      '/projects/research/jobs/00000000-0000-4000-8000-000000000001',
    ]);
  });
});
