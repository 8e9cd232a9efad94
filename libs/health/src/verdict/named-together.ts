/** Are so many nodes named at once that a common cause is likelier than bad nodes? */
import type { Verdict } from './verdict.ts';

/** When are nodes named at once, and when are they many? */
const TOGETHER_SETTINGS = {
  /** Many: more nodes than this number, and more than this share of the gang's nodes. */
  mostNodes: 4,
  mostShare: 0.1,
  /** Verdicts this close to each other are about one event. Five windows of the slow detector, within which it names ranks that became slow together. */
  withinMs: 300_000,
} as const;

/** Nodes that a verdict named; ranks, if their nodes are unknown. */
export interface Naming {
  readonly kind: Verdict['kind'];
  readonly atMs: number;
  readonly subjects: readonly string[];
  /** Number of subjects; a verdict lists only some of them. */
  readonly count: number;
}

/** What the verdict names. */
export function namingOf({ kind, atMs, ranks, nodes, nodeCount, evidence }: Verdict): Naming {
  if (nodes.length > 0) return { kind, atMs, subjects: nodes, count: nodeCount ?? nodes.length };
  return {
    kind,
    atMs,
    subjects: ranks.map((rank) => `rank ${rank}`),
    count: Number(evidence['ranks'] ?? ranks.length),
  };
}

/** Whether this naming and the others that are close to it name many of a gang's nodes. */
export function areMany(naming: Naming, others: Iterable<Naming>, gangNodes: number): boolean {
  const { mostNodes, mostShare, withinMs } = TOGETHER_SETTINGS;
  const subjects = new Set(naming.subjects);
  for (const other of others) {
    if (other.kind !== naming.kind || Math.abs(other.atMs - naming.atMs) > withinMs) continue;
    for (const subject of other.subjects) subjects.add(subject);
  }
  return Math.max(naming.count, subjects.size) > Math.max(mostNodes, mostShare * gangNodes);
}
