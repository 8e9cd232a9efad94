import { z } from 'zod';

/** 0: no limit. */
export const limit = (most: number): z.ZodDefault<z.ZodCoercedNumber> =>
  z.coerce.number().int().min(0).max(1_000_000).default(most);

/** Variables about one process: what all requests to it may use together, and how it shows that it lives. */
export const ReplicaEnvironment = z.object({
  COXSWAIN_LIVENESS_PORT: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Where a thread of its own answers `GET /healthz`, however busy the process is; absent: nowhere.'),
  COXSWAIN_LIVENESS_STALL_MS: z.coerce
    .number()
    .int()
    .min(5_000)
    .max(3_600_000)
    .default(60_000)
    .describe('Longest time without a turn of the event loop in which that answer is 200.'),
  COXSWAIN_PROJECT_CPU_MS_PER_SECOND: limit(400).describe(
    'Processor time of the event loop of one replica that requests of one project may use, for ever; ten seconds of it at once. 0: no limit.',
  ),
  COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND: limit(300).describe('The same of one principal.'),
  COXSWAIN_STRANGERS_CPU_MS_PER_SECOND: limit(100).describe('The same of all requests without a token together.'),
  COXSWAIN_REPLICA_MAX_LOG_STREAMS: limit(256).describe(
    'Logs that are read in one replica; above it, the project with the most loses its oldest one. 0: no limit.',
  ),
  COXSWAIN_REPLICA_MAX_EVENT_STREAMS: limit(3_000).describe(
    'Event streams that are open in one replica; above it, the project with the most loses its oldest one. 0: no limit.',
  ),
  COXSWAIN_REPLICA_STREAMS_UNREAD_MIB: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_536)
    .default(64)
    .describe('What all readers of streams of one replica may leave unread, a quarter of it those of one project.'),
  COXSWAIN_REPLICA_BODIES_MIB: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_536)
    .default(32)
    .describe(
      'Bodies of requests that arrive or are worked on in one replica, a quarter of it those of one project. Those of strangers have 8 MiB beside it.',
    ),
});

/** What follows from these variables. */
export interface ReplicaConfig {
  /** Where liveness probes are answered by a thread of their own. Undefined port: nowhere. */
  readonly liveness: { readonly port: number | undefined; readonly maxStallMs: number };
  /** Of one process, all projects together. */
  readonly replicaLimits: {
    readonly logStreams: number;
    readonly eventStreams: number;
    readonly unreadStreamsMib: number;
    readonly bodiesMib: number;
  };
  /** Processor time of the event loop, ms a second; 0: no limit. Counted by each process for itself. */
  readonly cpuShares: {
    readonly projectMsPerSecond: number;
    readonly principalMsPerSecond: number;
    readonly strangersMsPerSecond: number;
  };
}

export function replicaConfigOf(values: z.infer<typeof ReplicaEnvironment>): ReplicaConfig {
  return {
    liveness: { port: values.COXSWAIN_LIVENESS_PORT, maxStallMs: values.COXSWAIN_LIVENESS_STALL_MS },
    replicaLimits: {
      logStreams: values.COXSWAIN_REPLICA_MAX_LOG_STREAMS,
      eventStreams: values.COXSWAIN_REPLICA_MAX_EVENT_STREAMS,
      unreadStreamsMib: values.COXSWAIN_REPLICA_STREAMS_UNREAD_MIB,
      bodiesMib: values.COXSWAIN_REPLICA_BODIES_MIB,
    },
    cpuShares: {
      projectMsPerSecond: values.COXSWAIN_PROJECT_CPU_MS_PER_SECOND,
      principalMsPerSecond: values.COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND,
      strangersMsPerSecond: values.COXSWAIN_STRANGERS_CPU_MS_PER_SECOND,
    },
  };
}
