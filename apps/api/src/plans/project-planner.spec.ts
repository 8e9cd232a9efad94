import { DomainError } from '@coxswain/domain-error';
import { OverBudgetError, QueueRefusedError } from '@coxswain/planner-process';
import type { PlanAnswer, PlanRequest } from '@coxswain/planner/types';
import { createMetrics } from '@coxswain/telemetry';
import { readConfig } from '../config/config.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { type Planner, ProjectPlanner } from './project-planner.ts';

const request = { model: 'any' } as PlanRequest;
const answer = { calibration: 'any' } as PlanAnswer;
const project = (name: string) => ({ id: `id-${name}`, name });

/** A project may have three questions; whoever tests answers them, and moves the clock. */
function aDesk(environment: Readonly<Record<string, string>> = {}) {
  let nowMs = 0;
  const asked: (PromiseWithResolvers<PlanAnswer> & { readonly tenant: string; readonly signal?: AbortSignal })[] = [];
  const metrics = createMetrics();
  const clock = { now: () => new Date(nowMs) };
  const config = readConfig({
    DATABASE_URL: 'postgresql://x@127.0.0.1/x',
    COXSWAIN_PROJECT_MAX_PLANS: '3',
    ...environment,
  });
  const planner = {
    load: { waiting: 11, running: 2 },
    ask: (_question: unknown, options: { readonly tenant: string; readonly signal?: AbortSignal }) => {
      const one = { ...options, ...Promise.withResolvers<PlanAnswer>() };
      asked.push(one);
      options.signal?.addEventListener('abort', () => one.reject(options.signal?.reason));
      return one.promise;
    },
  } as unknown as Planner;
  const desk = new ProjectPlanner(planner, clock, metrics, new ProjectLimits(config, clock, metrics));
  return {
    asked,
    plan: (name = 'a', signal?: AbortSignal) => desk.plan(project(name), request, signal),
    passes: (seconds: number): void => void (nowMs += seconds * 1000),
    metric: async (line: RegExp): Promise<string | undefined> => line.exec((await metrics.expose()).text)?.[1],
  };
}

describe('questions of a project', () => {
  it('are put to the planner as those of the project', async () => {
    const { asked, plan } = aDesk();
    const made = plan('a');
    asked[0]?.resolve(answer);
    expect(await made).toBe(answer);
    expect(asked.map(({ tenant }) => tenant)).toEqual(['id-a']);
  });

  it('are so many at a time, whatever other projects ask; then the project is told how many wait, and is counted', async () => {
    const { asked, plan, metric } = aDesk();
    const [first] = [plan(), plan(), plan()];
    void plan('b');
    await expect(plan()).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      limit: 'plans',
      retryAfterSeconds: 1,
      message: expect.stringMatching(
        /project "a" has 3 plans waiting or being searched, which is the most \(3\); of all projects 11 wait\. Ask again in 1 s/,
      ) as string,
    });
    expect(await metric(/limited_requests_total\{limit="plans"\} (\d+)/)).toBe('1');
    expect(asked).toHaveLength(4);
    asked[0]?.resolve(answer);
    await first;
    void plan();
    expect(asked).toHaveLength(5);
  });

  it.each([
    ['is answered', (turn: PromiseWithResolvers<PlanAnswer>) => turn.resolve(answer)],
    ['is refused', (turn: PromiseWithResolvers<PlanAnswer>) => turn.reject(new DomainError('INVALID_REQUEST', 'no'))],
    ['fails', (turn: PromiseWithResolvers<PlanAnswer>) => turn.reject(new Error('no'))],
  ])('make room for another when one of them %s', async (_sentence, end) => {
    const { asked, plan } = aDesk({ COXSWAIN_PROJECT_MAX_PLANS: '1' });
    for (let time = 1; time <= 3; time++) {
      const made = plan().catch(() => undefined);
      expect(asked).toHaveLength(time);
      const turn = asked[time - 1];
      if (turn !== undefined) end(turn);
      await made;
    }
  });

  it('are as many as the queue holds where the limit is 0', () => {
    const { asked, plan } = aDesk({ COXSWAIN_PROJECT_MAX_PLANS: '0' });
    for (let time = 0; time < 50; time++) void plan();
    expect(asked).toHaveLength(50);
  });

  it('that take long make whoever is refused wait longer: about as long as until one of them ends', async () => {
    const { asked, plan, passes } = aDesk();
    for (let time = 0; time < 30; time++) {
      const made = plan('b');
      passes(60);
      asked[time]?.resolve(answer);
      await made;
    }
    for (let time = 0; time < 3; time++) void plan();
    await expect(plan()).rejects.toMatchObject({ retryAfterSeconds: 20 });
  });
});

describe('how a question ends', () => {
  it.each([
    ['answered', undefined, undefined],
    ['refused', new DomainError('INVALID_REQUEST', 'no such model'), { code: 'INVALID_REQUEST' }],
    ['overBudget', new OverBudgetError('too long'), { code: 'OVER_BUDGET' }],
    ['limited', new QueueRefusedError('displaced'), { code: 'RATE_LIMITED', limit: 'plans' }],
    ['limited', new QueueRefusedError('tenantIsFull'), { code: 'RATE_LIMITED', limit: 'plans' }],
    ['limited', new QueueRefusedError('isFull'), { code: 'UNAVAILABLE' }],
    ['failed', new Error('the process died'), { message: 'the process died' }],
    ['failed', new DomainError('UNAVAILABLE', 'stopping'), { code: 'UNAVAILABLE' }],
  ])('%s is what is counted of it, and the seconds from question to end', async (outcome, error, want) => {
    const { asked, plan, passes, metric } = aDesk();
    const made = plan();
    passes(4);
    if (error === undefined) asked[0]?.resolve(answer);
    else asked[0]?.reject(error);
    if (want === undefined) await made;
    else await expect(made).rejects.toMatchObject(want);
    expect(await metric(new RegExp(`plan_duration_seconds_count\\{outcome="${outcome}"\\} (\\d+)`))).toBe('1');
    expect(await metric(new RegExp(`plan_duration_seconds_sum\\{outcome="${outcome}"\\} (\\d+)`))).toBe('4');
    expect(await metric(/coxswain_api_plans_waiting (\d+)/)).toBe('11');
    expect(await metric(/coxswain_api_plans_running (\d+)/)).toBe('2');
  });

  it('cancelled, when whoever asked goes', async () => {
    const { plan, metric } = aDesk();
    const gone = new AbortController();
    const made = plan('a', gone.signal);
    gone.abort(new DomainError('UNAVAILABLE', 'the client disconnected before the response was sent'));
    await expect(made).rejects.toThrow('the client disconnected before the response was sent');
    expect(await metric(/plan_duration_seconds_count\{outcome="cancelled"\} (\d+)/)).toBe('1');
  });
});
