/** What a job that names a queue may do now, with the nodes that its quota is for. */
import { gangNodeRules } from './flavours.ts';
import type { Quota } from './decide-quota.ts';
import type { NodeRules, WorkloadFacts } from './workload-facts.ts';

/** Of a job that is queued by Kueue. */
export type JobQuota =
  /** No attempt begins; one that runs goes on. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** Nodes may be chosen; an attempt begins when the quota is admitted. */
  | { readonly kind: 'reserved'; readonly message: string; readonly rules: NodeRules }
  | { readonly kind: 'admitted'; readonly rules: NodeRules }
  /** A gang that runs saves and stops. */
  | { readonly kind: 'evicted'; readonly reason: string; readonly message: string };

/** undefined: the job is not queued. Where the flavours contradict each other no nodes are chosen. */
export function jobQuota(
  quota: Quota,
  workload: Pick<WorkloadFacts, 'flavours' | 'updates'>,
  flavours: ReadonlyMap<string, NodeRules>,
): JobQuota | undefined {
  if (quota.kind === 'notQueued') return undefined;
  if (quota.kind === 'waiting' || quota.kind === 'evicted') return quota;
  const found = gangNodeRules(workload, flavours);
  if (found.kind === 'contradiction') return { kind: 'waiting', message: found.message };
  return { ...quota, rules: found.rules };
}
