import type { Attempt, Job, JobGoodput } from '@coxswain/api-types';
import { aLayout } from '@coxswain/layout/testing';
import { answerLine, backLine, costLine, endLines, runsOf, type TrialName, whyTrialFailed } from './chaos-story.ts';

const AT = Date.parse('2026-11-25T12:00:00Z');
const inSeconds = (seconds: number): string => new Date(AT + seconds * 1000).toISOString();

const anAttempt = (given: Partial<Attempt> = {}): Attempt => ({
  epoch: 1,
  stage: 'Released',
  placement: 'p',
  layout: aLayout({ dataParallelDegree: 4 }),
  startedAt: inSeconds(-60),
  ...given,
});

const FEWER = aLayout({ dataParallelDegree: 2 });
const KILLED = { reason: 'EngineFailed', message: 'Rank 3 on node local-a1 was killed.\nmore', charged: true } as const;
const JUDGED = { rule: 'default', action: 'Restart', class: 'Killed', blame: 'program' } as const;

/** Killed at step 47, and started again in the same pods. */
const AGAIN = anAttempt({
  incarnation: 2,
  incarnations: [{ incarnation: 1, endedAt: inSeconds(0.8), ...KILLED, lastStep: 47, judgement: { ...JUDGED } }],
  resumedFrom: { checkpoint: 'c', step: 40 },
  firstStep: { step: 41, at: inSeconds(6) },
});

describe('what is told of a job to which something was done', () => {
  it('is when it was noticed, who was blamed, what was done, and when it trained again', () => {
    const [first, second] = runsOf([AGAIN]);
    if (first === undefined || second === undefined) throw new Error('there are two runs');
    expect([...endLines(first, AT), answerLine(first, second), backLine(first, second, AT)]).toEqual([
      'noticed     after 800 ms: Rank 3 on node local-a1 was killed.',
      'blamed      the program; one of its restarts pays for it',
      'done        the ranks start again in the same pods, from the checkpoint of step 40',
      'trains      again 6.0 s after that; 7 steps were trained a second time',
    ]);
  });

  it('is on how many GPUs it goes on', () => {
    const lost = anAttempt({
      reason: 'NodeLost',
      outcome: 'Failed',
      message: 'Lost node b.',
      stoppingAt: inSeconds(9),
    });
    const [first, second] = runsOf([lost, anAttempt({ epoch: 2, layout: FEWER })]);
    if (first === undefined || second === undefined) throw new Error('there are two runs');
    expect(answerLine(first, second)).toMatch(/attempt 2\).*from the beginning, planned anew for 2 GPUs instead of 4/);
    expect(backLine(first, second, AT)).toBeUndefined();
  });

  it('is what it cost, most first', () => {
    const share = (category: string, of: number): object => ({ category, share: of, gpuSeconds: of });
    const shares = [
      share('productive', 0.7),
      share('other', 0.001),
      share('wastedProgress', 0.1),
      share('initialisation', 0.2),
    ];
    expect(costLine({ goodput: 0.7, shares } as unknown as JobGoodput)).toBe(
      'cost        70 % of the GPU time of this short job was training; initialisation 20 %, wasted progress 10 %',
    );
  });
});

describe('a trial shows what it should', () => {
  const failed = (reason: Attempt['reason'], given: Partial<Attempt> = {}): Attempt =>
    anAttempt({ reason, outcome: 'Failed', charged: false, ...given });
  const done = (given: Partial<Attempt>): Attempt => anAttempt({ outcome: 'Succeeded', ...given });

  it.each<[TrialName, string, readonly Attempt[], boolean]>([
    ['killed', 'where its ranks began again in their pods', [AGAIN], true],
    ['killed', 'not where it needed new pods', [failed('EngineFailed'), done({ epoch: 2 })], false],
    ['killed', 'not where nothing happened', [done({})], false],
    ['stopped', 'where its node was left', [failed('Condemned'), done({ epoch: 2 })], true],
    ['stopped', 'not where nobody was named', [failed('Hung'), done({ epoch: 2 })], false],
    ['stopped', 'not where it was charged', [failed('Condemned', { charged: true }), done({ epoch: 2 })], false],
    ['nodeLost', 'where another gang went on', [failed('NodeLost'), done({ epoch: 2 })], true],
    ['nodeLost', 'not where nothing was lost', [done({})], false],
    [
      'tooFew',
      'where it shrank and grew',
      [
        failed('NodeLost'),
        anAttempt({ epoch: 2, layout: FEWER, outcome: 'Resized', reason: 'GpusFree' }),
        done({ epoch: 3 }),
      ],
      true,
    ],
    ['tooFew', 'not where it only shrank', [failed('NodeLost'), done({ epoch: 2, layout: FEWER })], false],
  ])('%s: %s', (name, _title, attempts, isShown) => {
    const job: Pick<Job, 'state' | 'summary' | 'attempts'> = {
      state: 'Complete',
      summary: '',
      attempts: [...attempts],
    };
    expect(whyTrialFailed(name, job) === undefined).toBe(isShown);
  });

  it('only with a job that completed', () => {
    const job = { state: 'Failed', summary: 'no luck', attempts: [AGAIN] } as const;
    expect(whyTrialFailed('killed', { ...job, attempts: [AGAIN] })).toMatch(/did not complete; it is Failed: no luck/);
  });
});
