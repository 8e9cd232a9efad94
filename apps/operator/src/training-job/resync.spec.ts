import { CacheScript } from '../testing/a-cluster-cache.ts';
import { Resync } from './resync.ts';

/** Jobs of those names, and who was woken since, by second. */
function aRound(names: readonly string[], intervalMs: number) {
  const script = new CacheScript();
  for (const name of names) script.job(name);
  const woken: string[] = [];
  const resync = new Resync({
    cache: script.cache,
    clock: script.clock,
    intervalMs,
    wake: (key) => void woken.push(key.replace('research/', '')),
  });
  resync.start();
  return { script, woken, resync };
}

describe('looking at every job from time to time', () => {
  it.each([
    { jobs: 1, intervalMs: 300_000 },
    { jobs: 7, intervalMs: 300_000 },
    { jobs: 2_000, intervalMs: 300_000 },
    { jobs: 50, intervalMs: 1_000 },
  ])('$jobs jobs: each once in $intervalMs ms', async ({ jobs, intervalMs }) => {
    const names = Array.from({ length: jobs }, (_, index) => `j${index}`);
    const { script, woken } = aRound(names, intervalMs);
    await script.clock.advance(intervalMs + 1_000);
    const before = [...woken];
    expect(names.filter((name) => !before.includes(name))).toEqual([]);
    await script.clock.advance(intervalMs);
    expect(woken.length / jobs).toBeLessThanOrEqual((2 * intervalMs + 1_000) / intervalMs);
  });

  it('spreads them evenly: no second has more than its share', async () => {
    const { script, woken } = aRound(
      Array.from({ length: 600 }, (_, index) => `j${index}`),
      300_000,
    );
    for (let second = 0; second < 300; second += 1) {
      const before = woken.length;
      await script.clock.advance(1_000);
      expect(woken.length - before).toBeLessThanOrEqual(2);
    }
    expect(woken).toHaveLength(600);
  });

  it('takes up a job that came later in the next round, and one that has gone no more', async () => {
    const { script, woken } = aRound(['a', 'b'], 10_000);
    await script.clock.advance(6_000);
    script.job('late');
    script.jobDeleted(script.job('a'));
    await script.clock.advance(6_000);
    woken.length = 0;
    await script.clock.advance(11_000);
    expect(new Set(woken)).toEqual(new Set(['b', 'late']));
  });

  it('wakes nobody once it is stopped, and leaves no timer behind', async () => {
    const { script, woken, resync } = aRound(['a'], 5_000);
    resync.stop();
    await script.clock.advance(60_000);
    expect([woken, script.clock.pending]).toEqual([[], 0]);
  });
});
