import { MAX_WORLD_SIZE, ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import type { Attempt } from './attempt.ts';
import type { ObjectMeta } from './metadata.ts';
import type { API_GROUP_VERSION } from './names.ts';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { parseRanks, RANK_RANGES } from './rank-ranges.ts';
import { RuntimeSnapshot } from './training-runtime.ts';

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/**
 * The nodes of the ranks of one attempt: intent, recorded in the job's status by its SHA-256 before it is created, never edited.
 *
 * Pod `i` runs on `nodes[i]` and holds the global ranks `ranks[i]`. Ranks of a pod need not be consecutive, and pods may hold different numbers: a
 * pod without ranks is a standby. 16,384 ranks on 2,048 nodes are 75 kB, far below the API server's 1.5 MiB. No field may get a default that the server
 * fills in later: the hash of what is stored would be another one.
 */
export const PlacementSpec = z
  .strictObject({
    jobName: z.string().max(63).describe('Job of the attempt.'),
    jobUid: z.string().max(64).describe('UID of that job.'),
    epoch: z.int().min(1).max(Number.MAX_SAFE_INTEGER).describe('Number of the attempt.'),
    layout: ParallelLayout,
    microBatchSize: z.int().min(1).max(65_536).optional().describe('Absent: the value of the job.'),
    saveEverySteps: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe('Absent: the value of checkpoint.everySteps of the job.'),
    worldSize: z.int().min(1).max(MAX_WORLD_SIZE).describe('Ranks of the gang.'),
    ranksPerPod: z
      .int()
      .min(1)
      .max(MAX_RANKS_PER_POD)
      .optional()
      .describe(
        'Number of consecutive ranks per pod; the last pod may have fewer. For the previous release, which does not read `ranks`. Absent: only `ranks` applies.',
      ),
    ranks: z.array(z.string().max(96).regex(RANK_RANGES)).min(1).max(MAX_WORLD_SIZE).optional().meta({
      'x-kubernetes-list-type': 'atomic',
      description:
        'Global ranks of each pod, by its index, as ranges: 0-7, or 0-3,8-11. Absent: recorded by an earlier release; `ranksPerPod` applies.',
    }),
    kept: z
      .array(
        z.strictObject({
          podIndex: counter.describe('Index of the pod.'),
          name: z.string().max(253).describe('Its name.'),
          uid: z.string().max(64).describe('Its UID.'),
        }),
      )
      .max(MAX_WORLD_SIZE)
      .optional()
      .meta({
        'x-kubernetes-list-type': 'atomic',
        description:
          'Pods that an earlier attempt created and that this one keeps; their names contain the number of that attempt. Reserved; always absent.',
      }),
    nodes: z
      .array(z.string().max(253))
      .min(1)
      .max(MAX_WORLD_SIZE)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Node of each pod, by its index.'),
    nicClasses: z.array(z.string().max(63)).max(MAX_WORLD_SIZE).optional().meta({
      'x-kubernetes-list-type': 'atomic',
      description:
        'NIC class of each node, empty where none is known, as the gang was placed. Absent: its runtime has no variables that depend on it.',
    }),
    network: z
      .enum(['Sockets'])
      .optional()
      .describe(
        'Sockets: the nodes are in several islands, and every rank talks over TCP. Absent: over the NICs of its node.',
      ),
    resume: z
      .strictObject({
        checkpoint: z.string().max(253).describe('Name of the Checkpoint.'),
        step: counter.describe('Step at which training goes on.'),
        path: z.string().max(1024).describe('Directory inside the claim or the bucket.'),
        manifestSha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')
          .describe('SHA-256 of the manifest of the checkpoint.'),
        claimName: z.string().max(63).optional().describe('Claim of an adopted checkpoint. Absent: that of the job.'),
        filesSha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')
          .optional()
          .describe('SHA-256 of the list of its files. Absent: it has a manifest.'),
      })
      .optional()
      .describe('Absent: from scratch.'),
    runtime: RuntimeSnapshot.optional().describe('Runtime of its pods. Absent: the job names no runtime.'),
  })
  .meta({
    id: 'PlacementSpec',
    'x-kubernetes-validations': [
      { rule: 'self == oldSelf', message: 'a placement cannot change within its attempt' },
      {
        rule: 'has(self.ranks) ? size(self.ranks) == size(self.nodes) : has(self.ranksPerPod)',
        message: 'ranks must have one entry per node',
      },
    ],
  });
export type PlacementSpec = z.infer<typeof PlacementSpec>;

/** The Placement resource. */
export interface Placement {
  readonly apiVersion: typeof API_GROUP_VERSION;
  readonly kind: 'Placement';
  readonly metadata: ObjectMeta;
  readonly spec: PlacementSpec;
}

/** Global ranks of pod `podIndex`, ascending. */
export function ranksOfPod(
  placement: Pick<PlacementSpec, 'ranks' | 'ranksPerPod' | 'worldSize'>,
  podIndex: number,
): readonly number[] {
  const { ranks, ranksPerPod = 0, worldSize } = placement;
  if (ranks !== undefined) return parseRanks(ranks[podIndex] ?? '', MAX_RANKS_PER_POD + 1);
  const first = podIndex * ranksPerPod;
  const count = Math.min(ranksPerPod, worldSize - first);
  return Array.from({ length: Math.max(0, count) }, (_, local) => first + local);
}

/** Whether the pod holds ranks. One without is a standby, or lost its ranks to one. */
export function hasRanks({ ranks }: Pick<PlacementSpec, 'ranks'>, podIndex: number): boolean {
  return ranks === undefined || (ranks[podIndex] ?? '') !== '';
}

/** Number of pods that hold ranks. */
export function memberCount(placement: PlacementSpec): number {
  const { ranks, ranksPerPod = 1, nodes, worldSize } = placement;
  if (ranks === undefined) return Math.min(nodes.length, Math.ceil(worldSize / ranksPerPod));
  return ranks.filter((one) => one !== '').length;
}

/** Number of GPUs that the pod requests. A standby requests as many as the largest pod, because it may take the place of any. */
export function gpusOfPod(placement: PlacementSpec, podIndex: number): number {
  if (hasRanks(placement, podIndex)) return ranksOfPod(placement, podIndex).length;
  return (
    placement.ranksPerPod ?? Math.max(...placement.nodes.map((_node, index) => ranksOfPod(placement, index).length))
  );
}

type Seats = Pick<Attempt, 'replacements'>;

/** Results by placement and replacements: every reconciliation asks, and the ranks of a large gang are long. */
const seated = new WeakMap<PlacementSpec, { readonly of: string; readonly placement: PlacementSpec }>();

/** The placement with the ranks in the pods that hold them in the newest incarnation of its attempt. Nodes stay as they are. */
export function seatedPlacement(placement: PlacementSpec, { replacements = [] }: Seats): PlacementSpec {
  if (replacements.length === 0 || placement.ranks === undefined) return placement;
  const of = JSON.stringify(replacements);
  const known = seated.get(placement);
  if (known?.of === of) return known.placement;
  const ranks = [...placement.ranks];
  for (const { podIndex, standby } of replacements) {
    ranks[standby] = ranks[podIndex] ?? '';
    ranks[podIndex] = '';
  }
  const made = { ...placement, ranks };
  seated.set(placement, { of, placement: made });
  return made;
}

/** Index of the pod that held the ranks of that pod at first: the position of the pod in its gang. */
export function seatOf(podIndex: number, { replacements = [] }: Seats): number {
  return replacements.reduceRight(
    (seat, { podIndex: before, standby }) => (standby === seat ? before : seat),
    podIndex,
  );
}

/** What is wrong with the ranks of a placement, in a sentence; undefined where each has exactly one place. Takes one step per rank. */
export function ranksProblem(
  placement: Pick<PlacementSpec, 'ranks' | 'ranksPerPod' | 'worldSize' | 'nodes'>,
): string | undefined {
  const { nodes, ranks, worldSize } = placement;
  if (ranks !== undefined && ranks.length !== nodes.length) {
    return `ranks has ${ranks.length} entries for ${nodes.length} nodes; it takes one per node`;
  }
  const podOf = new Map<number, number>();
  for (let podIndex = 0; podIndex < nodes.length; podIndex += 1) {
    const own = ranksOfPod(placement, podIndex);
    if (own.length > MAX_RANKS_PER_POD) {
      return `ranks[${podIndex}] has more than ${MAX_RANKS_PER_POD} ranks, the most that a pod holds; give some to another pod`;
    }
    for (const rank of own) {
      if (rank >= worldSize)
        return `ranks[${podIndex}] has rank ${rank}; there are ${worldSize}, from 0 to ${worldSize - 1}`;
      const other = podOf.get(rank);
      if (other !== undefined)
        return `rank ${rank} is in ranks[${other}] and in ranks[${podIndex}]; it takes one place`;
      podOf.set(rank, podIndex);
    }
  }
  if (podOf.size === worldSize) return undefined;
  const missing = Array.from({ length: worldSize }, (_, rank) => rank).find((rank) => !podOf.has(rank));
  return `rank ${missing ?? 0} has no place; ranks must give each of the ${worldSize} to a pod`;
}
