import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import { CheckpointBucket, isOneLocation, ONE_LOCATION } from './checkpoint-location.ts';
import { ObjectName, RelativePath } from './field-names.ts';

/** A checkpoint to adopt: a directory that no job saved. */
export const CheckpointAdopt = z
  .strictObject({
    name: ObjectName.refine(
      (name) => !/-e\d+(?:i\d+)?-s\d+$/.test(name),
      'must not end like the name of a checkpoint that a job saved, such as -e1-s40',
    ).describe('Name of the Checkpoint. Jobs name it to resume from it.'),
    namespace: ObjectName.optional().describe('Default: the first namespace of the project.'),
    claimName: ObjectName.optional().describe('PersistentVolumeClaim that holds it. Absent: it is in the bucket.'),
    bucket: CheckpointBucket.optional().describe('Bucket and prefix that hold it. Absent: it is in the claim.'),
    path: RelativePath.min(1).describe(
      'Directory of one checkpoint inside the claim, or below the prefix, such as run-7/iter_0001000.',
    ),
    layout: ParallelLayout.optional().describe('Layout it was saved at. Absent: what its files say.'),
  })
  .refine(isOneLocation, { path: ['claimName'], message: ONE_LOCATION })
  .meta({
    id: 'CheckpointAdopt',
    examples: [{ name: 'llama-run-7', claimName: 'old-runs', path: 'llama/iter_0001000' }],
  });
export type CheckpointAdopt = z.infer<typeof CheckpointAdopt>;
/** {@link CheckpointAdopt} as callers write it, without defaults. */
export type CheckpointAdoptInput = z.input<typeof CheckpointAdopt>;
