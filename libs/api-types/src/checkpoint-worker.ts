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
  /** Absent: an adopted checkpoint. Every file below its directory belongs to it. */
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

/** Subcommand of the launcher that deletes a save for the operator. */
export const DELETE_CHECKPOINT = 'delete-checkpoint';
/** Most other saves that a worker checks before it deletes one. */
export const MAX_SURVIVORS = 9;

/** A save inside the claim. */
const SaveInClaim = z.object({ path: z.string().max(1024), manifestSha256: z.string().max(64) });

/** The argument of a worker that deletes, as JSON. */
export const DeletionQuestion = z.object({
  save: SaveInClaim,
  /** false: only look whether its files are gone. Then only the read-only mount of the claim exists. */
  isMounted: z.boolean(),
  /** The saves are in the bucket that the environment names, and no claim is mounted. Absent: they are in the claim. */
  isInBucket: z.boolean().optional(),
  /** Saves that must be whole, or nothing is deleted. */
  survivors: z.array(SaveInClaim).max(MAX_SURVIVORS),
  /** Only a deletion that has begun is completed: what the decision stands on was read before another worker was to do it. */
  onlyIfBegun: z.boolean().optional(),
  /** The folder of a conversion, which holds nothing else: all of it goes, also if it is half written and has no manifest. */
  isConversion: z.boolean().optional(),
});
export type DeletionQuestion = z.infer<typeof DeletionQuestion>;

/** The termination message of a worker that deletes. */
export const DeletionAnswer = z.object({
  version: z.literal(1),
  outcome: z
    .enum(['Deleted', 'Kept', 'Unfinished'])
    .describe(
      'Deleted: no file is left. Kept: nothing was deleted. Unfinished: some files were, and the next worker goes on.',
    ),
  files: z.int().min(0).optional(),
  /** Indices of survivors that are not there. */
  absent: z.array(z.int().min(0).max(MAX_SURVIVORS)).max(MAX_SURVIVORS).optional(),
  /** Why it was not deleted, in a sentence without its full stop. */
  why: z.string().max(512).optional(),
});
export type DeletionAnswer = z.infer<typeof DeletionAnswer>;

/** Subcommand of the launcher that converts a save for the operator. Its order is in `POD_ENV.conversion`. */
export const CONVERT_CHECKPOINT = 'convert-checkpoint';

/** What a worker that converts is to do, as JSON. */
export const ConversionOrder = z
  .object({
    kind: z
      .enum(['Reshard', 'DeepSpeedUniversal'])
      .describe(
        'Reshard: a save of PyTorch DCP is divided for another number of ranks. DeepSpeedUniversal: the converter of DeepSpeed writes the universal format.',
      ),
    /** Directory of the save. It is only read. */
    source: z.string().min(1).max(2048),
    /** Directory of the new save. Nothing outside of it is written. */
    target: z.string().min(1).max(2048),
    /** Source and target are folders below the prefix of the bucket that the environment names. Absent: directories of the pod. */
    isInBucket: z.boolean().optional(),
    /** Of the manifest of the source. Only for a bucket: what is downloaded is compared with it. */
    manifestSha256: z.string().max(64).optional(),
    /** Ranks that are to load it. Only for Reshard, which needs it. */
    ranks: z.int().min(1).max(100_000).optional(),
    /** How tensors are divided over ranks; default: rows, as FSDP divides them. */
    divide: z.enum(['rows', 'columns']).optional(),
    /** Only the share of this worker. The worker that finishes last publishes the save. */
    worker: z.object({ index: z.int().min(0), of: z.int().min(1).max(10_000) }).optional(),
  })
  .refine(({ kind, ranks }) => kind !== 'Reshard' || ranks !== undefined, 'Reshard needs ranks')
  .refine(({ worker }) => worker === undefined || worker.index < worker.of, 'worker.index is below worker.of')
  .refine(({ kind, worker }) => kind === 'Reshard' || worker === undefined, 'only Reshard has several workers')
  .refine(({ isInBucket, kind }) => isInBucket !== true || kind !== 'Reshard', 'Reshard has no folders of a bucket')
  .refine(
    ({ isInBucket, manifestSha256 }) => isInBucket !== true || manifestSha256 !== undefined,
    'a save in a bucket needs the SHA-256 of its manifest',
  );
export type ConversionOrder = z.infer<typeof ConversionOrder>;

/** The termination message of a worker that converts. */
export const ConversionAnswer = z.object({
  state: z
    .enum(['Converted', 'Failed'])
    .describe(
      'Converted: the new save is complete, or the share of this worker is. Failed: no new save was published.',
    ),
  /** Why it failed, in whole sentences. */
  message: z.string().max(512).optional(),
  /** It failed because of the target, which is full or holds something else. Then nothing is said of the source. */
  isTargetUnusable: z.boolean().optional(),
  /** Of the new save; absent: it is not complete, or the save that it was made from has no manifest. */
  manifestSha256: z.string().max(64).optional(),
  readBytes: z.int().min(0),
  writtenBytes: z.int().min(0),
  seconds: z.number().min(0),
});
export type ConversionAnswer = z.infer<typeof ConversionAnswer>;
