/** The page on which a job is written and submitted: what a person reads before anything is typed. */
import type { JobCheck, WhoAmI } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import { JobPreview } from '../components/job-preview.tsx';
import { attributesOf, markupOf, textOf } from '../components/testing/rendered.ts';
import { type Answers, asSignedIn } from '../components/testing/signed-in.ts';
import { STARTS } from '../new-job/starts.ts';
import { NewJobPage } from './new-job-page.tsx';

const page = (me: Partial<WhoAmI> = {}, answers: Answers = [], search = '') =>
  asSignedIn(createElement(NewJobPage), { me, answers, path: '/jobs/new', search });
const NO_PROJECT = { project: null, role: 'clusterAdmin' } as const;
const member = (project: string, role: 'viewer' | 'submitter') => ({ project, role });

describe('the page of a new job', () => {
  it.each<[string, ReturnType<typeof page>, string]>([
    ['has a form', page(), 'Start with A tiny GPT Your own program'],
    [
      'tells a viewer which role is needed',
      page({ role: 'viewer' }),
      'You cannot submit jobs: you need the role submitter',
    ],
    ['reads the projects of an administrator', page(NO_PROJECT), 'Reading projects…'],
    ['says why they cannot be read', page(NO_PROJECT, [[['projects'], new Error('No.')]]), 'No.'],
    [
      'offers the projects of an administrator',
      page(NO_PROJECT, [[['projects'], { items: [{ name: 'vision' }, { name: 'speech' }] }]]),
      'Project vision speech Submit',
    ],
    [
      'offers the projects in which somebody may submit',
      page({ project: null, memberships: [member('a', 'viewer'), member('b', 'submitter'), member('c', 'submitter')] }),
      'Project b c Submit',
    ],
    [
      'offers names of the project',
      page({}, [[['project', 'research'], { namespaces: ['lab'], priorityClasses: ['high'] }]]),
      'Namespace default lab',
    ],
    ['reads a job to clone', page({}, [], 'project=research&from=j'), 'Reading the job…'],
    [
      'says why it cannot be read',
      page({}, [[['job to clone', 'research', 'j'], new Error('No such job.')]], 'project=research&from=j'),
      'No such job.',
    ],
  ])('%s', (_sentence, shown, words) => {
    expect(textOf(shown)).toContain(words);
  });

  it('begins a clone as the job, under another name', () => {
    const clone = page({}, [[['job to clone', 'research', 'j'], aJob()]], 'project=research&from=j');
    expect(markupOf(clone)).toContain('name: tiny-gpt-2');
    expect(textOf(clone)).not.toContain('Start with');
  });

  it('has a label for each input', () => {
    const ids = attributesOf(page(), 'id');
    expect(ids).toEqual(expect.arrayContaining([...attributesOf(page(), 'for')]));
    expect(attributesOf(page(), 'for')).toContain('field-spec.engine.image');
  });
});

describe('the preview', () => {
  const check: JobCheck = {
    ...{ verdict: null, checked: ['spec'], notChecked: [{ what: 'pods', why: 'later' }], gpusWanted: 16 },
    gpus: { total: 64, free: 32, types: [] },
    plan: {
      ...{ chosenBy: 'Planner', gpus: 16, fabric: '8 nodes', plannerVersion: '1' },
      layout: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 8 },
      ...{ microBatchSize: 2, predictedStepMs: 3_600 },
    },
  };
  const preview = (more: Partial<Parameters<typeof JobPreview>[0]>): string =>
    textOf(
      createElement(JobPreview, {
        ...{ request: STARTS[0].request, check, isStale: false, isAsking: false, problem: undefined },
        ...more,
      }),
    );
  it.each<[string, Parameters<typeof preview>[0], string]>([
    ['has the plan', {}, 'Chosen by the planner tp2 x dp8, micro-batch 2: 3,600 ms per step'],
    ['has the time of the training', {}, 'Time to train about 1 h 0 min'],
    ['has the free GPUs', {}, 'GPUs 16 32 of 64 are free'],
    ['says that GPUs are not known', { check: { ...check, gpus: null } }, '16 free GPUs are not known'],
    ['says that nothing is in the way', {}, 'Nothing known is in the way of this job.'],
    ['says what was not checked', {}, 'What was not checked pods: later'],
    ['says that it is asked', { isAsking: true }, 'Preview Asking planner and cluster…'],
    ['says that the job has changed since', { isStale: true }, 'Preview Of an earlier version'],
    ['says why there is none', { check: undefined, problem: 'Mend the problems.' }, 'Preview Mend the problems.'],
    ['has no answer to an earlier text beside that', { isStale: true, problem: 'Mend them.' }, 'Preview Mend them.'],
    [
      'has no plan of an API of an earlier release',
      { check: { ...check, plan: undefined } },
      'Time to train – Nothing',
    ],
  ])('%s', (_sentence, more, words) => {
    expect(preview(more)).toContain(words);
  });
});
