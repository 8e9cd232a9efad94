import { type ParallelLayout, rankTable } from '@coxswain/layout';
import type { GroupTraffic, TrafficKind } from './traffic.ts';

type Groups = GroupTraffic['groups'];

/**
 * Which ranks exchange data with each other: the groups of a kind, or the parts of them that exchange separately. ulysses, contextRing: all-to-all
 * and ring of ulysses-ring. dataShard: ranks that share one copy of sharded states. dataReplica: ranks that hold the other copies of a shard (HSDP).
 * pipelineEnds: the first and the last stage.
 */
export type TrafficGroupSet =
  Exclude<TrafficKind, 'embedding'> | 'ulysses' | 'contextRing' | 'dataShard' | 'dataReplica' | 'pipelineEnds';

/**
 * The groups of every set in a layout; sets whose groups have one member are empty. Gradients are summed over data and context ranks alike, so both are
 * in `data`. Throws a RangeError where experts do not divide a stage.
 */
export function trafficGroups(layout: ParallelLayout): Readonly<Record<TrafficGroupSet, Groups>> {
  const { dense, expert } = rankTable(layout);
  const { combinedGroups: parts, groups } = dense;
  const pipeline = groupsOfSeveral(groups.pipeline);
  return {
    tensor: groupsOfSeveral(groups.tensor),
    weightShard: groupsOfSeveral(groups.weightShard),
    context: groupsOfSeveral(groups.context),
    ulysses: groupsOfSeveral(parts['ulysses']),
    contextRing: groupsOfSeveral(parts['ring']),
    data: groupsOfSeveral(parts['context-data']),
    dataShard: groupsOfSeveral(parts['stateShard'] ?? parts['context-data']),
    dataReplica: groupsOfSeveral(parts['stateReplica']),
    pipeline,
    pipelineEnds: pipeline.map((group) => [...group.slice(0, 1), ...group.slice(-1)]),
    expertTensor: groupsOfSeveral(expert?.groups.tensor),
    expert: groupsOfSeveral(expert?.groups.expert),
    expertData: groupsOfSeveral(expert?.groups.data),
  };
}

function groupsOfSeveral(groups: Groups = []): Groups {
  return (groups[0]?.length ?? 0) > 1 ? groups : [];
}
