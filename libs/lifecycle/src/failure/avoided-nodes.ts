import { type AvoidedNode, type AvoidedNodeReason, MAX_AVOIDED_NODES } from '@coxswain/api-types';
import { type Facts, isLive, isTerminal } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import { isOver, type Wait } from '../observation/waits.ts';

/** Nodes that a job must avoid, and why. */
export interface Avoidance {
  readonly nodes: readonly string[];
  readonly reason: AvoidedNodeReason;
  /** The attempt that found the reason. */
  readonly epoch: number;
}

/** The record with those nodes avoided from now on. A node that was avoided before moves to the end of the list. */
export function withAvoided(
  record: JobRecord,
  { nodes, reason, epoch }: Avoidance,
  facts: Facts,
  now: Date,
): JobRecord {
  if (nodes.length === 0) return record;
  const since = now.toISOString();
  const added = [...new Set(nodes)].map((node): AvoidedNode => {
    const bootId = facts.observed.bootIdOf?.(node);
    return { node, reason, epoch, since, ...(bootId === undefined ? {} : { bootId }) };
  });
  const names = new Set(added.map(({ node }) => node));
  const kept = record.avoidedNodes.filter(({ node }) => !names.has(node));
  return { ...record, avoidedNodes: [...kept, ...added].slice(-MAX_AVOIDED_NODES) };
}

/** The wait after which the node is no longer avoided. */
export function avoidedWait({ node, since }: AvoidedNode, { timeouts }: Facts): Wait {
  return { key: `avoided/${node}/${since}`, limitMs: timeouts.avoidedMs };
}

/** Avoids nodes with pods that were given up, as long as these pods exist. */
export function recordHangingPods(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const known = new Set(record.avoidedNodes.map(({ node }) => node));
  const hanging = hangingPods(facts).filter(({ nodeName }) => !known.has(nodeName));
  return hanging.reduce(
    (current, { nodeName, epoch }) =>
      withAvoided(current, { nodes: [nodeName], reason: 'NotStopped', epoch }, facts, now),
    record,
  );
}

/** Drops nodes that were avoided long enough, rebooted or replaced. A node stays while a pod of the job hangs on it. */
export function forgetAvoided(record: JobRecord, facts: Facts): JobRecord {
  const hanging = new Set(hangingPods(facts).map(({ nodeName }) => nodeName));
  const avoidedNodes = record.avoidedNodes.filter(
    (entry) => hanging.has(entry.node) || !(isOver(facts, avoidedWait(entry, facts)) || isAnotherBoot(entry, facts)),
  );
  return avoidedNodes.length === record.avoidedNodes.length ? record : { ...record, avoidedNodes };
}

function isAnotherBoot({ node, bootId }: AvoidedNode, facts: Facts): boolean {
  const current = facts.observed.bootIdOf?.(node);
  return bootId !== undefined && current !== undefined && current !== bootId;
}

/** Pods that were given up although they have not ended, and the nodes whose GPUs they hold. */
function hangingPods(facts: Facts): readonly { readonly nodeName: string; readonly epoch: number }[] {
  return facts.pods.flatMap((pod) => {
    const { nodeName, epoch } = pod;
    return nodeName === undefined || isTerminal(pod) || isLive(facts, pod) ? [] : [{ nodeName, epoch }];
  });
}
