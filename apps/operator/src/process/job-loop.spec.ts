import { noMetrics } from '@coxswain/kube';
import { createLogger } from '@coxswain/telemetry';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { createClusterScheduler } from '../training-job/cluster-scheduler.ts';
import { JobLoop } from './job-loop.ts';

/** A loop over jobs of those names, each reconciled by `reconcile`; what was reconciled, by name. */
function aLoop(names: readonly string[], reconcile: () => Promise<object> = () => Promise.resolve({})) {
  const script = new CacheScript();
  for (const name of names) script.job(name);
  const done: string[] = [];
  const loop = new JobLoop({
    cache: script.cache,
    clock: script.clock,
    log: createLogger({ program: 'test', level: 'silent' }),
    metrics: noMetrics,
    scheduler: createClusterScheduler(script.cache, script.clock),
    workers: 2,
    reconciler: () => ({
      reconcile: (key) => {
        done.push(key.replace('research/', ''));
        return reconcile();
      },
      forget: () => undefined,
      unrecorded: () => 0,
    }),
  });
  return { script, loop, done, stop: new AbortController() };
}

describe('the loop over jobs', () => {
  it('begins with a look at every job, and then looks at those that are woken', async () => {
    const { script, loop, done, stop } = aLoop(['a', 'b', 'c']);
    const ended = loop.run(stop.signal);
    await script.clock.advance(0);
    expect(done.toSorted()).toEqual(['a', 'b', 'c']);
    loop.wake('research/b', 'normal');
    await script.clock.advance(0);
    expect(done).toHaveLength(4);
    stop.abort();
    await ended;
    expect(script.clock.pending).toBe(0);
  });

  it('keeps no wake-ups of the time before it runs: they are answered by the first looks', async () => {
    const { script, loop, done, stop } = aLoop(['a']);
    loop.wake('research/long-gone', 'user');
    const ended = loop.run(stop.signal);
    await script.clock.advance(0);
    expect(done).toEqual(['a']);
    stop.abort();
    await ended;
  });

  it('says for how long no look has ended while some are under way, and nothing while there is nothing to do', async () => {
    const { script, loop, stop } = aLoop(['a'], () => new Promise(() => undefined));
    expect(loop.stalledMs()).toBe(0);
    const ended = loop.run(stop.signal);
    await script.clock.advance(700_000);
    expect(loop.stalledMs()).toBe(700_000);
    loop.wake('research/b', 'normal');
    await script.clock.advance(1_000);
    expect(loop.stalledMs()).toBe(701_000);
    stop.abort();
    await script.clock.advance(15_000);
    await ended;
  });
});
