/** Checkpoints of a whole project: which there are, which are good, what was asked for. */
import { z } from 'zod';
import { CheckpointVerification, TensorGroup, VERIFICATION_LEVELS } from './checkpoint-contents.ts';
import { CheckpointRecord } from './rest.ts';
import { counter, timestamp } from './status-fields.ts';

/** Longest reason of a pin, in characters. */
export const MAX_PIN_CHARACTERS = 256;

/** A page of checkpoints. */
export const CheckpointPage = z
  .object({
    items: z.array(CheckpointRecord),
    nextPageToken: z
      .string()
      .optional()
      .describe('Absent on the last page. A page ends at 1 MiB too, so it can have fewer items than were asked for.'),
  })
  .meta({ id: 'CheckpointPage' });
export type CheckpointPage = z.infer<typeof CheckpointPage>;

/** Whether the job of a checkpoint loads it at the layout that it has now. */
export const CheckpointLoads = z
  .object({
    verdict: z
      .enum(['loads as is', 'engine reshards', 'needs conversion', 'cannot'])
      .describe('engine reshards: the engine divides the state anew while it loads.'),
    message: z.string().describe('Why, in a sentence.'),
    warnings: z.array(z.string()).describe('What is lost on the way, each as a sentence.'),
    isRefused: z.boolean().describe('Whether the job would not resume from it at this layout.'),
  })
  .meta({ id: 'CheckpointLoads' });
export type CheckpointLoads = z.infer<typeof CheckpointLoads>;

/** An attempt that began from a checkpoint. */
const CheckpointUse = z
  .object({
    jobId: z.uuid(),
    jobName: z.string(),
    epoch: counter.describe('Number of the attempt.'),
    startedAt: timestamp,
  })
  .meta({ id: 'CheckpointUse' });

/** Most uses of a checkpoint that are listed. */
export const MAX_LISTED_USES = 20;

/** Which attempts, of any job that the caller sees, began from a checkpoint. */
export const CheckpointUses = z
  .object({
    total: counter.describe('Of all such attempts.'),
    attempts: z.array(CheckpointUse).max(MAX_LISTED_USES).describe('Newest first.'),
  })
  .meta({ id: 'CheckpointUses' });
export type CheckpointUses = z.infer<typeof CheckpointUses>;

/** One checkpoint with what was found out about it over time. */
export const CheckpointDetail = z
  .object({
    ...CheckpointRecord.shape,
    verifications: z
      .array(CheckpointVerification)
      .describe('Each verification that the API has seen, newest first, at most 50.'),
    tensorGroups: z
      .array(TensorGroup)
      .nullable()
      .default(null)
      .describe('All of its tensors in groups, by name. Null: not recorded.'),
    loads: CheckpointLoads.nullable()
      .default(null)
      .describe('Null: its job is not known, or the planner has still to choose the layout.'),
    usedBy: CheckpointUses.nullable().default(null).describe('Null: a release before did not record it.'),
  })
  .meta({ id: 'CheckpointDetail' });
export type CheckpointDetail = z.infer<typeof CheckpointDetail>;

/** Body of the request that a checkpoint is verified. */
export const CheckpointVerify = z
  .strictObject({
    level: z
      .enum(VERIFICATION_LEVELS)
      .default('V3')
      .describe(
        'V0: the marker and the times of files. V1: the structure. V2: the envelope of each item. V3: all bytes.',
      ),
  })
  .meta({ id: 'CheckpointVerify', examples: [{ level: 'V3' }] });
export type CheckpointVerify = z.infer<typeof CheckpointVerify>;

/** The request that the checkpoint carries now. */
export const CheckpointVerifyRequest = z
  .object({
    level: z.enum(VERIFICATION_LEVELS),
    requestedAt: timestamp
      .nullable()
      .describe(
        'A verification by a worker at this time or later, at least as close, answers it. Null: any one does; the annotation names no time.',
      ),
    checkpoint: CheckpointRecord,
  })
  .meta({ id: 'CheckpointVerifyRequest' });
export type CheckpointVerifyRequest = z.infer<typeof CheckpointVerifyRequest>;

/** Body of the request that pins a checkpoint. */
export const CheckpointPin = z
  .strictObject({
    reason: z
      .string()
      .trim()
      .min(1)
      .max(MAX_PIN_CHARACTERS)
      .describe('Why it is kept, in one line.')
      .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, 'has line breaks or characters that cannot be shown'),
  })
  .meta({ id: 'CheckpointPin', examples: [{ reason: 'baseline of the paper' }] });
export type CheckpointPin = z.infer<typeof CheckpointPin>;
