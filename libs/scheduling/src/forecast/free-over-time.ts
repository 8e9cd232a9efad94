import { type CapacityChange, CapacityProfile } from './capacity-profile.ts';
import type { ForecastTime } from './forecast-input.ts';
import { freeOn, type Occupancy, type SharedNode } from './occupancy.ts';

/** Which end of an interval a pass of the forecast uses. */
export type Pass = 'earliest' | 'expected' | 'latest';

/** The time of that pass; Infinity if it has no bound. */
export function timeOf(time: ForecastTime, pass: Pass): number {
  if (pass === 'earliest') return time.earliestMs;
  return pass === 'expected' ? time.atMs : (time.latestMs ?? Infinity);
}

/** Free capacity over time, by type of GPU. */
export function freeOverTime(
  occupancies: ReadonlyMap<string, Occupancy>,
  nowMs: number,
  pass: Pass,
): ReadonlyMap<string, CapacityProfile> {
  return new Map(
    [...occupancies].map(([type, occupancy]) => {
      const changes: CapacityChange[] = occupancy.heldAlone.map(({ end, nodes, gpus }) => ({
        atMs: timeOf(end, pass),
        restsOn: end.restsOn,
        nodes,
        gpus,
      }));
      for (const shared of occupancy.shared) changes.push(...changesOf(shared, occupancy.gpusPerNode, pass));
      const known = changes.filter(({ atMs }) => atMs !== Infinity);
      return [type, new CapacityProfile(nowMs, occupancy, known)];
    }),
  );
}

/** A node becomes empty when its last holder ends; before that, each end frees GPUs of a node that is still partly taken. */
function changesOf({ node, holders }: SharedNode, gpusPerNode: number, pass: Pass): readonly CapacityChange[] {
  const ends = holders
    .map(({ gang: { end }, gpus }) => ({ gpus, atMs: timeOf(end, pass), restsOn: end.restsOn }))
    .sort((left, right) => left.atMs - right.atMs);
  let free = freeOn(node, holders);
  return ends.map(({ gpus, ...end }, index) => {
    const isEmpty = index === ends.length - 1 && node.gpus === gpusPerNode;
    const change = isEmpty ? { nodes: 1, gpus: -free } : { nodes: 0, gpus };
    free += gpus;
    return { ...end, ...change };
  });
}
