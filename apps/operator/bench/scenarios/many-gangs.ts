import { LABELS } from '@coxswain/api-types';
import { clearNamespace, inTurns } from '../bare-client.ts';
import { RunningPods } from '../running-pods.ts';
import { CPU_MS_PER_POD, longestStretch, type Scenario } from '../scenario.ts';

/** Ten times 1,024 pods take about 5 minutes on two cores. */
const PATIENCE_MS = 900_000;

/** Ten gangs at once on as many nodes as they need: memory, and whether the lease is renewed in time beside the work. */
export const manyGangs: Scenario = {
  name: 'many-gangs',
  question: 'ten gangs of 1,024 pods on 10,240 nodes: all running, memory of the operator, lateness of its lease',
  bars: ['operator CPU a pod', 'operator memory, peak', 'latest renewal of the lease, late by'],
  run: async ({ cluster, size, progress, clearUp }) => {
    const { gangs, pods } = size === 'full' ? { gangs: 10, pods: 1_024 } : { gangs: 4, pods: 32 };
    await cluster.haveNodes(gangs * pods);
    const namespaces = await inTurns(Array.from({ length: gangs }), () => cluster.namespace());
    const operator = await cluster.operator();
    const running = RunningPods.watch(cluster, undefined, LABELS.jobUid);
    const lease = operator.watchLease();
    try {
      const before = operator.usage();
      const startedMs = performance.now();
      await operator.loopLagMs();
      operator.stretchesMs();
      await Promise.all(namespaces.map((namespace) => cluster.job(namespace, 'gang', pods)));
      await operator.during(running.until(gangs * pods, PATIENCE_MS, progress));
      const seconds = (performance.now() - startedMs) / 1_000;
      const { cpuMs, peakResidentMiB } = operator.usage();
      return [
        { what: `${gangs} gangs of ${pods} running`, value: seconds, unit: 's' },
        {
          what: 'operator CPU a pod',
          value: (cpuMs - before.cpuMs) / gangs / pods,
          unit: 'ms',
          atMost: CPU_MS_PER_POD,
        },
        { what: 'operator memory, peak', value: peakResidentMiB, unit: 'MiB', atMost: 512 },
        longestStretch('start', operator.stretchesMs()),
        {
          what: 'longest hold of the event loop, with time of other processes',
          value: await operator.loopLagMs(),
          unit: 'ms',
        },
        { what: 'latest renewal of the lease, late by', value: await lease.stop(), unit: 'ms', atMost: 2_000 },
      ];
    } finally {
      await lease.stop();
      await running.stop();
      await operator.stop();
      for (const namespace of namespaces) clearUp(() => clearNamespace(cluster, namespace));
    }
  },
};
