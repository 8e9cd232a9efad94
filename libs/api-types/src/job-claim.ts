/** What a waiting job asks of running jobs of lower priority, so that it can start: its nodes, and who makes room. */
import { z } from 'zod';
import { counter, timestamp } from './status-fields.ts';

/** Ways in which a running job makes room, the cheapest for it first. */
export const WAYS_OUT = ['Shrink', 'Move', 'Wait'] as const;
/** How a running job makes room. */
export type WayOut = (typeof WAYS_OUT)[number];

const wayOut = z
  .enum(WAYS_OUT)
  .describe(
    'Shrink: it goes on with fewer GPUs. Move: it goes on with other nodes at once. Wait: it waits for free GPUs.',
  );
const uid = z.string().max(128);
const gpuSeconds = z.number().min(0);

/** A status names no job of another namespace, because its readers may not see that one. */
const OTHER_NAMESPACE = 'Absent: it is in another namespace.';

/** Most running jobs that make room for one job. */
export const MAX_CLAIM_VICTIMS = 64;

/** A running job that makes room. */
export const ClaimVictim = z
  .object({
    name: z.string().max(253).optional().describe(`Its name. ${OTHER_NAMESPACE}`),
    uid: uid.describe('Its UID.'),
    epoch: counter.describe('Its attempt that makes room. A later attempt of the job is not asked.'),
    wayOut,
    priceGpuSeconds: gpuSeconds.describe('Expected loss of GPU time: the save, the restart, and steps without a save.'),
    lostSeconds: z.number().min(0).optional().describe('Expected training time without a save. Absent: unknown.'),
    toGpus: counter.optional().describe('For Shrink: the GPUs on which it is expected to go on.'),
    deadlineSeconds: counter.describe('From the stop of its ranks until they are killed.'),
    savesWhenAsked: z.boolean().describe('Whether its engine saves on request and trains on.'),
    waitsForSave: z
      .object({
        seconds: counter.describe('Expected time until that save.'),
        afterStep: counter.describe('Step of its newest save when it was chosen.'),
      })
      .optional()
      .describe('It stops after the next save of its own. Absent: it waits for none.'),
  })
  .meta({ id: 'ClaimVictim' });
export type ClaimVictim = z.infer<typeof ClaimVictim>;

/** Why a claim ended without a start of its job. */
export const CLAIM_ENDS = {
  Expired: 'The nodes were not free in time.',
  Suspended: 'The job was suspended.',
  Cancelled: 'The job was cancelled, deleted or has finished.',
  Changed: 'The spec, the priority or the layout of the job changed.',
  TurnedOff: 'The administrator turned this off, or the PriorityClass of the job no longer preempts.',
  NodeUnwell: 'A node of the claim is gone, not ready, cordoned, or avoided by the job.',
  PlacementLost: 'Its Placement does not exist, and could not be made again.',
  PlacementRefused: 'The cluster refuses its Placement.',
} as const satisfies Record<string, string>;
/** Reason for the end of a claim. */
export type ClaimEnd = keyof typeof CLAIM_ENDS;

/**
 * A claim on nodes of running jobs. `state` only moves forward: Recorded (no job was asked) → Asking (written when the Placement exists; from
 * then on victims save and stop) → Ended. The write that begins the attempt removes the claim.
 */
export const JobClaim = z
  .object({
    epoch: counter.min(1).describe('Number of the attempt that the nodes are for. It identifies the claim.'),
    generation: counter.describe('metadata.generation of the job when the claim was made.'),
    state: z
      .enum(['Recorded', 'Asking', 'Ended'])
      .describe('Recorded: written down, and no job was asked. Asking: jobs make room. Ended: over without a start.'),
    placement: z.string().max(253).describe('Name of the Placement object with the nodes.'),
    placementSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe('SHA-256 of the canonical spec of that Placement, recorded before it is created.'),
    victims: z.array(ClaimVictim).min(1).max(MAX_CLAIM_VICTIMS).describe('Running jobs that make room.'),
    gainGpuSeconds: gpuSeconds
      .optional()
      .describe('Waiting time that the claim saves, times the GPUs of the job. Absent: unknown.'),
    recordedAt: timestamp.describe('When the claim was recorded.'),
    expiresAfterSeconds: counter
      .min(1)
      .describe('The claim ends that long after recordedAt if the job has not started.'),
    askedAt: timestamp.optional().describe('Since when victims are asked. Absent: they are not.'),
    end: z
      .object({
        at: timestamp.describe('When it ended.'),
        reason: z.enum(Object.keys(CLAIM_ENDS) as [ClaimEnd, ...ClaimEnd[]]).describe('Why it ended.'),
        message: z.string().max(512).describe('Why, in a sentence.'),
      })
      .optional()
      .describe('How the claim ended without a start. Absent: it stands.'),
  })
  .meta({ id: 'JobClaim' });
export type JobClaim = z.infer<typeof JobClaim>;

/** The claim for which an attempt made room. */
export const ForClaim = z
  .object({
    name: z.string().max(253).optional().describe(`Name of the job that gets the nodes. ${OTHER_NAMESPACE}`),
    uid: uid.describe('UID of the job that gets the nodes.'),
    epoch: counter.describe('Number of the claim: the attempt of that job that the nodes are for.'),
    priority: z.int().min(-2_147_483_648).max(2_147_483_647).describe('Priority of that job at the time.'),
    wayOut,
    deadline: timestamp.describe('The ranks are killed if they have not saved and stopped by then.'),
    returnUntil: timestamp
      .optional()
      .describe(
        'Until then no other job of its priority or a lower one gets these nodes. Absent: the job that got them has not ended.',
      ),
  })
  .meta({ id: 'ForClaim' });
export type ForClaim = z.infer<typeof ForClaim>;
