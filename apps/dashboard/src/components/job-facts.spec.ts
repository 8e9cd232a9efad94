/** The figures of a job at the top of its page, for each state that a job can be in. */
import type { Job } from '@coxswain/api-types';
import { aJob, anAttempt, aPlannedJobSpec } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import type { LiveProgress } from '../job/live-progress.ts';
import { JobFacts } from './job-facts.tsx';
import { attributesOf, markupOf, textOf } from './testing/rendered.ts';

type JobChanges = NonNullable<Parameters<typeof aJob>[0]>;

const facts = (job: Job, progress?: LiveProgress) => createElement(JobFacts, { job, progress });
const shown = (changes: JobChanges = {}, progress?: LiveProgress) => facts(aJob(changes), progress);

/** The text beside that name; undefined if the page has no such figure. */
function valueOf(node: ReturnType<typeof facts>, name: string): string | undefined {
  const html = new RegExp(`<dt>${name}</dt><dd>(.*?)</dd>`).exec(markupOf(node))?.[1];
  return html === undefined ? undefined : textOf(createElement('p', { dangerouslySetInnerHTML: { __html: html } }));
}

const PROGRESS: LiveProgress = {
  step: 1_200,
  totalSteps: 2_000,
  loss: 3.141_59,
  tokensPerSecond: 81_920.4,
  etaSeconds: 90,
};

describe('the progress of a job', () => {
  it.each<[string, string, LiveProgress | undefined, string]>([
    ['has no step before one was reported', 'Step', undefined, '–'],
    ['has no loss before a step', 'Loss', undefined, '–'],
    ['has no speed before a step', 'Tokens/s', undefined, '–'],
    ['has no end before a step', 'Left', undefined, '–'],
    ['has its step and the last one', 'Step', PROGRESS, '1,200 of 2,000'],
    ['has its step alone if nobody knows the last', 'Step', { ...PROGRESS, totalSteps: null }, '1,200'],
    ['has step 0 too', 'Step', { ...PROGRESS, step: 0 }, '0 of 2,000'],
    ['has four decimals of its loss', 'Loss', PROGRESS, '3.1416'],
    ['has a loss of zero', 'Loss', { ...PROGRESS, loss: 0 }, '0.0000'],
    ['has a dash for a loss that no rank reports', 'Loss', { ...PROGRESS, loss: null }, '–'],
    ['has four digits of its speed', 'Tokens/s', PROGRESS, '81,920'],
    ['has a slow speed', 'Tokens/s', { ...PROGRESS, tokensPerSecond: 0.123_456 }, '0.1235'],
    ['has a dash for a speed that no rank reports', 'Tokens/s', { ...PROGRESS, tokensPerSecond: null }, '–'],
    ['has the time that is left', 'Left', PROGRESS, '1 min 30 s'],
    ['has no time left at the last step', 'Left', { ...PROGRESS, etaSeconds: 0 }, '0 ms'],
    ['has a dash if the time is not known', 'Left', { ...PROGRESS, etaSeconds: null }, '–'],
  ])('%s', (_sentence, name, progress, want) => {
    expect(valueOf(shown({}, progress), name)).toBe(want);
  });

  it('is a bar of its steps', () => {
    const node = shown({}, PROGRESS);
    expect([attributesOf(node, 'value'), attributesOf(node, 'max')]).toEqual([['1200'], ['2000']]);
  });

  it.each<[string, LiveProgress | undefined]>([
    ['before a step', undefined],
    ['if the last step is not known', { ...PROGRESS, totalSteps: null }],
  ])('is no bar %s', (_when, progress) => {
    expect(markupOf(shown({}, progress))).not.toContain('<progress');
  });
});

describe('the layout of a job', () => {
  const plan = { chosenBy: 'Planner', gpus: 4, fabric: 'f', plannerVersion: '1', plannedAt: 't' } as const;
  it.each<[string, JobChanges, string]>([
    ['is that of its spec', {}, 'tp2 x dp2 on 4 GPUs'],
    ['names the planner that chose it', { plan }, 'tp2 x dp2 on 4 GPUs, chosen by the planner'],
    ['names no planner that only predicted it', { plan: { ...plan, chosenBy: 'User' } }, 'tp2 x dp2 on 4 GPUs'],
    [
      'counts the GPUs of the layout that it runs on, not of the one that was asked for',
      { layout: { tensorParallelDegree: 8, pipelineParallelDegree: 4, dataParallelDegree: 64 } },
      'tp8 x dp64 x pp4 on 2,048 GPUs',
    ],
  ])('%s', (_sentence, changes, want) => {
    expect(valueOf(shown(changes), 'Layout')).toBe(want);
  });

  it('is to come while the planner has not answered', () => {
    const job = { ...aJob({ layout: null }), spec: aPlannedJobSpec({ gpus: 1_024 }) };
    expect(valueOf(facts(job), 'Layout')).toBe('to be planned for 1,024 GPUs');
  });
});

describe('the step time of a job', () => {
  const measured = { epoch: 1, predictedMs: 1_240, measuredMs: 1_180, measuredSteps: 90, errorPct: 5.08 };
  it.each<[string, Job['stepTime'], string]>([
    ['is unknown before an attempt', null, '–'],
    ['has the prediction and its error below the measurement', measured, '1,180 ms 1,240 ms predicted, +5.1 %'],
    ['is measured only', { ...measured, predictedMs: null, errorPct: null }, '1,180 ms'],
    ['is predicted only', { ...measured, measuredMs: null, errorPct: null }, '– 1,240 ms predicted'],
    ['may be shorter than measured', { ...measured, errorPct: -12.5 }, '1,180 ms 1,240 ms predicted, -12.5 %'],
  ])('%s', (_sentence, stepTime, want) => {
    expect(valueOf(shown({ stepTime }), 'Step time')).toBe(want);
  });
});

describe('the attempts of a job', () => {
  it.each<[string, JobChanges, string]>([
    ['are none before the first', { epoch: 0, state: 'Queued' }, 'none yet'],
    ['are counted', { epoch: 3, attempts: [anAttempt({ epoch: 3 })] }, '3'],
    ['have the incarnation after a restart in place', { attempts: [anAttempt({ incarnation: 2 })] }, '1.2'],
    [
      'have no incarnation of an earlier attempt',
      { epoch: 2, attempts: [anAttempt({ incarnation: 4 }), anAttempt({ epoch: 2 })] },
      '2',
    ],
  ])('%s', (_sentence, changes, want) => {
    expect(valueOf(shown(changes), 'Attempt')).toBe(want);
  });

  it.each<[string, Job['restarts'], number, string]>([
    ['none', { total: 0, charged: 0 }, 3, '0 of 3 charged, 0 in all'],
    ['some that were charged, and others', { total: 5, charged: 2 }, 10, '2 of 10 charged, 5 in all'],
  ])('restarted: %s', (_sentence, restarts, maxRestarts, want) => {
    const spec = { restartPolicy: { maxRestarts } };
    expect(valueOf(shown({ restarts, spec }), 'Restarts')).toBe(want);
  });

  it.each<[string, Job['checkpoint'], string]>([
    ['none before the first is complete', null, 'none yet'],
    ['the newest that is complete', { name: 'c', step: 12_000 }, 'step 12,000'],
  ])('have a checkpoint: %s', (_sentence, checkpoint, want) => {
    expect(valueOf(shown({ checkpoint }), 'Checkpoint')).toBe(want);
  });
});

it('the code of a job is named by its digest, and no line if it has none', () => {
  const { spec } = aJob();
  expect(valueOf(shown({ spec: { ...spec, code: { sha256: '0123456789abcdef'.repeat(4) } } }), 'Code')).toBe(
    'SHA-256 0123456789ab',
  );
  expect(valueOf(shown(), 'Code')).toBeUndefined();
});

describe('the Secrets of a job', () => {
  const withSecrets = (more: object) =>
    shown({ spec: { engine: { name: 'command', image: 'x', command: ['x'], ...more } } });

  it('are no line if it uses none', () => {
    expect(valueOf(shown(), 'Secrets')).toBeUndefined();
  });

  it('are named with their keys, never with a value', () => {
    const node = withSecrets({
      secretEnv: [{ name: 'HF_TOKEN', secret: 'job-hf', key: 'token' }],
      secretFiles: [{ secret: 'job-ssh', key: 'id', optional: true }],
    });
    const text = valueOf(node, 'Secrets') ?? '';
    expect(text).toContain('HF_TOKEN: secret job-hf/token');
    expect(text).toMatch(/job-ssh\/id: secret job-ssh\/id, if there is one$/);
  });
});
