/** Which groups take longer for the same operation than their peers, and which member do they share? */
import type { Gang } from '../gang/gang.ts';
import type { HealthSettings } from '../settings.ts';
import type { RecordOf } from '../trace/records.ts';
import { robustZ, spreadOf } from './robust.ts';

/** The last rank to arrive waits for no other, so the shortest time inside an operation is that of the transfer (What-if, NSDI'25 late-arrival rule). */
interface Transfer {
  readonly cohort: string;
  readonly isPair: boolean;
  readonly reportedBy: Set<number>;
  leastMs: number;
}

/** A group whose transfers take longer than those of its peers. */
export interface SlowGroup {
  readonly group: string;
  readonly transferMs: number;
  readonly usualMs: number;
}

/** Transfer times of all groups within a window. */
export interface LinkWindow {
  readonly add: (record: RecordOf<'collectives'>) => void;
  /**
   * Returns the groups that stand out and begins the next window. In a pipeline both ends of a transfer wait for the slowest stage, so point-to-point
   * transfers are no evidence about a link if some member is `heldUp`.
   */
  readonly close: (heldUp: (rank: number) => boolean) => readonly SlowGroup[];
}

const LEAST_PEERS = 3;
const PAIR_OPERATIONS: ReadonlySet<string> = new Set(['send', 'recv']);

/** Begins a window for all groups of the gang. */
export function linkWindow(gang: Gang, { slow }: HealthSettings): LinkWindow {
  const transfers = new Map<string, Transfer>();
  /** How many members of a group reported in any window: in some engines only some of them report. */
  const mostReports = new Map<string, number>();
  /** If reports are lost, the last rank to arrive may not have reported, and the shortest time of the others contains waiting. */
  const isComplete = (group: string, { reportedBy }: Transfer): boolean => {
    const most = Math.max(mostReports.get(group) ?? 0, reportedBy.size);
    mostReports.set(group, most);
    return reportedBy.size === most;
  };
  return {
    add: ({ ranks }) => {
      for (const { rank, groups } of ranks) {
        for (const { group, operation, bytes, medianMs } of groups) {
          const known = gang.groups.get(group);
          if (known === undefined) continue;
          // Stages of a pipeline wait and transfer differently, so groups are compared within one stage.
          const cohort = `${known.name} ${operation} ${bytes} ${gang.stageOf[known.ranks[0] ?? 0] ?? 0} ${known.ranks.length}`;
          const there = transfers.get(group);
          const isPair = PAIR_OPERATIONS.has(operation);
          if (there === undefined)
            transfers.set(group, { cohort, isPair, leastMs: medianMs, reportedBy: new Set([rank]) });
          else {
            there.reportedBy.add(rank);
            there.leastMs = Math.min(there.leastMs, medianMs);
          }
        }
      }
    },
    close: (heldUp) => {
      const complete = [...transfers].filter(
        ([group, transfer]) =>
          isComplete(group, transfer) && (!transfer.isPair || gang.groups.get(group)?.ranks.some(heldUp) !== true),
      );
      const cohorts = Map.groupBy(complete, ([, { cohort }]) => cohort);
      const found = [...cohorts.values()].flatMap((peers) => {
        if (peers.length < LEAST_PEERS) return [];
        const spread = spreadOf(
          peers.map(([, { leastMs }]) => leastMs),
          slow.epsilon,
        );
        return peers
          .filter(
            ([, { leastMs }]) => robustZ(leastMs, spread) > slow.z && leastMs > (1 + slow.linkExcess) * spread.median,
          )
          .map(([group, { leastMs }]) => ({ group, transferMs: leastMs, usualMs: spread.median }));
      });
      transfers.clear();
      return found;
    },
  };
}

/** The ranks that are in most of the slow groups; all of them if the groups share no rank in particular. */
export function sharedBy(groups: readonly string[], gang: Gang): readonly number[] {
  const counts = new Map<number, number>();
  for (const group of groups) {
    for (const rank of gang.groups.get(group)?.ranks ?? []) counts.set(rank, (counts.get(rank) ?? 0) + 1);
  }
  const most = Math.max(0, ...counts.values());
  return [...counts].filter(([, count]) => count === most).map(([rank]) => rank);
}
