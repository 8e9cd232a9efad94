import {
  type GroupTraffic,
  type LayoutTraffic,
  trafficGroups,
  type TrafficGroupSet,
  type TrafficKind,
} from '@coxswain/fabric';
import { type AskedLayout, exchangesOf, type ExchangingGroup, type PlanRequest } from '@coxswain/planner';

/** What the planner calls a group, as the fabric knows it. */
const GROUPS: Readonly<Record<ExchangingGroup, { readonly kind: TrafficKind; readonly over: TrafficGroupSet }>> = {
  tensor: { kind: 'tensor', over: 'tensor' },
  context: { kind: 'context', over: 'context' },
  expertTensor: { kind: 'expertTensor', over: 'expertTensor' },
  expert: { kind: 'expert', over: 'expert' },
  data: { kind: 'data', over: 'data' },
  dataShard: { kind: 'data', over: 'dataShard' },
  dataReplica: { kind: 'data', over: 'dataReplica' },
  expertData: { kind: 'expertData', over: 'expertData' },
  pipeline: { kind: 'pipeline', over: 'pipeline' },
  pipelineEnds: { kind: 'pipeline', over: 'pipelineEnds' },
  embedding: { kind: 'embedding', over: 'pipelineEnds' },
};

/**
 * What the ranks of a layout send each other when they train the model of the request: the planner's bytes, between the groups that the engine makes.
 *
 * @throws DomainError INVALID_REQUEST for an unknown preset; INVALID_LAYOUT for a layout that breaks a rule, or that the planner's models do not cover.
 */
export function layoutTraffic(request: PlanRequest, asked: AskedLayout): LayoutTraffic {
  const exchanges = exchangesOf(request, asked);
  const groupsOver = trafficGroups(asked.layout);
  const byKind = exchanges.flatMap(({ group, pattern, bytesPerPair }): readonly GroupTraffic[] => {
    const { kind, over } = GROUPS[group];
    const groups = groupsOver[over];
    return groups.length === 0 ? [] : [{ kind, pattern, bytesPerPair, groups }];
  });
  return { byKind, source: 'planned' };
}
