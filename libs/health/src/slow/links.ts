/** Which groups need longer for the same operation than their peers do, and which member do they share? */
import type { Gang } from '../gang/gang.ts';
import type { HealthSettings } from '../settings.ts';
import type { RecordOf } from '../trace/records.ts';
import { robustZ, spreadOf } from './robust.ts';

/** Who came last waited for nobody: the shortest time inside an operation is that of the transfer (What-if, NSDI'25 late-arrival rule). */
interface Transfer {
  readonly cohort: string;
  readonly isPair: boolean;
  readonly toldBy: Set<number>;
  leastMs: number;
}

export interface SlowGroup {
  readonly group: string;
  readonly transferMs: number;
  readonly usualMs: number;
}

export interface LinkWindow {
  readonly add: (record: RecordOf<'collectives'>) => void;
  /**
   * Groups that stand out; the next window begins. In a pipeline both ends of a transfer wait for whoever is slow in it, so that transfers from rank to rank
   * say nothing of links where some member is `heldUp`.
   */
  readonly close: (heldUp: (rank: number) => boolean) => readonly SlowGroup[];
}

const LEAST_PEERS = 3;
const PAIR_OPERATIONS: ReadonlySet<string> = new Set(['send', 'recv']);

export function linkWindow(gang: Gang, { slow }: HealthSettings): LinkWindow {
  const transfers = new Map<string, Transfer>();
  /** How many members of a group told of it in any window: engines may have some of them tell. */
  const mostTold = new Map<string, number>();
  /** Where reports were lost, whoever came last may be among those who are not heard, and the least time of the others holds their waiting for it. */
  const isTold = (group: string, { toldBy }: Transfer): boolean => {
    const most = Math.max(mostTold.get(group) ?? 0, toldBy.size);
    mostTold.set(group, most);
    return toldBy.size === most;
  };
  return {
    add: ({ ranks }) => {
      for (const { rank, groups } of ranks) {
        for (const { group, operation, bytes, medianMs } of groups) {
          const known = gang.groups.get(group);
          if (known === undefined) continue;
          // A stage has waits of its own in a pipeline, and bytes of its own.
          const cohort = `${known.name} ${operation} ${bytes} ${gang.stageOf[known.ranks[0] ?? 0] ?? 0} ${known.ranks.length}`;
          const there = transfers.get(group);
          const isPair = PAIR_OPERATIONS.has(operation);
          if (there === undefined) transfers.set(group, { cohort, isPair, leastMs: medianMs, toldBy: new Set([rank]) });
          else {
            there.toldBy.add(rank);
            there.leastMs = Math.min(there.leastMs, medianMs);
          }
        }
      }
    },
    close: (heldUp) => {
      const telling = [...transfers].filter(
        ([group, transfer]) =>
          isTold(group, transfer) && (!transfer.isPair || gang.groups.get(group)?.ranks.some(heldUp) !== true),
      );
      const cohorts = Map.groupBy(telling, ([, { cohort }]) => cohort);
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

/** The ranks that are in most of the slow groups. All of them where the groups share nobody in particular. */
export function sharedBy(groups: readonly string[], gang: Gang): readonly number[] {
  const counts = new Map<number, number>();
  for (const group of groups) {
    for (const rank of gang.groups.get(group)?.ranks ?? []) counts.set(rank, (counts.get(rank) ?? 0) + 1);
  }
  const most = Math.max(0, ...counts.values());
  return [...counts].filter(([, count]) => count === most).map(([rank]) => rank);
}
