import { coordinatesOfRank, rankTable } from '@coxswain/layout';
import type { Gang } from '../gang/gang.ts';

/** Which ranks have equal work? Ranks of one pipeline stage, and of one part of each sample if parts differ. */
export interface Cohorts {
  readonly cohorts: readonly (readonly number[])[];
  /** The ranks of a rank's cohort, including itself. */
  readonly peersOf: (rank: number) => readonly number[];
  readonly stages: readonly (readonly number[])[];
  /** Index of the samples that a rank gets. */
  readonly dataOf: (rank: number) => number;
  /** Index of a rank's experts, if the layout distributes experts. */
  readonly expertOf: ((rank: number) => number) | undefined;
}

/** The cohorts of a gang's layout. */
export function cohortsOf({ header: { layout }, ranks }: Gang): Cohorts {
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  const unlikeParts = layout.sequence?.causalBalance === 'none';
  const at = all.map((rank) => coordinatesOfRank(layout, rank));
  const groups = Map.groupBy(all, (rank) => {
    const place = at[rank];
    return `${place?.pipelineIndex ?? 0} ${unlikeParts ? (place?.contextIndex ?? 0) : 0}`;
  });
  const stages = Map.groupBy(all, (rank) => at[rank]?.pipelineIndex ?? 0);
  const shards = layout.weightShardDegree ?? 1;
  const experts =
    (layout.expert?.expertParallelDegree ?? 1) > 1
      ? rankTable(layout).ranks.map(({ expert }) => expert?.expert ?? 0)
      : undefined;
  const cohorts = [...groups.values()];
  const cohortOf = new Map(cohorts.flatMap((members) => members.map((rank) => [rank, members] as const)));
  return {
    cohorts,
    peersOf: (rank) => cohortOf.get(rank) ?? [],
    stages: [...stages].sort(([a], [b]) => a - b).map(([, members]) => members),
    dataOf: (rank) => (at[rank]?.dataIndex ?? 0) * shards + (at[rank]?.weightShardIndex ?? 0),
    expertOf: experts === undefined ? undefined : (rank) => experts[rank] ?? 0,
  };
}
