import type { PlanAnswer, PlanRequest } from '@coxswain/planner';
import { PlannerLanes } from './planner-lanes.ts';
import type { AskOptions } from './planner-process.ts';
import { FakeTimers } from './testing/fake-timers.ts';

const program = new URL('./testing/scripted-search.ts', import.meta.url);
const QUICK_MS = 2_000;
const PATIENT_MS = 30_000;

let timers: FakeTimers;
let lanes: PlannerLanes;

beforeEach(async () => {
  timers = new FakeTimers();
  lanes = new PlannerLanes({
    program,
    setTimer: timers.set,
    quick: { timeoutMs: QUICK_MS, heapMib: 32, waitingPerTenant: 20 },
    patient: { timeoutMs: PATIENT_MS, heapMib: 32, waitingPerTenant: 20 },
  });
  await ask('ready');
});
afterEach(() => lanes.close());

const ask = (model: string, options: Partial<AskOptions> = {}): Promise<PlanAnswer> =>
  lanes.ask({ kind: 'plan', request: { model } as PlanRequest }, { tenant: 'hostile', ...options });
/** What became of each, told at once: nobody has to wait for it. */
const settled = (asked: readonly Promise<PlanAnswer>[]): Promise<readonly string[]> =>
  Promise.all(asked.map((one) => one.then(() => 'answered').catch((error: Error) => error.message)));

describe('a question that outgrows the quick lane', () => {
  it('is searched anew in the patient one, and refused only with that one’s budget', async () => {
    const hung = ask('hangs');
    timers.passes(QUICK_MS);
    const behind = await ask('behind');
    expect(behind.calibration).toBe('behind');
    expect(lanes.load).toEqual({ waiting: 0, running: 1 });
    const ended = settled([hung]);
    await patientLaneIsReady();
    timers.passes(PATIENT_MS);
    expect(await ended).toEqual([expect.stringMatching(/time limit of 30 s/)]);
  });

  it('keeps no short question of another tenant waiting, however many of them there are', async () => {
    const hostile = settled(Array.from({ length: 17 }, () => ask('hangs')));
    const small = ask('small', { tenant: 'modest' });
    // One quick budget passes: that of the search which was under way.
    timers.passes(QUICK_MS);
    expect((await small).calibration).toBe('small');
    await lanes.close();
    expect(new Set(await hostile)).toEqual(new Set([expect.stringMatching(/is stopping/)]));
  });

  it('leaves its tenant a fraction of the quick lane’s time for the next ones', async () => {
    const hostile = settled(Array.from({ length: 5 }, () => ask('hangs')));
    timers.passes(QUICK_MS);
    await quickLaneIsReady(QUICK_MS / 8);
    const small = ask('small', { tenant: 'modest' });
    timers.passes(QUICK_MS / 8);
    expect((await small).calibration).toBe('small');
    await lanes.close();
    await hostile;
  });

  it('leaves other tenants all of the quick lane’s time', async () => {
    const hostile = settled([ask('hangs')]);
    const modest = settled([ask('hangs', { tenant: 'modest' })]);
    timers.passes(QUICK_MS);
    await quickLaneIsReady(QUICK_MS);
    expect(timers.isDueWithin(QUICK_MS - 1)).toBe(false);
    await lanes.close();
    await Promise.all([hostile, modest]);
  });

  it.each([
    ['in the quick lane', 0],
    ['in the patient lane', QUICK_MS],
  ])('is ended when nobody wants it any more: %s', async (_sentence, passedMs) => {
    const abort = new AbortController();
    const hung = settled([ask('hangs', { signal: abort.signal })]);
    timers.passes(passedMs);
    // The quick lane has turned to the next question: the other one is in the patient lane by now.
    if (passedMs > 0) await ask('behind');
    abort.abort(new Error('no longer wanted'));
    expect(await hung).toEqual(['no longer wanted']);
    expect(lanes.load).toEqual({ waiting: 0, running: 0 });
  });
});

describe('what the planner refuses', () => {
  it('is not asked again', async () => {
    await expect(ask('refused')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(lanes.load).toEqual({ waiting: 0, running: 0 });
  });
});

/** Its process was started again: the timer of the search that it runs now is due within that time. */
async function quickLaneIsReady(searchMs: number): Promise<void> {
  while (!timers.isDueWithin(searchMs)) await new Promise(setImmediate);
}

/** Its process was started for the question that hangs there: the timer that bounds its start has given way to that of the search. */
async function patientLaneIsReady(): Promise<void> {
  while (!timers.isDueWithin(PATIENT_MS)) await new Promise(setImmediate);
}
