/** Where is a gang, what does it use, and has another node room for it? */
import { type Attempt, ranksOfPod } from '@coxswain/api-types';
import { recordOf } from '../record/job-record.ts';
import type { EndProposal } from '../arbiter/judge-ends.ts';
import { type Facts, placementOf } from './facts.ts';
import { nodesOf } from './gang.ts';

/** The nearest switches above these nodes; above all nodes of the gang, if there are none. */
export function switchesAbove(facts: Facts, attempt: Attempt, nodes: readonly string[]): readonly string[] {
  const names = new Set(nodes.length > 0 ? nodes : nodesOf(facts, attempt));
  const above = facts
    .capacity()
    .fabric.nodes.flatMap(({ name, switches }) => (names.has(name) ? (switches[0] ?? []) : []));
  return [...new Set(above)];
}

/** Storage claims that the gang reads or writes while it trains. */
export function claimsOf({ job, spec }: Facts): readonly string[] {
  const names = [spec?.checkpoint?.claimName, spec?.data?.claimName].flatMap((name) => name ?? []);
  return [...new Set(names)].map((name) => `${job.metadata.namespace ?? ''}/${name}`);
}

/** GPUs of the pods that must leave these nodes, and of places of that size on other nodes. Whether the network there suits the gang is not checked. */
export function roomElsewhere(facts: Facts, attempt: Attempt, nodes: readonly string[]): EndProposal['room'] {
  const placement = placementOf(facts, attempt.epoch)?.spec;
  if (placement === undefined) return undefined;
  const { spec } = facts;
  const leaving = placement.nodes.flatMap((node, podIndex) => (nodes.includes(node) ? podIndex : []));
  const sizes = leaving.map((podIndex) => ranksOfPod(placement, podIndex).length);
  const neededGpus = sizes.reduce((sum, size) => sum + size, 0);
  const rest = placement.worldSize - neededGpus;
  // An elastic gang continues on the rest of its nodes.
  if (spec?.minGpus !== undefined && rest >= spec.minGpus) return undefined;
  return { neededGpus, freeGpus: freeGpus(facts, Math.max(1, ...sizes), nodes) };
}

/** GPUs of free places for pods of that many GPUs, on nodes that the job may use, without these nodes. */
export function freeGpus(facts: Facts, gpusPerPod: number, without: readonly string[]): number {
  const avoided = recordOf(facts.job).avoidedNodes.map(({ node }) => node);
  const unusable = new Set([...without, ...avoided]);
  const { fabric, usedGpus } = facts.capacity();
  const free = fabric.nodes.filter(({ name, usable }) => usable && !unusable.has(name) && !isAnnounced(facts, name));
  const placesOn = ({ name, gpus }: (typeof free)[number]): number =>
    // A node that has lost GPUs may have fewer than its pods use.
    Math.max(0, Math.floor((gpus - (usedGpus.get(name) ?? 0)) / gpusPerPod));
  return free.reduce((sum, node) => sum + placesOn(node) * gpusPerPod, 0);
}

/** A node that goes away within minutes is no room, although its Node still takes pods. */
function isAnnounced({ observed }: Facts, node: string): boolean {
  return observed.noticeOf?.(node) !== undefined;
}
