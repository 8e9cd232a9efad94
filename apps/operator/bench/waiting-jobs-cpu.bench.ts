/**
 * What does a job that waits cost, without HTTP and a cluster? And how long until freed nodes are placed? Run:
 * `node apps/operator/bench/waiting-jobs-cpu.bench.ts [NODES] [JOBS]`.
 *
 * 2,000 jobs want two whole nodes each, of 10,240 nodes that strangers' pods fill. Cache, store, reconciler, watches, queue and the searches in their
 * process are the real ones; an API server in memory answers at once. Times are CPU time of the operator's main thread, but for the wait until nodes are placed.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { findCondition } from '@coxswain/api-types';
import { keyOf, systemClock } from '@coxswain/kube';
import { PlannerProcess } from '@coxswain/planner-process';
import { NodeSearches } from '../src/training-job/node-searches.ts';
import { searchForPromise } from '../src/training-job/promise-searches.ts';
import { InMemoryWorld } from './in-memory-world.ts';

const NODES = Number(process.argv[2] ?? 10_240);
const JOBS = Number(process.argv[3] ?? 2_000);
const ROUNDS = 5;

const searcher = new PlannerProcess({ limits: { timeoutMs: 120_000, heapMib: 128 } });
let searches = 0;
let isOver = false;
const counted: Pick<PlannerProcess, 'ask'> = {
  ask: (question, options) => {
    searches += 1;
    return searcher.ask(question, options);
  },
};
const world = new InMemoryWorld(NODES, {
  beside: (scheduler, onNews) =>
    new NodeSearches({
      searcher: counted,
      scheduler,
      clock: systemClock,
      onNews,
      onFailure: (key, error) => {
        if (!isOver) console.error(key, error);
      },
    }),
  findNodes: (question, job) => searchForPromise(question, { searcher: counted, job }),
});
for (let index = 0; index < NODES; index += 1) world.occupy(index);

/** The longest stretches without a turn of the loop. */
const stretches: number[] = [];
const ticking = (async () => {
  for (let last = cpuMs(); !isOver;) {
    await nextTurn();
    const now = cpuMs();
    if (now - last > 10) stretches.push(now - last);
    last = now;
  }
})();

const stop = new AbortController();
const queue = world.run(stop.signal);

await phase(`${JOBS} jobs are submitted and wait`, async () => {
  for (let index = 0; index < JOBS; index += 1) {
    world.submit({ namespace: `tenant-${index % 4}`, name: `job-${index}`, pods: 2 });
    await nextTurn();
  }
  await until(() => waitingJobs() === JOBS);
});
await phase('each of them is looked at again', async () => {
  for (const job of world.cache.jobs.cached.list()) await world.reconcile(keyOf(job));
});
await phase("a thousand times, a stranger's pod goes and comes back", async () => {
  for (let turn = 0; turn < 1_000; turn += 1) {
    world.vacate(0);
    world.scheduler.offer('gpus');
    world.occupy(0);
    if (turn % 10 === 0) await nextTurn();
  }
});
for (let round = 0; round < ROUNDS; round += 1) {
  await phase('two nodes become free', async () => {
    const before = world.placedJobs();
    const start = performance.now();
    world.vacate(2 * round);
    world.vacate(2 * round + 1);
    await until(() => world.placedJobs() > before);
    console.log(`placed after ${((performance.now() - start) / 1_000).toFixed(1)} s`);
    // Their pods run on them, as soon as they are released.
    await until(() => world.podNames().length === 2 * (round + 1) && world.gated() === 0);
    for (const name of world.podNames().slice(2 * round)) world.change(name, 'running');
  });
}
stop.abort();
isOver = true;
await Promise.all([queue, ticking, searcher.close()]);
process.exit(0);

function waitingJobs(): number {
  const jobs = world.cache.jobs.cached.list();
  return jobs.filter(({ status }) => findCondition(status?.conditions, 'Placed')?.reason === 'WaitingForCapacity')
    .length;
}

async function phase(name: string, act: () => Promise<void>): Promise<void> {
  stretches.length = 0;
  const before = { cpuMs: cpuMs(), looks: world.looks, writes: world.writes, searches };
  await act();
  const longest = stretches.toSorted((one, other) => other - one).slice(0, 4);
  console.log(
    `${name}: ${(cpuMs() - before.cpuMs).toFixed(0)} ms of CPU, ${world.looks - before.looks} reconciles, ${world.writes - before.writes} statuses written, ` +
      `${searches - before.searches} searches, longest stretches ${longest.map((ms) => ms.toFixed(0)).join(', ')} ms`,
  );
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(10);
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
