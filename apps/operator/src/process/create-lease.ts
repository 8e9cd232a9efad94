import { ANNOTATIONS } from '@coxswain/api-types';
import { type Clock, type KubeClient, LeaderLease } from '@coxswain/kube';
import type { Logger } from '@coxswain/telemetry';
import type { Config } from '../config/config.ts';

/** The Lease by which one replica of the operator leads. It says where launchers reach the leader. */
export function createLease(
  { lease, namespace, identity, reports }: Pick<Config, 'lease' | 'namespace' | 'identity' | 'reports'>,
  { client, clock, log }: { readonly client: KubeClient; readonly clock: Clock; readonly log: Logger },
): LeaderLease {
  return new LeaderLease({
    client,
    namespace,
    name: lease.name,
    identity,
    annotations: { [ANNOTATIONS.reportUrl]: reports.ownUrl },
    leaseDurationMs: lease.durationMs,
    renewDeadlineMs: lease.renewDeadlineMs,
    retryPeriodMs: lease.retryPeriodMs,
    clock,
    random: Math.random,
    onError: (error) => log.warn({ err: error }, 'the lease could not be read or written'),
  });
}
