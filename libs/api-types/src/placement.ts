import { MAX_WORLD_SIZE, ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import type { ObjectMeta } from './metadata.ts';
import type { API_GROUP_VERSION } from './names.ts';
import { MAX_RANKS_PER_POD } from './pod-size.ts';

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/**
 * Where the ranks of one epoch go: intent, written before any pod exists, never edited.
 *
 * Pod `i` runs on `nodes[i]` and holds the global ranks `[i * ranksPerPod, min((i + 1) * ranksPerPod, worldSize))`. 2,048 node names of
 * 20 characters are 47 kB, far below the API server's 1.5 MiB.
 */
export const PlacementSpec = z
  .strictObject({
    jobName: z.string().max(63),
    jobUid: z.string().max(64),
    epoch: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    layout: ParallelLayout,
    microBatchSize: z.int().min(1).max(65_536).optional().describe('Absent: as the job says.'),
    worldSize: z.int().min(1).max(MAX_WORLD_SIZE),
    ranksPerPod: z.int().min(1).max(MAX_RANKS_PER_POD),
    nodes: z.array(z.string().max(253)).min(1).max(MAX_WORLD_SIZE).meta({ 'x-kubernetes-list-type': 'atomic' }),
    resume: z
      .strictObject({
        checkpoint: z.string().max(253),
        step: counter,
        path: z.string().max(1024),
        manifestSha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits'),
      })
      .optional()
      .describe('Absent: from scratch.'),
  })
  .meta({
    id: 'PlacementSpec',
    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'a placement cannot change within its epoch' }],
  });
export type PlacementSpec = z.infer<typeof PlacementSpec>;

export interface Placement {
  readonly apiVersion: typeof API_GROUP_VERSION;
  readonly kind: 'Placement';
  readonly metadata: ObjectMeta;
  readonly spec: PlacementSpec;
}

/** Global ranks of pod `podIndex`, ascending. */
export function ranksOfPod(placement: PlacementSpec, podIndex: number): readonly number[] {
  const first = podIndex * placement.ranksPerPod;
  const count = Math.min(placement.ranksPerPod, placement.worldSize - first);
  return Array.from({ length: Math.max(0, count) }, (_, local) => first + local);
}
