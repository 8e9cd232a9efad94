import { KubeApiError } from './errors.ts';
import { FakeClock, settle } from './testing/index.ts';
import type { ReconcileContext, ReconcileFailure, ReconcileResult, WorkQueueOptions } from './queue-contract.ts';
import { WorkQueue } from './work-queue.ts';

type Work = (key: string, context: ReconcileContext) => Promise<ReconcileResult | void> | ReconcileResult | void;

function aQueue(work: Work, options: Partial<WorkQueueOptions> & { workers?: number } = {}) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const runs: { key: string; atMs: number }[] = [];
  const failures: ReconcileFailure[] = [];
  const queue = new WorkQueue({
    clock,
    random: () => 0,
    onError: (failure) => void failures.push(failure),
    ...options,
  });
  const start = (): Promise<{ readonly abandoned: readonly string[] }> =>
    queue.run({
      workers: options.workers ?? 2,
      signal: stop.signal,
      drainMs: 1_000,
      reconcile: async (key, context) => {
        runs.push({ key, atMs: clock.monotonicMs() });
        return work(key, context);
      },
    });
  return { clock, stop, runs, failures, queue, start, keys: () => runs.map(({ key }) => key) };
}

const gate = (): { opened: Promise<void>; open: () => void } => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
};

const throws = (error: unknown) => (): never => {
  throw error;
};

describe('a work queue', () => {
  it('runs a key once however often it was added before a worker was free', async () => {
    const { queue, start, keys } = aQueue(() => undefined);
    for (let n = 0; n < 100; n += 1) queue.add('a');
    void start();
    await settle();
    expect(keys()).toEqual(['a']);
  });

  it('never runs one key twice at a time, and runs it once more when it was added meanwhile', async () => {
    const { opened, open } = gate();
    let atOnce = 0;
    let most = 0;
    const { queue, start, keys } = aQueue(async () => {
      most = Math.max(most, (atOnce += 1));
      await opened;
      atOnce -= 1;
    });
    void start();
    queue.add('a');
    await settle();
    for (let n = 0; n < 10; n += 1) queue.add('a');
    await settle();
    expect(keys()).toEqual(['a']);
    open();
    await settle();
    expect([keys(), most]).toEqual([['a', 'a'], 1]);
  });

  it('lets timers and sockets have their turn after 20 ms of reconciles that wait for nobody', async () => {
    const clock = new FakeClock();
    let heldMs = 0;
    const done: string[] = [];
    const queue = new WorkQueue({
      clock: {
        now: () => clock.now(),
        monotonicMs: () => clock.monotonicMs() + heldMs,
        setTimer: (delayMs, act) => clock.setTimer(delayMs, act),
      },
      random: () => 0,
    });
    for (let n = 0; n < 5; n += 1) queue.add(`dear-${n}`);
    const stop = new AbortController();
    const reconcile = async (key: string): Promise<void> => {
      heldMs += 10;
      done.push(key);
    };
    const ended = queue.run({ workers: 1, reconcile, signal: stop.signal });
    clock.setTimer(0, () => void done.push('a timer'));
    await settle();
    await clock.advance(0);
    expect(done).toEqual(['dear-0', 'dear-1', 'a timer', 'dear-2', 'dear-3', 'dear-4']);
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
  });

  it('prefers edits by people, then changes, then periodic looks; but nobody starves', async () => {
    const { queue, start, keys } = aQueue(() => undefined, { workers: 1 });
    queue.add('look', 'resync');
    for (let n = 0; n < 30; n += 1) queue.add(`change-${n}`);
    queue.add('edit', 'user');
    queue.add('change-29', 'user');
    void start();
    await settle();
    expect(keys().slice(0, 3)).toEqual(['edit', 'change-29', 'change-0']);
    expect(keys().indexOf('look')).toBe(9);
    expect(keys()).toHaveLength(32);
  });

  it('looks again when a reconcile asks for it, and at the earliest of several wishes', async () => {
    const { clock, queue, start, runs } = aQueue((key) => (key === 'again' ? { requeueAfterMs: 1_000 } : undefined));
    void start();
    queue.add('again');
    queue.addAfter('later', 5_000);
    queue.addAfter('later', 500);
    queue.addAfter('later', 700);
    await clock.advance(2_500);
    expect(runs).toEqual([
      { key: 'again', atMs: 0 },
      { key: 'later', atMs: 500 },
      { key: 'again', atMs: 1_000 },
      { key: 'again', atMs: 2_000 },
    ]);
  });

  it('backs off a failing key, quarantines it after five failures, and never holds up the others', async () => {
    const { clock, queue, start, runs, failures } = aQueue(
      (key) => (key === 'bad' ? throws(new Error('no'))() : undefined),
      {
        random: () => 0.999,
      },
    );
    void start();
    queue.add('bad');
    for (let n = 0; n < 100; n += 1) {
      queue.add(`good-${n}`);
      await clock.advance(1_000);
    }
    expect(runs.filter(({ key }) => key.startsWith('good'))).toHaveLength(100);
    expect(failures.map(({ quarantined }) => quarantined)).toEqual([false, false, false, false, true]);
    expect(queue.stats()).toMatchObject({ failing: 1, quarantined: 1, waiting: 1 });
    const before = runs.length;
    for (let n = 0; n < 50; n += 1) queue.add('bad');
    await settle();
    expect(runs).toHaveLength(before);
    queue.add('bad', 'user');
    await settle();
    expect(runs).toHaveLength(before + 1);
  });

  it('runs a failing key at most twice a second, however often its own writes wake it', async () => {
    const { clock, queue, start, runs } = aQueue(throws(new KubeApiError({ status: 500, reason: 'x', message: 'x' })));
    void start();
    for (let n = 0; n < 1_000; n += 1) {
      queue.add('woken');
      await clock.advance(10);
    }
    expect(runs.length).toBeGreaterThan(5);
    expect(runs.length).toBeLessThanOrEqual(21);
  });

  it('does not quarantine for what is not the key’s fault, and is back within 10 s of the end of an outage', async () => {
    let isAway = true;
    const { clock, queue, start, runs, failures } = aQueue(
      () => (isAway ? throws(new KubeApiError({ status: 503, reason: 'x', message: 'x' }))() : undefined),
      { random: () => 0.999 },
    );
    void start();
    queue.add('a');
    await clock.advance(120_000);
    expect(failures.some(({ quarantined }) => quarantined)).toBe(false);
    isAway = false;
    const before = runs.length;
    await clock.advance(10_000);
    expect(runs.length).toBe(before + 1);
    expect(queue.stats()).toEqual({ ready: 0, waiting: 0, running: 0, failing: 0, quarantined: 0, stalledMs: 0 });
  });

  it('honours Retry-After', async () => {
    const { clock, queue, start, runs } = aQueue(
      throws(new KubeApiError({ status: 429, reason: 'x', message: 'x', retryAfterMs: 9_000 })),
    );
    void start();
    queue.add('a');
    await clock.advance(8_999);
    expect(runs).toHaveLength(1);
    await clock.advance(1);
    expect(runs).toHaveLength(2);
  });

  it('spaces rate-limited additions over all keys', async () => {
    const { clock, queue, start, runs } = aQueue(() => undefined, {
      workers: 100,
      rate: { perSecond: 10, burst: 10 },
      backoff: { minMs: 1, maxMs: 2 },
    });
    void start();
    for (let n = 0; n < 40; n += 1) queue.addRateLimited(`k-${n}`);
    await clock.advance(1_000);
    expect(runs.length).toBeLessThanOrEqual(21);
    await clock.advance(2_100);
    expect(runs).toHaveLength(40);
  });

  it('gives a worker back when a reconcile takes too long, but never runs that key twice at once', async () => {
    const { opened, open } = gate();
    const { clock, queue, start, keys, failures } = aQueue(
      (key) => (key === 'stuck' && keys().length === 1 ? opened : undefined),
      {
        workers: 1,
        reconcileTimeoutMs: 1_000,
      },
    );
    void start();
    queue.add('stuck');
    await settle();
    queue.add('other');
    queue.add('stuck');
    await clock.advance(5_000);
    expect(keys()).toEqual(['stuck', 'other']);
    open();
    await clock.advance(5_000);
    expect([keys(), failures.length]).toEqual([['stuck', 'other', 'stuck'], 1]);
  });

  it('finishes what is under way when it is stopped, and takes nothing new', async () => {
    const { opened, open } = gate();
    const { queue, start, stop, keys } = aQueue(() => opened, { workers: 1 });
    const done = start();
    queue.add('a');
    queue.add('b');
    await settle();
    stop.abort();
    open();
    expect(await done).toEqual({ abandoned: [] });
    expect(keys()).toEqual(['a']);
  });

  it('says what it abandoned when the drain time is over, and tells it to stop', async () => {
    let wasAborted = false;
    const { clock, queue, start, stop } = aQueue((_key, { signal }) => {
      signal.addEventListener('abort', () => (wasAborted = true));
      return new Promise(() => undefined);
    });
    const done = start();
    queue.add('a');
    await settle();
    stop.abort();
    await clock.advance(1_000);
    expect([await done, wasAborted]).toEqual([{ abandoned: ['a'] }, true]);
  });

  it('remembers nothing of twenty thousand keys that are done', async () => {
    const { queue, start } = aQueue(() => undefined, { workers: 8 });
    void start();
    for (let n = 0; n < 20_000; n += 1) queue.add(`key-${n}`);
    for (let turn = 0; turn < 200 && queue.stats().ready > 0; turn += 1) await settle();
    expect(queue.stats()).toEqual({ ready: 0, waiting: 0, running: 0, failing: 0, quarantined: 0, stalledMs: 0 });
  });
});
