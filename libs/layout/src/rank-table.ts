import type { ParallelLayout, RankAxis } from './parallel-layout.ts';
import { axisOf, denseGrid, expertGrid, groupsOver, indexOnAxis, type RankGrid } from './rank-grid.ts';

type PerAxis<T> = Readonly<Partial<Record<RankAxis, T>>>;
type Groups = readonly (readonly number[])[];

/** Degrees and process groups of one grid. */
export interface GridTable {
  readonly degrees: PerAxis<number>;
  /** Per axis the groups as global ranks, in the engine's own order. */
  readonly groups: PerAxis<Groups>;
  /**
   * Groups over several axes that engines also make, such as `context-data`, over which gradients are reduced; and parts of groups:
   * `stateShard` and `stateReplica` (HSDP, distributed optimizer instances), `ulysses` and `ring` of ulysses-ring.
   */
  readonly combinedGroups: Readonly<Record<string, Groups>>;
}

/** The position of every rank on every axis, and the process groups of a layout. */
export interface RankTable {
  readonly worldSize: number;
  /** Axes from adjacent ranks to distant ones. */
  readonly rankOrder: readonly RankAxis[];
  readonly dense: GridTable;
  /** Absent without experts. */
  readonly expert?: GridTable;
  /** Per rank its index on every axis. */
  readonly ranks: readonly {
    readonly rank: number;
    readonly dense: PerAxis<number>;
    readonly expert?: PerAxis<number>;
  }[];
}

const DENSE_AXES = ['tensor', 'weightShard', 'context', 'data', 'pipeline'] as const;
const EXPERT_AXES = ['tensor', 'weightShard', 'expert', 'data', 'pipeline'] as const;
const DENSE_COMBINED = [
  ['tensor', 'context'],
  ['tensor', 'data'],
  ['context', 'data'],
  ['tensor', 'context', 'data'],
  ['tensor', 'pipeline'],
] as const;
const EXPERT_COMBINED = [
  ['tensor', 'expert'],
  ['tensor', 'expert', 'pipeline'],
] as const;

/** The rank table of a layout. Throws a RangeError if the expert degrees do not divide the ranks of a stage. */
export function rankTable(layout: ParallelLayout): RankTable {
  const dense = denseGrid(layout);
  const expert = expertGrid(layout);
  const ranks = dense.axes.reduce((product, { degree }) => product * degree, 1);
  return {
    worldSize: ranks,
    rankOrder: dense.axes.map(({ axis }) => axis),
    dense: withParts(gridTable(dense, DENSE_AXES, DENSE_COMBINED), layout),
    ...(expert === undefined ? {} : { expert: gridTable(expert, EXPERT_AXES, EXPERT_COMBINED) }),
    ranks: Array.from({ length: ranks }, (_, rank) => ({
      rank,
      dense: perAxis(DENSE_AXES, (axis) => indexOnAxis(axisOf(dense, axis), rank)),
      ...(expert === undefined
        ? {}
        : { expert: perAxis(EXPERT_AXES, (axis) => indexOnAxis(axisOf(expert, axis), rank)) }),
    })),
  };
}

/** Adds the groups that engines cut into consecutive pieces of a given size. */
function withParts(table: GridTable, layout: ParallelLayout): GridTable {
  const { dataParallelShardDegree: shard, sequence } = layout;
  const ulysses = sequence?.contextAlgorithm === 'ulysses-ring' ? sequence.ulyssesDegree : undefined;
  const parts = {
    ...(shard === undefined ? {} : cut(table.combinedGroups['context-data'], shard, ['stateShard', 'stateReplica'])),
    ...(ulysses === undefined ? {} : cut(table.groups.context, ulysses, ['ulysses', 'ring'])),
  };
  return { ...table, combinedGroups: { ...table.combinedGroups, ...parts } };
}

/** Consecutive pieces of each group, and the ranks at the same position of all pieces. */
function cut(
  groups: Groups = [],
  size: number,
  [piece, across]: readonly [string, string],
): Readonly<Record<string, Groups>> {
  const every = (group: readonly number[], step: number, first: number): readonly number[] =>
    group.filter((_, index) => index % step === first);
  return {
    [piece]: groups.flatMap((group) =>
      Array.from({ length: group.length / size }, (_, index) => group.slice(index * size, (index + 1) * size)),
    ),
    [across]: groups.flatMap((group) => Array.from({ length: size }, (_, first) => every(group, size, first))),
  };
}

function gridTable(grid: RankGrid, axes: readonly RankAxis[], combined: readonly (readonly RankAxis[])[]): GridTable {
  return {
    degrees: perAxis(axes, (axis) => axisOf(grid, axis).degree),
    groups: perAxis(axes, (axis) => groupsOver(grid, [axis])),
    combinedGroups: Object.fromEntries(combined.map((several) => [several.join('-'), groupsOver(grid, several)])),
  };
}

function perAxis<T>(axes: readonly RankAxis[], of: (axis: RankAxis) => T): PerAxis<T> {
  return Object.fromEntries(axes.map((axis) => [axis, of(axis)]));
}
