/** Which operations did the ranks of a verdict do last? */
import { MAX_INCIDENT_OPERATIONS, type RankOperation, type RankWatermark } from '@coxswain/api-types';
import type { HealthVerdict } from '@coxswain/health';

/** Half of the operations for named ranks, the rest for the ranks that have waited longest. */
const MOST_NAMED = MAX_INCIDENT_OPERATIONS / 2;

/** Last operations by the newest watermark of each rank; none for ranks without watermarks. */
export function lastOperations(
  { ranks, group }: Pick<HealthVerdict, 'ranks' | 'group'>,
  marks: ReadonlyMap<number, RankWatermark>,
): readonly RankOperation[] {
  const named = ranks.slice(0, MOST_NAMED).flatMap((rank) => marks.get(rank) ?? []);
  const others = [...marks.values()].filter((mark) => !ranks.includes(mark.rank) && waitIn(mark, group) !== undefined);
  others.sort((left, right) => (waitIn(right, group)?.ageMs ?? 0) - (waitIn(left, group)?.ageMs ?? 0));
  return [...named, ...others.slice(0, MAX_INCIDENT_OPERATIONS - named.length)].map((mark) => operationOf(mark, group));
}

function operationOf(mark: RankWatermark, group: string | undefined): RankOperation {
  const { rank, phase, step, phaseAgeMs } = mark;
  const wait = waitIn(mark, group);
  return {
    rank,
    phase,
    ...(step === null ? {} : { step }),
    ...(wait === undefined ? {} : { operation: wait.operation, group: wait.group, sequence: wait.completed + 1 }),
    forMs: wait?.ageMs ?? phaseAgeMs,
  };
}

/** The rank's wait in that group, if there is one; else its longest wait. */
function waitIn({ groups }: RankWatermark, group: string | undefined): RankWatermark['groups'][number] | undefined {
  const waits = groups.filter(({ enqueued, completed }) => enqueued > completed);
  waits.sort((left, right) => Number(right.group === group) - Number(left.group === group) || right.ageMs - left.ageMs);
  return waits[0];
}
