/** The whole page of a job, for each state of the job: what a person reads, and what cannot be done any more. */
import type { Job, JobEvent } from '@coxswain/api-types';
import { aJob, aJobEvent, anAttempt, aRankPlace, aStepPoint } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import { NOTHING_RECEIVED, withChanges } from '../job/live-job.ts';
import type { LiveJob } from '../job/use-live-job.ts';
import { JobDetails } from './job-details.tsx';
import { JobEvents } from './job-events.tsx';
import { RenderingPanel } from './rendering-panel.tsx';
import { attributesOf, markupOf, textOf } from './testing/rendered.ts';
import { type Answers, asSignedIn } from './testing/signed-in.ts';
import { Time } from './time.tsx';

interface Seen extends Partial<Omit<LiveJob, 'job'>> {
  readonly job?: Partial<Omit<Job, 'spec'>>;
  readonly answers?: Answers;
}

function page({ job = {}, answers = [], ...live }: Seen = {}) {
  const all = { ...NOTHING_RECEIVED, ranks: undefined, problem: undefined, setJob: () => undefined, ...live };
  const details = createElement(JobDetails, { project: 'research', live: { ...all, job: aJob(job) } });
  return asSignedIn(details, { answers });
}

const FAILED: Partial<Omit<Job, 'spec'>> = {
  state: 'Failed',
  summary: 'Rank 1 failed 4 times.',
  epoch: 4,
  restarts: { total: 3, charged: 3 },
  attempts: [anAttempt({ epoch: 4, stage: 'Ended', outcome: 'Failed', reason: 'EngineFailed' })],
};

describe('the page of a job', () => {
  it.each<[string, Partial<Omit<Job, 'spec'>>, string]>([
    [
      'waits',
      { state: 'Queued', summary: 'Waits for 4 GPUs.' },
      'tiny-gpt Queued Suspend Cancel Delete Submit again Waits for 4 GPUs.',
    ],
    [
      'starts',
      { state: 'Starting', summary: 'Starts.' },
      'tiny-gpt Starting Suspend Cancel Delete Submit again Starts.',
    ],
    ['runs', {}, 'tiny-gpt Running Suspend Cancel Delete Submit again Training on 4 GPUs.'],
    [
      'restarts',
      { state: 'Restarting', summary: 'Restarts.' },
      'tiny-gpt Restarting Suspend Cancel Delete Submit again Restarts.',
    ],
    ['failed', FAILED, 'tiny-gpt Failed Delete Submit again Rank 1 failed 4 times.'],
    ['is complete', { state: 'Complete', summary: 'Trained.' }, 'tiny-gpt Complete Delete Submit again Trained.'],
    ['is cancelled', { state: 'Cancelled', summary: 'Stopped.' }, 'tiny-gpt Cancelled Delete Submit again Stopped.'],
    ['was refused', { state: 'Refused', summary: 'No such queue.' }, 'tiny-gpt Refused Submit again No such queue.'],
    ['is being deleted', { state: 'Deleting', summary: 'Goes.' }, 'tiny-gpt Deleting Submit again Goes.'],
  ])('says first that the job %s, and what may be done', (_sentence, job, words) => {
    expect(textOf(page({ job }))).toMatch(new RegExp(`^\\S+ · \\w+ · Coxswain ${words.replaceAll('.', '\\.')} Step`));
  });

  it('offers to resume a suspended job', () => {
    const job = aJob({ state: 'Suspended', summary: 'Is suspended.', spec: { suspend: true } });
    const live = { ...NOTHING_RECEIVED, ranks: undefined, problem: undefined, setJob: () => undefined, job };
    const text = textOf(asSignedIn(createElement(JobDetails, { project: 'research', live })));
    expect(text).toContain('tiny-gpt Suspended Resume Cancel Delete Resume on… Submit again Is suspended.');
  });

  it.each<[Job['state'], string]>([
    ['Failed', 'sentence problem'],
    ['Refused', 'sentence problem'],
    ['Restarting', 'sentence'],
    ['Cancelled', 'sentence'],
    ['Complete', 'sentence'],
  ])('shows the sentence of a job that is %s as %j', (state, want) => {
    expect(markupOf(page({ job: { state } }))).toContain(`<p class="${want}" data-testid="summary">`);
  });

  it.each<[string, Seen, string]>([
    ['no attempt', {}, 'Attempts Not started yet. Events No events yet.'],
    ['no ranks, while they are read', {}, 'Ranks on nodes Reading where the ranks are…'],
    ['no step', {}, 'Loss Nothing measured yet Goodput'],
    [
      'ranks that are not placed',
      { ranks: { epoch: 1, items: [], nodes: [], bytesPerStep: null } },
      'Ranks on nodes No ranks are placed yet.',
    ],
    ['what is run, while it is read', {}, 'What is run Reading what is run…'],
    ['no goodput, while it is read', {}, 'Goodput Reading… Incidents Reading…'],
    ['a problem, in its own words alone', { problem: 'There is no such job.' }, '4 GPUs. There is no such job. Step'],
    ['an attempt', { job: FAILED }, 'Attempts Attempt Outcome Started from Layout Started 4 Failed EngineFailed'],
    ['an event', { events: [aJobEvent({ message: 'It was submitted.' })] }, 'Submitted It was submitted.'],
  ])('has %s', (_what, seen, words) => {
    expect(textOf(page(seen))).toContain(words);
  });

  const goodput = {
    asOf: '2026-01-01T00:00:00Z',
    gpuSeconds: 0,
    goodput: null,
    shares: [],
    heldSeconds: 0,
    waitingSeconds: 0,
    suspendedSeconds: 0,
    spans: [],
    attemptsLeftOut: 0,
  };

  it.each<[Job['state'], boolean]>([
    ['Queued', false],
    ['Running', false],
    ['Suspended', false],
    ['Stopping', false],
    ['Deleting', false],
    ['Complete', true],
    ['Failed', true],
    ['Cancelled', true],
    ['Refused', true],
    ['Deleted', true],
  ])('reads the life of a job that is %s as that of a finished one: %s', (state, isFinished) => {
    const read = (asFinished: boolean): string => {
      const key = ['life', 'research', aJob().id, asFinished];
      return textOf(page({ job: { state }, answers: [[key, { goodput, incidents: [] }]] }));
    };
    expect(read(isFinished)).toContain('Goodput The job has held no GPUs yet; no incidents.');
    expect(read(!isFinished)).toContain('Goodput Reading…');
  });

  it.each<[Job['state'], boolean]>([
    ['Running', true],
    ['Deleting', true],
    ['Deleted', false],
    ['Failed', false],
  ])('offers stack traces of ranks of a job that is %s: %s', (state, isOffered) => {
    const text = textOf(page({ job: { state, attempts: [anAttempt({ stage: 'Released' })] } }));
    expect(text.includes('Ask the ranks')).toBe(isOffered);
  });

  it('has the newest step of the stream, before the API writes it', () => {
    const { curve } = withChanges(NOTHING_RECEIVED, [{ kind: 'step', point: aStepPoint({ step: 60, loss: 2.5 }) }]);
    expect(textOf(page({ curve }))).toContain('Step 60 of 100 Loss 2.5000 Tokens/s 102,400 Left 400 ms');
    expect(textOf(page({ curve }))).not.toContain('Nothing measured yet');
  });

  it('has a plan only if the planner was asked', () => {
    expect(markupOf(page())).not.toContain('data-testid="plan"');
    const plan = {
      chosenBy: 'User',
      gpus: 4,
      fabric: '2 nodes',
      layout: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 },
      predictedStepMs: 10,
      plannerVersion: '1',
      plannedAt: 't',
    } as const;
    expect(textOf(page({ job: { plan } }))).toContain('Predicted by the planner tp2 x dp2, micro-batch 1: 10 ms');
  });

  it('has what a placement sends, if that is known', () => {
    const bytes = { source: 'planned', gpu: 2 ** 20, node: 0, nvlinkDomain: 0, leaf: 0, spine: 0, core: 0, island: 0 };
    const ranks = { epoch: 1, items: [aRankPlace()], nodes: [], bytesPerStep: null };
    expect(textOf(page({ ranks }))).not.toContain('Sent per step');
    const sent = { ...ranks, bytesPerStep: { ...bytes, source: 'planned' as const } };
    expect(textOf(page({ ranks: sent }))).toContain('between GPUs 1.0 MiB');
  });
});

describe('the events of a job', () => {
  const list = (...events: readonly Partial<JobEvent>[]) =>
    createElement(JobEvents, { events: events.map((changes) => aJobEvent(changes)) });

  it('are newest first', () => {
    const node = list({ id: 1, type: 'Submitted' }, { id: 2, type: 'Placed' }, { id: 3, type: 'Started' });
    expect([...markupOf(node).matchAll(/<strong>(\w+)</g)].map(([, type]) => type)).toEqual([
      'Started',
      'Placed',
      'Submitted',
    ]);
  });

  it.each<[JobEvent['severity']]>([['info'], ['warning'], ['error']])('of severity %s look like it', (severity) => {
    expect(markupOf(list({ severity }))).toContain(`<li class="${severity}">`);
  });

  it('have their message under the pointer too, where a line is too short', () => {
    expect(attributesOf(list({ message: 'Rank 1 "a" exited.' }), 'title').at(-1)).toBe('Rank 1 "a" exited.');
  });
});

describe('a time', () => {
  const at = (date: Date) => createElement(Time, { at: date.toISOString() });

  it('of today is the time of day', () => {
    const now = new Date();
    expect(textOf(at(now))).toBe(textOf(createElement('p', {}, now.toLocaleTimeString())));
  });

  it('of another day begins with the day', () => {
    const date = new Date('2020-02-03T12:00:00Z');
    const day = date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
    expect(textOf(at(date))).toBe(textOf(createElement('p', {}, `${day}, ${date.toLocaleTimeString()}`)));
  });

  it('is exact for programs, and whole under the pointer', () => {
    const date = new Date('2020-02-03T12:00:00Z');
    expect(attributesOf(at(date), 'dateTime')).toEqual(['2020-02-03T12:00:00.000Z']);
    expect(markupOf(at(date))).toContain(`title="${date.toLocaleString()}"`);
  });
});

describe('what is run of a job', () => {
  const job = aJob({ epoch: 2, specVersion: 3 });
  const key = ['rendering', 'research', job.id, 2, 'Running', 3, job.layout];
  const refusal = { rule: 'noPipeline', field: 'layout', why: 'It has no pipelines', fallback: 'give 1' };
  const answer = { engine: 'torchtitan', program: null, refusal, epoch: null, layout: null };
  const panel = (answers: Answers, of: Job = job) =>
    textOf(asSignedIn(createElement(RenderingPanel, { job: of, project: 'research' }), { answers }));

  it.each<[string, Answers, string]>([
    ['is being read', [], 'What is run Reading what is run…'],
    ['was refused by the API', [[key, new Error('You may not read it.')]], 'What is run You may not read it.'],
    ['is shown', [[key, answer]], 'What is run It has no pipelines. Instead: give 1.'],
  ])('%s', (_sentence, answers, words) => {
    expect(panel(answers)).toContain(words);
  });

  it.each<[string, Partial<Omit<Job, 'spec'>>]>([
    ['another attempt begins', { epoch: 3 }],
    ['its state changes', { state: 'Suspended' }],
    ['its spec changes', { specVersion: 4 }],
    ['its layout is chosen', { layout: null }],
  ])('is read again when %s', (_when, changes) => {
    expect(panel([[key, answer]], { ...job, ...changes })).toBe('What is run Reading what is run…');
  });
});
