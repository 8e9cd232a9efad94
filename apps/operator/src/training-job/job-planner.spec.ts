import { aJobSpec, aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { aFabricNode } from '@coxswain/fabric/testing';
import { type JobPlanAnswer, jobPlanning, type JobPlanQuestion } from '@coxswain/job-planning';
import { OverBudgetError } from '@coxswain/planner-process';
import { JobPlanner, type Planner, PREDICTION_WAIT_MS } from './job-planner.ts';

type Asked = Parameters<Planner['ask']>[0] & { readonly tenant: string; readonly signal: AbortSignal } & Pick<
    PromiseWithResolvers<JobPlanAnswer | undefined>,
    'resolve' | 'reject'
  >;

const NOW_MS = Date.parse('2026-01-01T00:20:00Z');
const answer = { chosenBy: 'Planner', gpus: 4, fabric: '', plannerVersion: '1' } as const;
const aJob = (uid = 'uid-1') => aTrainingJob({ metadata: { uid, name: `job-${uid}` } });

function questionOf(spec: Parameters<typeof jobPlanning>[0] = aPlannedJobSpec()): JobPlanQuestion {
  const planning = jobPlanning(spec, { fabric: { nodes: [aFabricNode({ gpuType: 'h100' })] } });
  if (planning?.kind !== 'question') throw new Error('nothing to ask');
  return planning.question;
}

/** A planner that answers when the test says so, beside a clock that stands still until told. */
class Desk {
  readonly asked: Asked[] = [];
  readonly news: string[] = [];
  readonly failures: unknown[] = [];
  nowMs = NOW_MS;
  readonly #timers = new Map<() => void, number>();
  readonly planner = new JobPlanner({
    planner: {
      ask: (question, { tenant, signal }) => {
        const { promise, resolve, reject } = Promise.withResolvers<JobPlanAnswer | undefined>();
        this.asked.push({ ...question, tenant, signal, resolve, reject });
        signal.addEventListener('abort', () => reject(signal.reason));
        return promise;
      },
    },
    clock: {
      now: () => new Date(this.nowMs),
      setTimer: (delayMs, fire) => {
        this.#timers.set(fire, this.nowMs + delayMs);
        return () => this.#timers.delete(fire);
      },
    },
    onNews: (key) => this.news.push(key),
    onFailure: (_key, error) => this.failures.push(error),
  });

  get timers(): number {
    return this.#timers.size;
  }

  last(): Asked {
    const last = this.asked.at(-1);
    if (last === undefined) throw new Error('nothing was asked');
    return last;
  }

  passes(ms: number): void {
    this.nowMs += ms;
    for (const [fire, atMs] of [...this.#timers]) if (atMs <= this.nowMs) fire();
  }

  /** What was promised has been heard. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}

let desk: Desk;
beforeEach(() => (desk = new Desk()));

describe('the questions of the jobs', () => {
  it('are asked in the name of the namespace, shown as asked at once, and answered with a look at the job', async () => {
    const question = questionOf();
    desk.planner.ask(aJob(), question);
    expect(desk.last()).toMatchObject({ kind: 'planJob', tenant: 'research', options: { isBounded: false } });
    expect(desk.planner.planningOf('uid-1')).toEqual({ kind: 'asked', key: question.key });
    desk.last().resolve(answer);
    await desk.settled();
    expect(desk.planner.planningOf('uid-1')).toEqual({ kind: 'answered', key: question.key, answer });
    expect(desk.news).toEqual(['research/job-uid-1']);
  });

  it.each([
    ['while it is under way', () => undefined],
    ['when it is answered', () => desk.last().resolve(undefined)],
  ])('the same one is asked once %s', async (_sentence, happens) => {
    desk.planner.ask(aJob(), questionOf());
    happens();
    await desk.settled();
    desk.planner.ask(aJob(), questionOf());
    expect(desk.asked).toHaveLength(1);
  });

  it('another one of the same job ends the first, whose outcome is no news', async () => {
    desk.planner.ask(aJob(), questionOf());
    desk.planner.ask(aJob(), questionOf(aPlannedJobSpec({ gpus: 8 })));
    await desk.settled();
    expect(desk.asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(desk.planner.planningOf('uid-1')).toMatchObject({ kind: 'asked' });
    expect([desk.news, desk.failures]).toEqual([[], []]);
  });

  it.each([
    ['one that is forgotten', () => desk.planner.forget('uid-1')],
    ['all when the term as leader ends', () => desk.planner.close()],
  ])('%s: it is ended, leaves nothing behind, and is no failure', async (_sentence, ends) => {
    desk.planner.ask(aJob(), questionOf(aJobSpec()));
    ends();
    await desk.settled();
    expect(desk.last().signal.aborted).toBe(true);
    expect([desk.planner.size, desk.timers, desk.news, desk.failures]).toEqual([0, 0, [], []]);
  });

  it('are remembered for a bounded number of jobs, the newest', () => {
    const question = questionOf();
    for (let index = 0; index < 4_100; index += 1) desk.planner.ask(aJob(`uid-${index}`), question);
    expect(desk.planner.size).toBe(4_096);
    expect(desk.planner.planningOf('uid-3')).toBeUndefined();
    expect(desk.planner.planningOf('uid-4099')).toBeDefined();
    expect(desk.asked[3]?.signal.aborted).toBe(true);
  });
});

describe('a question that gets no answer', () => {
  it('over its budget is asked as a smaller one', async () => {
    desk.planner.ask(aJob(), questionOf());
    desk.last().reject(new OverBudgetError('too long'));
    await desk.settled();
    expect(desk.last().options).toEqual({ isBounded: true });
    desk.last().resolve(answer);
    await desk.settled();
    expect(desk.planner.planningOf('uid-1')).toMatchObject({ kind: 'answered', answer });
    expect(desk.failures).toEqual([]);
  });

  it('may be asked again later each time it fails, up to five minutes', async () => {
    const waits: number[] = [];
    for (let time = 0; time < 9; time += 1) {
      desk.planner.ask(aJob(), questionOf());
      desk.last().reject(new Error('the search failed'));
      await desk.settled();
      const planning = desk.planner.planningOf('uid-1');
      waits.push(planning?.kind === 'failed' ? (planning.retryAtMs - NOW_MS) / 1_000 : NaN);
      expect(planning).toMatchObject({ problem: 'the search failed' });
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
    expect(desk.failures).toHaveLength(9);
    expect(desk.news).toHaveLength(9);
  });

  it('begins to count anew once it was answered by another question', async () => {
    desk.planner.ask(aJob(), questionOf());
    desk.last().reject(new Error('the search failed'));
    await desk.settled();
    desk.planner.ask(aJob(), questionOf(aPlannedJobSpec({ gpus: 8 })));
    desk.last().reject(new Error('the search failed'));
    await desk.settled();
    expect(desk.planner.planningOf('uid-1')).toMatchObject({ retryAtMs: NOW_MS + 5_000 });
  });

  it('is a failure after a short time for a job with a layout of its own, and is searched no further', async () => {
    desk.planner.ask(aJob(), questionOf(aJobSpec()));
    desk.passes(PREDICTION_WAIT_MS);
    await desk.settled();
    expect(desk.planner.planningOf('uid-1')).toMatchObject({
      kind: 'failed',
      problem: expect.stringMatching(/20 s/) as string,
    });
    expect(desk.last().signal.aborted).toBe(true);
    expect(desk.asked).toHaveLength(1);
  });

  it('has all the time that the planner gives where a layout is to be chosen', () => {
    desk.planner.ask(aJob(), questionOf());
    expect(desk.timers).toBe(0);
  });
});
