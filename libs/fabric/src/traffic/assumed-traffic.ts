import type { ParallelLayout } from '@coxswain/layout';
import type { GangRequest } from './gang-shape.ts';
import { trafficGroups, type TrafficGroupSet } from './traffic-groups.ts';
import type { GroupTraffic, LayoutTraffic, TrafficKind, TrafficPattern } from './traffic.ts';

interface AssumedGroup {
  readonly kind: TrafficKind;
  readonly over: TrafficGroupSet;
  readonly pattern: TrafficPattern;
  /** That a rank sends in a step if its group is large. */
  readonly gigabytes: number;
}

/**
 * The planner's traffic for usual models, which a test of libs/job-planning compares. Dense: Llama 3 70B as TP8 CP2 PP4 with samples of 8,192 tokens
 * and 32 micro-batches per step. Experts: DeepSeek-V3 as PP8 EP64 with samples of 4,096 tokens.
 */
const ASSUMED: readonly AssumedGroup[] = [
  { kind: 'tensor', over: 'tensor', pattern: 'ring', gigabytes: 344 },
  { kind: 'context', over: 'context', pattern: 'ring', gigabytes: 8 },
  { kind: 'expertTensor', over: 'expertTensor', pattern: 'ring', gigabytes: 436 },
  { kind: 'expert', over: 'expert', pattern: 'allToAll', gigabytes: 436 },
  { kind: 'weightShard', over: 'weightShard', pattern: 'ring', gigabytes: 13 },
  { kind: 'data', over: 'data', pattern: 'ring', gigabytes: 13 },
  { kind: 'expertData', over: 'expertData', pattern: 'ring', gigabytes: 8 },
  { kind: 'pipeline', over: 'pipeline', pattern: 'chain', gigabytes: 0.5 },
];

const GIGA = 1e9;

const MADE = new WeakMap<() => LayoutTraffic, LayoutTraffic>();

/** The traffic between the gang's ranks, computed once. The caller has checked that there are enough GPUs. */
export function trafficOf({ layout, traffic }: Pick<GangRequest, 'layout' | 'traffic'>): LayoutTraffic {
  if (typeof traffic !== 'function') return traffic ?? assumedTraffic(layout);
  const made = MADE.get(traffic) ?? traffic();
  MADE.set(traffic, made);
  return made;
}

/** Traffic of a layout whose model nobody named: its own groups, and the bytes of a usual model. */
export function assumedTraffic(layout: ParallelLayout): LayoutTraffic {
  const groupsOver = trafficGroups(layout);
  const byKind = ASSUMED.flatMap(({ kind, over, pattern, gigabytes }): readonly GroupTraffic[] => {
    const groups = groupsOver[over];
    const [first] = groups;
    if (first === undefined) return [];
    const bytesPerPair = gigabytes * GIGA * shareOfPair(pattern, first.length);
    return [{ kind, pattern, bytesPerPair, groups }];
  });
  return { byKind, source: 'assumed' };
}

/** Of a collective over n ranks a rank keeps 1/n; the rest goes to its neighbour in a ring, or evenly to all others. */
function shareOfPair(pattern: TrafficPattern, members: number): number {
  switch (pattern) {
    case 'ring':
      return (members - 1) / members;
    case 'allToAll':
      return 1 / members;
    case 'chain':
      return 1;
  }
}
