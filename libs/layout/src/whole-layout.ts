/** Do all divisions of a layout come out even? */
import type { ParallelLayout } from './parallel-layout.ts';

/** Whether experts and shards of states divide the ranks of a stage. */
export function isWhole({ expert, dataParallelShardDegree = 1, ...layout }: ParallelLayout): boolean {
  const replicas = layout.dataParallelDegree * (layout.contextParallelDegree ?? 1);
  const stage = replicas * layout.tensorParallelDegree * (layout.weightShardDegree ?? 1);
  const experts =
    expert === undefined
      ? 1
      : (expert.expertTensorParallelDegree ?? layout.tensorParallelDegree) *
        (expert.weightShardDegree ?? 1) *
        expert.expertParallelDegree;
  return stage % experts === 0 && replicas % dataParallelShardDegree === 0;
}
