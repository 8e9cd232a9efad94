import {
  type CheckpointFault,
  NotFinite,
  ProcessGroup,
  RankWatermark,
  ThreadStack,
  TrainedFacts,
} from '@coxswain/api-types';
import { z } from 'zod';

/**
 * Facts that an engine's hook reports to its launcher, one JSON object per line on the Unix socket that COXSWAIN_REPORT_SOCKET names.
 * The engine is not trusted: a line that does not fit is counted and ignored, numbers are bounded, lines have a longest length.
 */
export const MAX_FACT_BYTES = 65_536;

const step = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const number = z.number().min(-1e30).max(1e30).nullable().default(null);
const { phase, phaseAgeMs, groups } = RankWatermark.shape;
const durationMs = z.number().min(0).max(1e12);
const age = durationMs.nullable().optional();

/** One line that a hook writes to the launcher: a step, a save, a heartbeat, an answer to a request or a fault. */
export const EngineFact = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('step'),
    step,
    loss: number,
    tokens: step.nullable().default(null),
    stepTimeMs: durationMs,
    timingsMs: z
      .record(z.string().max(32), durationMs)
      .default({})
      .refine((timings) => Object.keys(timings).length <= 32),
    learningRate: number,
    gradNorm: number,
    notFinite: NotFinite.optional().catch(undefined),
  }),
  /** `late`: the rank has made a step since it loaded the checkpoint, so this says nothing about when it did. */
  z.object({ kind: z.literal('resumed'), step, late: z.boolean().optional() }),
  z.object({
    kind: z.literal('checkpointSaved'),
    step,
    directory: z
      .string()
      .min(1)
      .max(255)
      .regex(/^[A-Za-z0-9._-]+$/)
      .refine((name) => name !== '.' && name !== '..'),
    bytes: step,
    files: step,
    manifestSha256: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  /** Why the rank is about to exit with the code for a checkpoint that differs, or that it cannot read. */
  z.object({
    kind: z.literal('checkpointFault'),
    fault: z.enum(['ContentDiffers', 'FileUnreadable']),
    path: z.string().max(256),
    errno: z.string().max(32).optional(),
    expected: z.string().max(128).optional(),
    found: z.string().max(128).optional(),
  }),
  /** The process lives; `faults`: how often the hook beside the engine had to give something up. */
  z.object({
    kind: z.literal('heartbeat'),
    step: step.nullable().default(null),
    faults: step.default(0),
    /** Dropped if it does not parse: a newer hook may send another form, and the rank is alive all the same. */
    watermark: z.object({ phase, phaseAgeMs, groups }).optional().catch(undefined),
    /** All groups of the rank; sent when they have changed. */
    processGroups: z.array(ProcessGroup).max(32).optional().catch(undefined),
  }),
  TrainedFacts.extend({ kind: z.literal('trained') }),
  /** How far this rank has come since it started, as ages in milliseconds. Absent: not yet, or not known yet. null: it was passed, and not seen. */
  z.object({ kind: z.literal('marks'), imported: age, met: age, loaded: age }),
  /** The current stack traces of the process, on request. */
  z.object({ kind: z.literal('stacks'), request: step, threads: z.array(ThreadStack).max(64) }),
  /** The hook's queue was full: so many facts are missing. */
  z.object({ kind: z.literal('reportsDropped'), count: step }),
]);
export type EngineFact = z.infer<typeof EngineFact>;
/** How far a rank has come, as ages in milliseconds. */
export type MarksFact = Extract<EngineFact, { kind: 'marks' }>;
/** The answer to a request for stack traces. */
export type StacksFact = Extract<EngineFact, { kind: 'stacks' }>;
/** Facts that are reported without a request. */
export type ReportedFact = Exclude<EngineFact, StacksFact>;
/** A finished step of one rank. Durations are in milliseconds. */
export type StepFact = Extract<EngineFact, { kind: 'step' }>;
/** A sign that the process lives, with its last step, its phase and the state of its process groups. */
export type HeartbeatFact = Extract<EngineFact, { kind: 'heartbeat' }>;
/** A checkpoint that the engine has completed on disk. */
export type SavedFact = Extract<EngineFact, { kind: 'checkpointSaved' }> & {
  /** When the save was known not to be complete. Absent: it was complete when it was first seen. */
  readonly unmarked?: UnmarkedPeriod;
};

/** By the clock of this machine, in milliseconds since the Unix epoch. */
export interface UnmarkedPeriod {
  readonly firstMs: number;
  /** When it was last known not to be complete: a scan began that did not find its end marker, or the engine reported that it is complete now. */
  readonly lastMs: number;
}

/** A file of a checkpoint that the engine could not read, or whose content differs from the manifest. */
export type CheckpointFaultFact = Extract<EngineFact, { kind: 'checkpointFault' }>;

/** The fact in a line, or undefined for garbage. The rank is known from the connection, whatever the line claims. */
export function parseFact(line: string): EngineFact | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  const parsed = EngineFact.safeParse(json);
  return parsed.success ? parsed.data : undefined;
}

/** The fault of a checkpoint as the operator reads it. */
export function toFault({ fault, path, errno, expected, found }: CheckpointFaultFact): CheckpointFault {
  return {
    kind: fault,
    path,
    ...(errno === undefined ? {} : { errno }),
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
  };
}
