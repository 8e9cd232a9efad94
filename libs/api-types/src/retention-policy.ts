import { z } from 'zod';

/** Which saves of a job stay. Without a policy every save stays. */
export const RetentionPolicy = z
  .strictObject({
    keepNewestVerified: z
      .int()
      .min(1)
      .max(1_000_000)
      .describe('Number of the newest verified saves that stay. A save that is newer than one of them stays too.'),
    keepEverySteps: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe('In each interval of so many steps, the first good save stays. Absent: none stays for that.'),
    keepBestByLoss: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe('Number of the verified saves with the lowest loss that stay. Absent: none stays for that.'),
  })
  .meta({ id: 'RetentionPolicy' });
export type RetentionPolicy = z.infer<typeof RetentionPolicy>;

/** What becomes of the saves of a job whose TrainingJob object is deleted. */
const WHEN_JOB_IS_DELETED = ['Keep', 'Delete'] as const;

/** Retention as a job or a runtime states it. */
export const CheckpointRetention = z
  .strictObject({
    keepNewestVerified: RetentionPolicy.shape.keepNewestVerified,
    keepEverySteps: RetentionPolicy.shape.keepEverySteps,
    keepBestByLoss: RetentionPolicy.shape.keepBestByLoss,
    whenJobIsDeleted: z
      .enum(WHEN_JOB_IS_DELETED)
      .optional()
      .describe(
        'Keep: the saves stay when the job is deleted. Delete: they are deleted with their Checkpoints, unless they are pinned, in use, or a job of that name exists again. Absent: Keep.',
      ),
  })
  .meta({ id: 'CheckpointRetention' });
export type CheckpointRetention = z.infer<typeof CheckpointRetention>;
