import type { CapacityProfile } from './capacity-profile.ts';
import type { WaitingGang } from './forecast-input.ts';
import { needOf } from './need.ts';

/**
 * Why a job waits. Gpus: too few GPUs are free. Nodes: enough GPUs are free, but too few nodes are empty. Quota: a ResourceQuota of the namespace.
 * JobsAhead: enough is free by count, and jobs before it get it. Placement: enough is free for the job, which is about to be placed or waits for
 * GPUs that are connected as it needs.
 */
export type ConstraintKind = 'Gpus' | 'Nodes' | 'Quota' | 'JobsAhead' | 'Placement';

/** The constraint that binds, with its numbers. */
export interface Constraint {
  readonly kind: ConstraintKind;
  /** undefined: any type, or several. */
  readonly gpuType: string | undefined;
  /** GPUs; for `Nodes` nodes. */
  readonly needed: number;
  readonly free: number;
}

interface Capacity {
  readonly profiles: ReadonlyMap<string, CapacityProfile>;
  /** What was free before any waiting job got a start. */
  readonly free: ReadonlyMap<string, { readonly nodes: number; readonly gpus: number }>;
}

/** The constraint that binds the job now. */
export function constraintOf(job: WaitingGang, capacity: Capacity, startsNow: boolean): Constraint {
  const gpus = job.parts.reduce((sum, part) => sum + part.gpus, 0);
  if (job.isOverQuota === true) return { kind: 'Quota', gpuType: undefined, needed: gpus, free: 0 };
  const short = shortOf(job, capacity);
  if (short !== undefined) return short;
  const free = [...capacity.free.values()].reduce((sum, ofType) => sum + ofType.gpus, 0);
  return { kind: startsNow ? 'Placement' : 'JobsAhead', gpuType: undefined, needed: gpus, free };
}

/** What is short; undefined: enough is free by count. */
function shortOf({ parts }: WaitingGang, { profiles, free }: Capacity): Constraint | undefined {
  const types = [...profiles.keys()];
  for (const part of parts) {
    const candidates = (part.type === undefined ? types : types.filter((type) => type === part.type)).map((type) => {
      const { nodes, gpus } = free.get(type) ?? { nodes: 0, gpus: 0 };
      const need = needOf(part, profiles.get(type)?.gpusPerNode ?? 1);
      return { type, nodes, gpus, need };
    });
    const most = candidates.reduce((left, { gpus }) => Math.max(left, gpus), 0);
    if (most < part.gpus) return { kind: 'Gpus', gpuType: part.type, needed: part.gpus, free: most };
    const isFitting = candidates.some(({ nodes, gpus, need }) => gpus >= part.gpus && nodes >= need.nodes);
    if (isFitting) continue;
    const nearest = candidates.find(({ gpus }) => gpus >= part.gpus);
    return { kind: 'Nodes', gpuType: part.type, needed: nearest?.need.nodes ?? 0, free: nearest?.nodes ?? 0 };
  }
  return undefined;
}
