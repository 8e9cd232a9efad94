/** What is said of a job's health, and how sure it is. */

/**
 * hang: a rank for which others wait. networkHang: all of a group began an operation and none completes it. desync: members of a group called unlike
 * operations at one place, or one left a call out. blind: nothing is heard, so nothing is known. Others: who or what makes steps slow.
 */
export const VERDICT_KINDS = [
  'hang',
  'networkHang',
  'desync',
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
] as const;
export type VerdictKind = (typeof VERDICT_KINDS)[number];

/** none: only told. advise: a person or a test should look; no node is taken away. evict: replace the ranks' place. stop: the program's fault, or a state not to go on from. */
export type VerdictAction = 'none' | 'advise' | 'evict' | 'stop';

/** Most ranks that one verdict lists; `evidence.ranks` says how many there are. */
const MAX_NAMED_RANKS = 16;

export interface Verdict {
  readonly kind: VerdictKind;
  /** When it was seen, on the clock of the records. */
  readonly atMs: number;
  /** Ascending; empty where no rank is to blame. */
  readonly ranks: readonly number[];
  /** Where all of them are on one. */
  readonly node?: string;
  /** Where they run, at most as many as ranks are listed. */
  readonly nodes: readonly string[];
  readonly group?: string;
  readonly message: string;
  /** The numbers it stands on. */
  readonly evidence: Readonly<Record<string, number | string>>;
  /** 0 to 1: the worth of the kind of evidence, not a measured frequency. */
  readonly confidence: number;
  readonly action: VerdictAction;
  /** Expected of the whole job by {@link windowedFalseAlarmsPerDay}; null for what is no test of windows, and of which no rate was measured. */
  readonly falseAlarmsPerDay: number | null;
}

export type VerdictDraft = Omit<Verdict, 'ranks' | 'node' | 'nodes' | 'evidence' | 'falseAlarmsPerDay'> & {
  readonly ranks: readonly number[];
  readonly evidence: Readonly<Record<string, number | string>>;
  readonly falseAlarmsPerDay?: number;
};

/** Puts the node beside the ranks and bounds their number. */
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
    evidence: ranks.length > MAX_NAMED_RANKS ? { ...draft.evidence, ranks: ranks.length } : draft.evidence,
    falseAlarmsPerDay: draft.falseAlarmsPerDay ?? null,
  };
}

/** `rank 3`, `ranks 0-7`. */
export function ranksInWords(ranks: readonly number[]): string {
  const sorted = [...ranks].sort((a, b) => a - b);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (sorted.length === 1) return `rank ${first}`;
  if (last !== undefined && first !== undefined && last - first === sorted.length - 1) return `ranks ${first}-${last}`;
  return `ranks ${sorted.slice(0, 8).join(', ')}${sorted.length > 8 ? ` and ${sorted.length - 8} more` : ''}`;
}
