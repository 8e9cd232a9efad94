/**
 * What does the restart of a gang cost the operator itself after a lost node and after a lost rack, without HTTP, TLS and a cluster? And for how long does it
 * hold its event loop at a time? Run: `node apps/operator/bench/gang-restart-cpu.bench.ts [PODS]`.
 *
 * 2,048 pods of 8 GPUs on racks with a node in reserve each. Cache, store, reconciler, watches, queue and the search for nodes in its process are the real
 * ones; an API server in memory answers at once. Waits of half a minute pass at once; times are CPU time of the operator's main thread.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { findCondition } from '@coxswain/api-types';
import { type Clock, systemClock } from '@coxswain/kube';
import { PlannerProcess } from '@coxswain/planner-process';
import { NodeSearches } from '../src/training-job/node-searches.ts';
import { InMemoryWorld } from './in-memory-world.ts';
import { placesOf } from './racks.ts';

const pods = Number(process.argv[2] ?? 2_048);
const RACKS = { racks: Math.ceil(pods / 16) + 1, nodesPerRack: 17, racksPerSpine: 16, spares: 1 };
/** Longer than any wait of a restart: fencing takes 30 s after the grace period of 60 s. */
const WAIT_MS = 95_000;

let skippedMs = 0;
const clock: Clock = {
  now: () => new Date(systemClock.now().getTime() + skippedMs),
  monotonicMs: () => systemClock.monotonicMs() + skippedMs,
  setTimer: systemClock.setTimer,
};
const searcher = new PlannerProcess({ limits: { timeoutMs: 120_000, heapMib: 128 } });
let searches = 0;
const world = new InMemoryWorld(pods, {
  racks: RACKS,
  clock,
  beside: (scheduler, onNews) =>
    new NodeSearches({
      searcher: {
        ask: (question, options) => {
          searches += 1;
          return searcher.ask(question, options);
        },
      },
      scheduler,
      clock,
      onNews,
      onFailure: (key, error) => console.error(key, error),
    }),
});

/** The longest stretches without a turn of the loop, longest first. */
const stretches: number[] = [];
let isOver = false;
const ticking = (async () => {
  for (let last = cpuMs(); !isOver;) {
    await nextTurn();
    const now = cpuMs();
    if (now - last > 10) stretches.push(now - last);
    last = now;
  }
})();

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

async function phase(name: string, act: () => Promise<void>): Promise<void> {
  stretches.length = 0;
  const before = { cpuMs: cpuMs(), looks: world.looks, searches };
  await act();
  const longest = stretches.toSorted((one, other) => other - one).slice(0, 4);
  console.log(
    `${name}: ${((cpuMs() - before.cpuMs) / pods).toFixed(2)} ms of CPU a pod, ${world.looks - before.looks} reconciles, ` +
      `${searches - before.searches} searches, longest stretches ${longest.map((ms) => ms.toFixed(0)).join(', ')} ms`,
  );
}

/** Pods that end in each second. */
const ENDS_PER_S = 100;

/** Lets the loop work until that holds; kubelets end pods at their pace. */
async function until(isSo: () => boolean): Promise<void> {
  for (let lastMs = systemClock.monotonicMs(); !isSo();) {
    await nextTurn();
    const due = Math.floor(((systemClock.monotonicMs() - lastMs) / 1_000) * ENDS_PER_S);
    if (due === 0) continue;
    world.endDeletedPods(due);
    lastMs = systemClock.monotonicMs();
  }
}

async function running(epoch: number): Promise<void> {
  await until(() => world.job().status?.epoch === epoch && world.stage() === 'Released' && world.gated() === 0);
  for (const name of world.podNames()) world.change(name, 'running');
  await until(() => findCondition(world.job().status?.conditions, 'Running')?.status === 'True');
}

/** The gang ends, and what is held up by a node that is gone is given up in time. */
async function restart(epoch: number, lost: readonly string[]): Promise<void> {
  for (const node of lost) world.removeNode(node);
  await phase(`${lost.length} lost nodes: the gang ends`, async () => {
    await until(() => world.runningPods() <= lost.length);
    skippedMs += WAIT_MS;
    world.wake();
  });
  await phase(`${lost.length} lost nodes: nodes are found`, () => until(() => world.job().status?.epoch === epoch));
  await phase(`${lost.length} lost nodes: it starts`, () => running(epoch));
}

const stop = new AbortController();
const queue = world.run(stop.signal);
await phase('start', async () => {
  world.submit();
  await running(1);
});
const rackOf = placesOf(RACKS).map(({ rack }) => rack);
const indexOf = (node: string): number => Number(node.split('-').at(-1));
await restart(2, world.placedNodes().slice(8, 9));
const inRack = rackOf[indexOf(world.placedNodes()[pods / 2] ?? '')];
const lost = rackOf.flatMap((rack, index) => (rack === inRack ? [`node-${index}`] : []));
await restart(
  3,
  lost.filter((name) => world.hasNode(name)),
);
stop.abort();
isOver = true;
await Promise.all([queue, ticking, searcher.close()]);
process.exit(0);
