import { z } from 'zod';

/** Where the operator is asked for kept logs, on the port of its launchers. */
export const KEPT_LOGS_PATH = '/v1/kept-logs';
/** The subcommand of the launcher that reads kept logs. */
export const READ_LOGS = 'read-logs';

/** What a pod that reads kept logs is asked. Everything in it is made by the operator, of the job itself; no path is a user's. */
export const KeptLogsQuestion = z.strictObject({
  /** Folder of the job's logs, in the claim or bucket. */
  folder: z.string().min(1).max(2048),
  attempt: z.int().min(0),
  /** Absent: every rank. */
  rank: z.int().min(0).optional(),
  /** Lines written since then, in milliseconds since 1970. */
  sinceMs: z.number().optional(),
  /** Lines that contain this text. */
  grep: z.string().min(1).max(256).optional(),
  /** The last lines of each rank. */
  tailLines: z.int().min(0).max(100_000).optional(),
  /** Most bytes that are read of the log. */
  maxBytes: z.int().min(1),
});
export type KeptLogsQuestion = z.infer<typeof KeptLogsQuestion>;

/** The pod that answers. Its log has a `KeptLogsAnswer`, then the lines. */
export const KeptLogsPod = z.object({
  namespace: z.string().max(253),
  name: z.string().max(253),
  /** Owner of the pod. */
  jobUid: z.string().max(64),
});
export type KeptLogsPod = z.infer<typeof KeptLogsPod>;

/** First line that such a pod writes; lines of the log follow. */
export const KeptLogsAnswer = z.object({
  keptLogs: z.literal(1),
  /** Files that have the log; 0: none is kept. */
  segments: z.int().min(0),
  /** Attempts of which something is kept, if nothing is of the one that was asked for. */
  attempts: z.array(z.int().min(0)).max(100_000),
});
export type KeptLogsAnswer = z.infer<typeof KeptLogsAnswer>;
