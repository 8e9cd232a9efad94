import { z } from 'zod';
import { cel } from './cel.ts';
import { CheckpointBucket, isOneLocation, ONE_LOCATION } from './checkpoint-location.ts';
import { ObjectName, RelativePath } from './field-names.ts';
import { MemorySaves } from './memory-saves.ts';
import { CheckpointRetention } from './retention-policy.ts';

const NO_RETENTION_IN_BUCKETS =
  'a policy deletes checkpoints in a claim only; leave it out, and use a lifecycle rule of the bucket or "coxswain checkpoint prune"';

/** Where and how often a job saves. */
export const CheckpointSpec = z
  .strictObject({
    claimName: ObjectName.optional().describe(
      'PersistentVolumeClaim that every node can mount. Exactly one of claimName and bucket is given.',
    ),
    bucket: CheckpointBucket.optional().describe(
      'Bucket of an S3-compatible store instead of a claim. The engine saves to a disk of the node, and the launcher uploads each save.',
    ),
    path: RelativePath.default('').describe(
      'Directory inside the claim, or below the prefix of the bucket; each attempt saves into its own directory below it.',
    ),
    everySteps: z.int().min(1).max(1_000_000_000).default(100).describe('Steps between two saves.'),
    interval: z
      .enum(['Steps', 'Auto'])
      .optional()
      .describe(
        'Steps (default): save after every everySteps steps. Auto: each attempt after the first saves at the interval that loses the least time, from the measured save times and failure rate of this job; everySteps applies until a save was measured.',
      ),
    memory: MemorySaves.optional().describe(
      'Saves in the memory of the pods, beside the checkpoints. If a rank fails and every pod lives, the ranks restart from the newest one that all of them have. They are lost with their pods, are no Checkpoints, and need an engine that writes them: reference. Absent: none.',
    ),
    retention: CheckpointRetention.optional().describe(
      'Which saves stay. It can change at any time, unlike the other fields. Absent: the value of the runtime; if that is absent too, every save stays.',
    ),
  })
  .meta({
    id: 'CheckpointSpec',
    ...cel(
      { rule: 'has(self.claimName) != has(self.bucket)', message: ONE_LOCATION, fieldPath: '.claimName' },
      { rule: '!has(self.bucket) || !has(self.retention)', message: NO_RETENTION_IN_BUCKETS, fieldPath: '.retention' },
    ),
  })
  .refine(isOneLocation, { path: ['claimName'], message: ONE_LOCATION })
  .refine(({ bucket, retention }) => bucket === undefined || retention === undefined, {
    path: ['retention'],
    message: NO_RETENTION_IN_BUCKETS,
  });
export type CheckpointSpec = z.infer<typeof CheckpointSpec>;
