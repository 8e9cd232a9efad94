import { setTimeout as delay } from 'node:timers/promises';
import { clearNamespace } from '../bare-client.ts';
import { totalOf } from '../operator-writes.ts';
import { RunningPods } from '../running-pods.ts';
import type { Scenario } from '../scenario.ts';

/** Status, Events and the like follow a gang's start within this time. */
const SETTLES_MS = 20_000;

/** Where nothing happens nothing is written, though one gang runs and another waits. */
export const settled: Scenario = {
  name: 'settled',
  question: 'a gang that runs and one that waits: what is written, the lease left out',
  bars: ['writes where nothing happens'],
  run: async ({ cluster, size, progress, clearUp }) => {
    const { pods, seconds } = size === 'full' ? { pods: 100, seconds: 60 } : { pods: 20, seconds: 20 };
    await cluster.haveNodes(pods);
    const namespace = await cluster.namespace();
    const operator = await cluster.operator();
    const running = RunningPods.watch(cluster, namespace);
    try {
      await cluster.job(namespace, 'runs', pods);
      await operator.during(running.until(pods, 120_000, progress));
      await cluster.job(namespace, 'waits', 2 * cluster.nodeNames.length);
      await delay(SETTLES_MS);
      progress(`looks on for ${seconds} s, the lease left out`);
      const mark = await cluster.writes.mark();
      const before = operator.usage().cpuMs;
      await delay(seconds * 1_000);
      const percent = (operator.usage().cpuMs - before) / seconds / 10;
      const counts = await cluster.writes.since(mark);
      for (const [what, count] of Object.entries(counts)) progress(`${count} x ${what}`);
      return [
        { what: 'writes where nothing happens', value: totalOf(counts), unit: '', atMost: 0 },
        { what: 'operator, of a core', value: percent, unit: '%' },
      ];
    } finally {
      await running.stop();
      await operator.stop();
      clearUp(() => clearNamespace(cluster, namespace));
    }
  },
};
