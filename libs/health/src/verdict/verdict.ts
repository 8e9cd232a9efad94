/** What do detectors conclude about a job, and how sure are they? */

/**
 * hang: a rank for which others wait. networkHang: all members of a group started an operation and none completes it. desync: members of a group
 * called different operations, or one skipped a call. notTraining: no step, collective, CPU time or output of any rank. blind: no reports, so the state is unknown.
 * brokenSave: a launcher found a save broken, which is not reported. Others: what makes steps slow.
 */
export const VERDICT_KINDS = [
  'hang',
  'networkHang',
  'desync',
  'notTraining',
  'blind',
  'slowRank',
  'slowLink',
  'slowJob',
  'stageImbalance',
  'expertImbalance',
  'sequenceImbalance',
  'collectionPauses',
  'hostDataStall',
  'sharedDataStall',
  'badLoss',
  'brokenSave',
] as const;
/** One of {@link VERDICT_KINDS}. */
export type VerdictKind = (typeof VERDICT_KINDS)[number];

/** none: report only. advise: a person or a test should check; no node is replaced. evict: replace the ranks' nodes. stop: the program is at fault, or training must not continue from this state. */
export type VerdictAction = 'none' | 'advise' | 'evict' | 'stop';

/** Most ranks that one verdict lists; `evidence.ranks` says how many there are. */
const MAX_NAMED_RANKS = 16;

/** A conclusion about a job, with its evidence. */
export interface Verdict {
  readonly kind: VerdictKind;
  /** Time of the verdict on the clock of the records. */
  readonly atMs: number;
  /** Ascending; empty if no rank is to blame. */
  readonly ranks: readonly number[];
  /** The node, if all ranks run on one. */
  readonly node?: string;
  /** The nodes of the ranks, at most as many as ranks are listed. */
  readonly nodes: readonly string[];
  /** Number of nodes, if it is larger than that of the listed ones. */
  readonly nodeCount?: number;
  readonly group?: string;
  readonly message: string;
  /** The figures that support the verdict. */
  readonly evidence: Readonly<Record<string, number | string>>;
  /** 0 to 1: the weight of this kind of evidence, not a measured frequency. */
  readonly confidence: number;
  readonly action: VerdictAction;
  /** Expected for the whole job, by {@link windowedFalseAlarmsPerDay}; null if the verdict is no test of windows, so that no rate is known. */
  readonly falseAlarmsPerDay: number | null;
}

/** A verdict before nodes are added and ranks are bounded. */
export type VerdictDraft = Omit<
  Verdict,
  'ranks' | 'node' | 'nodes' | 'nodeCount' | 'evidence' | 'falseAlarmsPerDay'
> & {
  readonly ranks: readonly number[];
  readonly evidence: Readonly<Record<string, number | string>>;
  readonly falseAlarmsPerDay?: number;
};

/** Adds the nodes of the ranks and bounds the number of ranks. */
export function verdictOf(draft: VerdictDraft, nodeOf: (rank: number) => string | undefined): Verdict {
  const ranks = [...draft.ranks].sort((a, b) => a - b);
  const nodes = new Set(ranks.map(nodeOf));
  const [node] = nodes;
  const known = [...nodes].filter((name) => name !== undefined);
  return {
    ...draft,
    ranks: ranks.slice(0, MAX_NAMED_RANKS),
    ...(nodes.size === 1 && node !== undefined ? { node } : {}),
    nodes: known.slice(0, MAX_NAMED_RANKS),
    ...(known.length > MAX_NAMED_RANKS ? { nodeCount: known.length } : {}),
    evidence: ranks.length > MAX_NAMED_RANKS ? { ...draft.evidence, ranks: ranks.length } : draft.evidence,
    falseAlarmsPerDay: draft.falseAlarmsPerDay ?? null,
  };
}

/** `rank 3`, `ranks 0-7`. */
export function describeRanks(ranks: readonly number[]): string {
  const sorted = [...ranks].sort((a, b) => a - b);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (sorted.length === 1) return `rank ${first}`;
  if (last !== undefined && first !== undefined && last - first === sorted.length - 1) return `ranks ${first}-${last}`;
  return `ranks ${sorted.slice(0, 8).join(', ')}${sorted.length > 8 ? ` and ${sorted.length - 8} more` : ''}`;
}

/** The text with an upper-case first letter. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
