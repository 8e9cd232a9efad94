/** What operator and checkpoint worker exchange: arguments of a container, and its termination message. */
import { z } from 'zod';
import {
  CheckpointContents,
  CheckpointFileList,
  CheckpointVerification,
  VERIFICATION_LEVELS,
} from './checkpoint-contents.ts';

/** Subcommand of the launcher that verifies a checkpoint for the operator. */
export const INSPECT_CHECKPOINT = 'inspect-checkpoint';

/** The argument of a worker, as JSON. */
export const WorkerQuestion = z.object({
  directory: z.string().max(2048),
  /** Absent: an adopted checkpoint, of which every file below the directory belongs to it. */
  manifestSha256: z.string().max(64).optional(),
  level: z.enum(VERIFICATION_LEVELS),
});
export type WorkerQuestion = z.infer<typeof WorkerQuestion>;

/** The termination message of a worker. The image of the container is a user's: the operator trusts no word of it beyond its own job. */
export const WorkerAnswer = z.object({
  version: z.literal(1),
  /** Absent: no reader knows the format, or the bytes could not be read. */
  verification: CheckpointVerification.optional(),
  contents: CheckpointContents.optional(),
  /** Of an adopted checkpoint. */
  files: CheckpointFileList.optional(),
  /** Why nothing was verified. */
  unread: z.string().max(512).optional(),
});
export type WorkerAnswer = z.infer<typeof WorkerAnswer>;
