/**
 * What does starting a gang cost the operator itself, without HTTP, TLS and a cluster? Run: `node apps/operator/bench/gang-start-cpu.bench.ts`.
 *
 * The operator's cache, store, reconciler, watches and queue are the real ones; an API server in memory answers at once, and every pod then
 * tells of four changes one after the other, as scheduler and kubelet make them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { InMemoryWorld } from './in-memory-world.ts';

async function measure(count: number): Promise<void> {
  const world = new InMemoryWorld(count);
  const stop = new AbortController();
  const queue = world.run(stop.signal);
  const phases: string[] = [];
  const phase = async (name: string, act: () => Promise<void>): Promise<void> => {
    const before = process.cpuUsage();
    await act();
    const { user, system } = process.cpuUsage(before);
    phases.push(`${name} ${((user + system) / 1_000 / count).toFixed(2)}`);
  };
  await phase('submit to released', async () => {
    world.submit();
    while (world.stage() !== 'Released' || world.gated() > 0) await nextTurn();
  });
  for (const change of ['bound', 'initialized', 'starting', 'running'] as const) {
    await phase(change, async () => {
      for (const name of world.podNames()) {
        world.change(name, change);
        await nextTurn();
      }
    });
  }
  await phase('said', async () => {
    while (world.job().status?.state !== 'Running') await nextTurn();
  });
  stop.abort();
  await queue;
  console.log(`${count} pods, ms of CPU a pod: ${phases.join(', ')}; ${world.looks} looks`);
}

for (const pods of (process.argv[2] ?? '1024,4096').split(',').map(Number)) await measure(pods);
