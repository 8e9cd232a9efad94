import { type TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { parseForeignJson } from '@coxswain/safe-text';
import { decide } from './decide.ts';
import type { Observed } from '../observation/observed.ts';
import { aCheckpoint, anExit, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, kinds, NOW, settled, summaryOfCondition } from '../testing/jobs.ts';

describe('nonsense in a resource', () => {
  const poison: readonly unknown[] = [
    null,
    7,
    'x',
    [],
    {},
    { epoch: 'two' },
    { attempts: [null, { epoch: -1 }], conditions: 'none' },
    { notBefore: 'never', restarts: { total: 1e99 } },
    { ['__proto__']: { epoch: 3 } },
  ];
  it.each(poison)('status %j counts as absent', (status) => {
    const job = { ...aJob(), status: status as TrainingJobStatus };
    expect(kinds(settled(observe({ job })).actions)).toEqual(['createPlacement']);
  });

  it.each(poison)('spec %j is refused in a sentence and nothing is done', (spec) => {
    const job = { ...aJob(), spec: spec as TrainingJob['spec'] };
    const { status, actions } = settled(observe({ job }));
    expect(summaryOfCondition(status, 'Accepted')).toBe('False/SpecInvalid');
    expect(actions).toEqual([]);
  });

  it.each(poison)('placements and checkpoints with spec %j are passed over', (spec) => {
    const job = aJob();
    const placement = { ...aPlacement(job), spec: spec as ReturnType<typeof aPlacement>['spec'] };
    const checkpoint = { ...aCheckpoint(job), spec: spec as ReturnType<typeof aCheckpoint>['spec'] };
    const { actions } = settled(observe({ job, placements: [placement], checkpoints: [checkpoint] }));
    expect(kinds(actions)).toEqual(['createPlacement']);
  });

  const half = '\ud83d';
  const nasty = `${half}\u009b\uffff\u0000`;
  const lines = Array.from({ length: 20 }, () => '😀'.repeat(256));
  const texts: readonly (readonly [string, Observed])[] = [
    [
      'last lines that are cut between two halves of a character',
      aRunningJob({
        pods: (job) => [
          aPod(job, { phase: 'Failed', exit: anExit({}, { lastLines: lines }) }),
          aPod(job, { podIndex: 1 }),
        ],
      }),
    ],
    [
      'a word of the cluster against a pod',
      observe({
        job: aJob({ status: aStatus({ attempts: [anAttempt({ stage: 'Creating' })] }) }),
        placements: [aPlacement(aJob())],
        refusedPods: new Map([['tiny-gpt-3f1c2b9e-e1-0', `denied ${nasty}`]]),
      }),
    ],
    [
      'a container that does not start',
      aRunningJob({
        pods: (job) => [
          aPod(job, { running: false, containerWaiting: { reason: 'X', message: '😀'.repeat(600), image: 'i' } }),
          aPod(job, { podIndex: 1 }),
        ],
      }),
    ],
    ['a spec', observe({ job: { ...aJob(), spec: { ...aJob().spec, [nasty]: 1, engine: { name: nasty } } as never } })],
  ];
  it.each(texts)('text as nasty as may be does not spoil a status: %s', (_whose, observed) => {
    const { status } = decide(observed, NOW);
    expect(JSON.parse(Buffer.from(JSON.stringify(status)).toString())).toEqual(
      parseForeignJson(JSON.stringify(status)),
    );
    expect(JSON.stringify(status)).not.toMatch(/\\ud[89a-f]/);
    expect(TrainingJobStatus.safeParse(status).error).toBeUndefined();
  });

  it('a spec that became unreadable does not stop a gang that runs', () => {
    const observed = aRunningJob({});
    const job = { ...observed.job, spec: {} as TrainingJob['spec'] };
    expect(settled({ ...observed, job }).actions).toEqual([]);
  });
});
