import { createKubeClient } from '../client.ts';
import { systemClock } from '../clock.ts';
import type { KubeObject } from '../kube-object.ts';
import { LeaderLease, NotLeadingError } from '../leader-lease.ts';
import { LEASE_DURATION_MS } from './lease-candidate-timing.ts';
import { configMaps } from './world.ts';

/*
 * A program for tests: leads when it can and then writes, as fast as it can, a ConfigMap stamped with its term, each write after
 * `assertLeading`. Arguments: kubeconfig, identity. It says what happens on its standard output and exits with 1 when it loses the lease.
 */
const [kubeconfigPath = '', identity = ''] = process.argv.slice(2);
const client = createKubeClient({ kubeconfigPath, userAgent: identity, fieldManager: 'leader' });
const lease = new LeaderLease({
  client,
  namespace: 'default',
  name: 'contested',
  identity,
  leaseDurationMs: LEASE_DURATION_MS,
  renewDeadlineMs: 3_600,
  retryPeriodMs: 400,
  clock: systemClock,
  random: Math.random,
  onError: (error) => console.log(`error ${error instanceof Error ? error.message : String(error)}`),
});
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const why = await lease.run({
  signal: stop.signal,
  onStartedLeading: async (term, signal) => {
    console.log(`leading ${term}`);
    const path = configMaps('default', 'contested');
    // The fence: a write is based on the version that this leader has seen, so it fails once a successor has written.
    let resourceVersion = await client
      .get<KubeObject>(path)
      .then(({ metadata }) => metadata.resourceVersion)
      .catch(() => undefined);
    for (let count = 0; !signal.aborted; count += 1) {
      try {
        const data = { term: String(lease.assertLeading()), identity, count: String(count) };
        const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'contested', resourceVersion }, data };
        const guard = (): void => void lease.assertLeading();
        const written = await client.apply<KubeObject>(path, body, { force: true, timeoutMs: 2_000, guard });
        resourceVersion = written.metadata.resourceVersion;
      } catch (error) {
        if (error instanceof NotLeadingError) console.log('refused');
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
});
console.log(`ended ${why}`);
await client.close();
process.exitCode = why === 'lost' ? 1 : 0;
