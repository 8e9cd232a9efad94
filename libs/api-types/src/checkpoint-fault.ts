/** What keeps a checkpoint from being loaded: its content, or the way to it? */
import { z } from 'zod';
import { counter } from './status-fields.ts';

/**
 * Only content condemns a checkpoint, and only if two nodes find it; a file that cannot be read makes the checkpoint suspect.
 *
 * - ContentDiffers: the file was read, or its directory lists no such file, and it is not what was saved. A control file beside it read right before and
 *   after. Two nodes prove it: one may read wrong bytes.
 * - FileUnreadable: this file cannot be read though its mount works, or its content differs and no control file could be written beside it.
 * - MountBroken: nothing around it can be read either, or the file system does not answer at all.
 */
export const CHECKPOINT_FAULT_KINDS = ['ContentDiffers', 'FileUnreadable', 'MountBroken'] as const;

const fields = {
  kind: z
    .enum(CHECKPOINT_FAULT_KINDS)
    .describe(
      'ContentDiffers: other bytes than were saved. FileUnreadable: the file cannot be read though its mount works. MountBroken: nothing around it can be read.',
    ),
  path: z.string().max(256).describe('File or directory, as the container sees it; of a long path the end.'),
  errno: z.string().max(32).optional().describe('What the system answered, e.g. EIO, ESTALE, ENOENT.'),
  expected: z.string().max(128).optional().describe('Size or SHA-256 from the manifest or the Checkpoint.'),
  found: z.string().max(128).optional().describe('What was found instead.'),
};

/** As a launcher or an engine saw it. */
export const CheckpointFault = z.strictObject(fields).meta({ id: 'CheckpointFault' });
export type CheckpointFault = z.infer<typeof CheckpointFault>;

/** As an attempt records it: seen from this node. */
export const CheckpointFaultOnNode = z
  .object({ node: z.string().max(253).describe('Node that found it.'), ...fields })
  .meta({ id: 'CheckpointFaultOnNode' });
export type CheckpointFaultOnNode = z.infer<typeof CheckpointFaultOnNode>;

/** As a Checkpoint keeps it: seen in this attempt. */
export const CheckpointEvidence = z
  .object({
    epoch: counter.describe('Attempt that found it.'),
    node: z.string().max(253).describe('Node that found it.'),
    ...fields,
  })
  .meta({ id: 'CheckpointEvidence' });
export type CheckpointEvidence = z.infer<typeof CheckpointEvidence>;

/** Faults that an attempt records; further nodes of the same gang add nothing. */
export const MAX_FAULTS_OF_ATTEMPT = 8;

/** `/c/rank-0.bin has 7 bytes, not 8`, `/c/rank-0.bin cannot be read (EIO)` */
export function describeFault({ kind, path, errno, expected, found }: CheckpointFault): string {
  const code = errno === undefined ? '' : ` (${errno})`;
  switch (kind) {
    case 'ContentDiffers':
      return `${path} has ${found ?? 'another content'}, not ${expected ?? 'what was saved'}`;
    case 'FileUnreadable':
      if (expected !== undefined)
        return `${path} has ${found ?? 'another content'}, not ${expected}, and no control file beside it confirms that`;
      return `${path} cannot be read${code}, though its mount works`;
    case 'MountBroken':
      if (found !== undefined) return `${path} cannot be read (${found}): its mount does not work`;
      return `${path} cannot be read${code}, and neither can what is around it: its mount does not work`;
  }
}
