/** What a person reads on each page: while it is read, when it failed, when there is nothing, and when there is something. */
import type { AccuracyFigures, ClusterFabric, Job, MeasuredPrediction, WhoAmI } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import { App } from '../app.tsx';
import { attributesOf, markupOf, textOf } from '../components/testing/rendered.ts';
import { type Answers, asGuest, asSignedIn } from '../components/testing/signed-in.ts';
import { aClusterFabric, aFabricPlace } from '../fabric/testing/a-cluster-fabric.ts';
import { ALL_JOBS } from '../jobs/job-listing.ts';
import { FabricPage } from './fabric-page.tsx';
import { JobsPage } from './jobs-page.tsx';
import { PlansPage } from './plans-page.tsx';
import { SignInPage } from './sign-in-page.tsx';

const JOBS_KEY = ['jobs', 'research', ALL_JOBS, 50];
const jobsPage = (answer?: unknown) =>
  asSignedIn(createElement(JobsPage), { answers: answer === undefined ? [] : [[JOBS_KEY, answer]] });
const listed = (...jobs: readonly Partial<Omit<Job, 'spec'>>[]) =>
  jobsPage({ jobs: jobs.map((changes) => aJob(changes)), isCut: false });

describe('the list of jobs', () => {
  it.each<[string, unknown, string]>([
    ['is being read', undefined, 'Reading jobs…'],
    ['failed to be read', new Error('The API does not answer.'), 'The API does not answer.'],
    ['is empty, with the command that makes the first', { jobs: [], isCut: false }, 'No jobs yet. coxswain submit -f'],
    ['has a page that writes a job', { jobs: [], isCut: false }, 'Jobs New job'],
    ['is cut', { jobs: [aJob()], isCut: true }, 'Show more jobs'],
  ])('%s', (_sentence, answer, words) => {
    expect(textOf(jobsPage(answer))).toContain(words);
  });

  it.each<[string, Partial<Omit<Job, 'spec'>>, string]>([
    ['its name and project', {}, 'tiny-gpt research'],
    ['its namespace if it is of no project', { project: null, namespace: 'vision' }, 'tiny-gpt vision'],
    ['three of its labels', { labels: { a: '1', b: '2', c: '3', d: '4' } }, 'research · a=1 · b=2 · c=3 Running'],
    ['its state and what it does', { state: 'Queued', summary: 'Waits for 4 GPUs.' }, 'Queued Waits for 4 GPUs.'],
    ['no progress before a step', {}, 'Training on 4 GPUs. – – 4'],
    ['its layout', {}, 'tp2 x dp2'],
    ['that its layout is not chosen', { layout: null }, 'to be planned'],
    ['many GPUs with a comma', { gpus: 16_384 }, '16,384'],
  ])('shows of a job %s', (_what, changes, words) => {
    expect(textOf(listed(changes))).toContain(words);
  });

  const progress = {
    step: 1_200,
    totalSteps: 2_000,
    loss: 3.14159,
    tokensPerSecond: null,
    etaSeconds: null,
    reportedAt: 't',
  };
  it.each<[string, Partial<Omit<Job, 'spec'>>, string]>([
    ['of its steps', { progress, totalSteps: 2_000 }, '1,200 of 2,000 3.1416 4'],
    ['without a total', { progress, totalSteps: null }, '1,200 3.1416 4'],
    ['without a loss', { progress: { ...progress, loss: null }, totalSteps: null }, '1,200 – 4'],
  ])('shows progress %s', (_what, changes, words) => {
    expect(textOf(listed(changes))).toContain(words);
  });

  it.each<[string, string | null, string]>([
    ['of its project', 'research', '/projects/research/jobs/00000000-0000-4000-8000-000000000001'],
    ['without a project', null, '/projects/-/jobs/00000000-0000-4000-8000-000000000001'],
  ])('links to the page of a job %s', (_what, project, href) => {
    expect(attributesOf(listed({ project }), 'href')).toEqual(['/jobs/new', href]);
  });
});

const FIGURES: AccuracyFigures = {
  n: 2,
  medianAbsPct: 4.25,
  p90AbsPct: 9,
  biasPct: -1.5,
  within10: 100,
  within20: 100,
};
const ITEM: MeasuredPrediction = {
  jobId: 'j',
  project: null,
  name: 'tiny',
  engine: 'torchtitan',
  gpuType: 'h100',
  gpus: 4,
  epoch: 2,
  layout: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 },
  microBatchSize: 1,
  predictedMs: 1_240,
  measuredMs: 1_180,
  measuredSteps: 90,
  errorPct: 5.08,
  plannerVersion: '1',
  startedAt: 't',
};

describe('the page of predictions', () => {
  const page = (answer?: unknown, me: Partial<WhoAmI> = {}) =>
    asSignedIn(createElement(PlansPage), {
      me,
      answers: answer === undefined ? [] : [[['plan accuracy', 'research'], answer]],
    });
  const overall = FIGURES;
  const groups = [{ engine: 'torchtitan', gpuType: 'h100', ...FIGURES, biasPct: null }];

  it.each<[string, unknown, string]>([
    ['is being read', undefined, 'Reading predictions…'],
    ['failed to be read', new Error('No access.'), 'No access.'],
    [
      'is empty',
      { overall: { ...FIGURES, n: 0 }, groups: [], items: [] },
      'No job has both a predicted and a measured step time yet.',
    ],
    ['has figures over all', { overall, groups: [], items: [] }, 'all 2 4.3 % 9.0 % -1.5 %'],
    ['has figures by engine and GPU', { overall, groups, items: [] }, 'torchtitan h100 2 4.3 % 9.0 % –'],
    [
      'has a row for each job',
      { overall, groups: [], items: [ITEM] },
      'tiny no project tp2 x dp2 h100 1,240 ms 1,180 ms +5.1 % 90',
    ],
  ])('%s', (_sentence, answer, words) => {
    expect(textOf(page(answer))).toContain(words);
  });

  it.each<[string, Partial<WhoAmI>, readonly string[]]>([
    ['no choice to a member of one', {}, []],
    [
      'a choice to a member of two',
      {
        project: null,
        memberships: [
          { project: 'a', role: 'viewer' },
          { project: 'b', role: 'viewer' },
        ],
      },
      ['a', 'b'],
    ],
  ])('offers of projects %s', (_what, me, names) => {
    const options = [...markupOf(page(undefined, me)).matchAll(/<option[^>]*>([^<]*)</g)].map(([, name]) => name);
    expect(options).toEqual(names);
  });
});

describe('the page of the fabric', () => {
  const page = (answer?: unknown) =>
    asSignedIn(createElement(FabricPage), { answers: answer === undefined ? [] : [[['fabric'], answer]] });
  const place = aFabricPlace({ island: 'ib-0', spine: 1, leaf: 2 });
  const job = { id: 'j', project: null, name: 'tiny', nodes: [0, 0, 1], gpus: [2, 4, 8] };
  const fabric = (changes: Partial<ClusterFabric> = {}): ClusterFabric => ({
    ...aClusterFabric({ 'gpu-a': place, 'gpu-b': place }),
    ...changes,
  });

  it.each<[string, unknown, string]>([
    ['is being read', undefined, 'Reading the fabric…'],
    ['failed to be read', new Error('Administrators only.'), 'Administrators only.'],
    ['counts free GPUs', fabric(), '2 nodes: 0 GPUs held by jobs, 16 free.'],
    [
      'counts GPUs that pods of others hold',
      fabric({ nodes: { ...fabric().nodes, heldByOthers: [8, 2] } }),
      '2 nodes: 0 GPUs held by jobs, 10 held by pods of others, 6 free.',
    ],
    ['says that pods of others are unknown', fabric(), 'The API cannot list the pods of this cluster'],
    ['counts GPUs that jobs hold', fabric({ jobs: [job] }), '2 nodes: 14 GPUs held by jobs, 2 free.'],
    [
      'counts GPUs of nodes that take no jobs',
      fabric({ nodes: { ...fabric().nodes, usable: [true, false] } }),
      '2 nodes: 0 GPUs held by jobs, 8 free, 8 on nodes that take no jobs.',
    ],
    ['says that it is old', fabric({ isStale: true }), 'No news of the cluster for a minute'],
    ['says that no job holds GPUs', fabric(), 'No job holds GPUs.'],
    ['has a row for each job', fabric({ jobs: [job] }), 'tiny no project 14 2 show'],
    ['says that jobs are left out', fabric({ jobs: [job], hasMoreJobs: true }), 'Older jobs may hold GPUs too'],
    ['has a row for each leaf', fabric({ jobs: [job] }), 'l2 ib-0 › s1 2 2 14 0'],
    ['tells how to see a node', fabric(), 'Point at a node or choose one to see its details.'],
  ])('%s', (_sentence, answer, words) => {
    expect(textOf(page(answer))).toContain(words);
  });

  it('has the job with the most GPUs first', () => {
    const jobs = [
      { ...job, id: 'a', name: 'small', nodes: [0], gpus: [1] },
      { ...job, id: 'b', name: 'large', nodes: [1], gpus: [8] },
    ];
    const text = textOf(page(fabric({ jobs })));
    expect(text.indexOf('large')).toBeLessThan(text.indexOf('small'));
  });

  it('offers islands if there are several', () => {
    const other = aFabricPlace({ island: 'ib-1', spine: 1, leaf: 2 });
    expect(textOf(page(aClusterFabric({ a: place, b: other })))).toContain('Island all 2 ib-0 ib-1');
    expect(textOf(page(fabric()))).not.toContain('all 1');
  });
});

describe('signing in', () => {
  const page = (state: Parameters<typeof asGuest>[1] = {}) => asGuest(createElement(SignInPage), state);
  beforeAll(() => Object.assign(globalThis, { location: { pathname: '/projects/a', search: '?x=1' } }));
  afterAll(() => Reflect.deleteProperty(globalThis, 'location'));

  it.each<[string, Parameters<typeof page>[0], string]>([
    ['is by token if there are no accounts', {}, 'API token Sign in An administrator makes a token'],
    ['is by account if there are', { issuer: 'https://id.example.com/realm' }, 'With your account at id.example.com.'],
    ['names an issuer that is no address as it is', { issuer: 'our accounts' }, 'With your account at our accounts.'],
    ['offers a token beside an account', { issuer: 'https://a' }, 'Use an API token'],
    ['says why it failed', { problem: 'The token has expired.' }, 'The token has expired.'],
  ])('%s', (_sentence, state, words) => {
    expect(textOf(page(state))).toContain(words);
  });

  it('comes back to the page where it began', () => {
    expect(attributesOf(page({ issuer: 'https://a' }), 'href')).toEqual([
      '/v1/sign-in/start?returnTo=%2Fprojects%2Fa%3Fx%3D1',
    ]);
  });

  it('shows no field for a token before one is asked for', () => {
    expect(markupOf(page({ issuer: 'https://a' }))).not.toContain('type="password"');
  });
});

describe('the whole page', () => {
  const app = (path: string, me: Partial<WhoAmI> = {}, answers: Answers = []) =>
    textOf(asSignedIn(createElement(App), { path, me, answers }));

  it.each<[string, string, string]>([
    ['jobs', '/', 'Reading jobs…'],
    ['a new job', '/jobs/new', 'Opening…'],
    ['the queue', '/queue', 'Reading the queue…'],
    ['predictions', '/predictions', 'Reading predictions…'],
    ['the fabric', '/fabric', 'Reading the fabric…'],
    ['a job', '/projects/research/jobs/j', 'Reading the job…'],
    ['the checkpoints of a project', '/projects/research/checkpoints', 'Reading checkpoints…'],
    ['a checkpoint', '/projects/research/checkpoints/u20', 'Reading the checkpoint…'],
    ['nothing', '/nowhere', 'There is nothing at this address. All jobs'],
  ])('shows %s at %s', (_what, path, words) => {
    expect(app(path)).toContain(words);
  });

  it.each<[WhoAmI['role'], string]>([
    ['submitter', 'Jobs Queue Checkpoints Predictions ada · submitter Sign out'],
    ['admin', 'Jobs Queue Checkpoints Predictions ada · admin Sign out'],
    ['clusterAdmin', 'Jobs Queue Checkpoints Predictions Fabric ada · clusterAdmin Sign out'],
  ])('offers a %s: %s', (role, words) => {
    expect(app('/nowhere', { role })).toContain(words);
  });

  it.each<[string, Parameters<typeof asGuest>[1], string]>([
    ['while somebody signs in', { busy: true }, 'Signing in…'],
    ['to somebody who has not', {}, 'Coxswain API token'],
  ])('shows %s nothing else', (_when, state, words) => {
    expect(textOf(asGuest(createElement(App), state))).toMatch(new RegExp(`^${words}`));
  });
});
