/** What a job that names a queue may do now, with the nodes that its quota is for. */
import { gangNodeRules } from './flavours.ts';
import type { FreeQuota } from './free-quota.ts';
import type { Quota } from './decide-quota.ts';
import type { NodeRules, WorkloadFacts } from './workload-facts.ts';

/** Of a job that is queued by Kueue. */
export type JobQuota =
  /** No attempt begins; one that runs goes on. */
  | { readonly kind: 'waiting'; readonly message: string; readonly free?: FreeQuota }
  /** Nodes may be chosen; an attempt begins when the quota is admitted. */
  | { readonly kind: 'reserved'; readonly message: string; readonly rules: NodeRules }
  | {
      readonly kind: 'admitted';
      readonly rules: NodeRules;
      /** GPUs for which Kueue counts the quota as the job's. */
      readonly gpus: number;
      readonly free?: FreeQuota;
    }
  /** A gang that runs saves and stops. */
  | { readonly kind: 'evicted'; readonly reason: string; readonly message: string };

/** undefined: the job is not queued. Where the flavours contradict each other no nodes are chosen. */
export function jobQuota(
  quota: Quota,
  workload: Pick<WorkloadFacts, 'flavours' | 'updates' | 'gpus'>,
  about: { readonly flavours: ReadonlyMap<string, NodeRules>; readonly free?: FreeQuota | undefined },
): JobQuota | undefined {
  const free = about.free === undefined ? {} : { free: about.free };
  if (quota.kind === 'notQueued') return undefined;
  if (quota.kind === 'evicted') return quota;
  if (quota.kind === 'waiting') return { ...quota, ...free };
  const found = gangNodeRules(workload, about.flavours);
  if (found.kind === 'contradiction') return { kind: 'waiting', message: found.message };
  if (quota.kind === 'reserved') return { ...quota, rules: found.rules };
  return { ...quota, rules: found.rules, gpus: workload.gpus, ...free };
}
