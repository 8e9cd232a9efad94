/** Messages between launchers and the operator. More than 400 lines: one protocol is read in one place. */
import { MAX_WORLD_SIZE } from '@coxswain/layout';
import { z } from 'zod';
import { MAX_PASSED_OVER, MAX_REREAD_FILES } from './checkpoint.ts';
import { CheckpointContents, CheckpointVerification } from './checkpoint-contents.ts';
import { CheckpointFault } from './checkpoint-fault.ts';
import { SavedProgress } from './checkpoint-progress.ts';
import { EXIT_CODES, type ExitKind } from './exit-codes.ts';
import { MemorySave } from './memory-saves.ts';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { PreflightReport } from './preflight.ts';
import { RANK_RANGES } from './rank-ranges.ts';
import { PodMarks } from './run-clock.ts';
import { ProcessGroup, RankWatermarks } from './rank-watermarks.ts';
import { PodStacks } from './stacks.ts';
import { TrainedFacts } from './trained-facts.ts';
import { durationMs, rank, RankTimings } from './rank-timings.ts';

/**
 * The protocol between launcher and operator over one WebSocket (path {@link REPORT_PATH}, TLS, `Authorization: Bearer <pod-bound token>`).
 * An operator of the previous release knows only {@link EARLIER_REPORT_PATH}, and no field or message about incarnations or states.
 *
 * Identity (token → pod UID, through TokenReview) is checked once per connection. Every launcher message repeats pod UID, epoch, incarnation
 * and rendezvous address, so that a new leader needs no memory. Frames are JSON, at most {@link MAX_REPORT_BYTES}; a malformed frame is
 * counted and dropped, never answered with a crash.
 */
export const REPORT_PATH = '/v2/report';
/** Where launchers of the release before report, whose ranks came with their pods' environment; and what its operator answers to. */
export const EARLIER_REPORT_PATH = '/v1/report';
/** Of the request: base URL of the leader that the launcher has lost or cannot reach, so that a follower does not send it there again. */
export const UNREACHABLE_LEADER_HEADER = 'coxswain-unreachable-leader';
/** Of the answer: base URL of the very replica that took the connection. */
export const REPLICA_URL_HEADER = 'coxswain-replica-url';
/** NDJSON stream of {@link SeriesFrame}s for the API, on the same port. `?bootId=…&after=N` resumes. */
export const SERIES_PATH = '/v1/series';
/** Where the API asks for the stacks of a job, on the same port: `POST ?jobUid=…`, with `&rank=N` for the pod of one rank. Answers JobStacks, or a problem. */
export const STACKS_PATH = '/v1/stacks';
/** Longest frame, in bytes. */
export const MAX_REPORT_BYTES = 262_144;
/** A pod's termination message is cut at 4096 bytes by the kubelet; the cause must fit. */
export const MAX_TERMINATION_MESSAGE_BYTES = 4096;

const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const incarnation = z
  .int()
  .min(1)
  .max(2 ** 31);
const finite = z.number().min(-1e30).max(1e30);

const SavedCheckpoint = z.strictObject({
  step: counter,
  /** Below the attempt's save directory; an engine may save into a folder there. */
  directory: z
    .string()
    .min(1)
    .max(255)
    .regex(/^(?!.*(^|\/)\.{1,2}(\/|$))[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)?$/),
  format: z.string().max(64),
  bytes: counter,
  files: counter,
  manifestSha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Only for an operator that reads it, and never in a cause, which has to be short. */
  verification: CheckpointVerification.optional(),
  /** The same. */
  contents: CheckpointContents.optional(),
  /** The same. */
  progress: SavedProgress.optional(),
});
/** A checkpoint that a launcher verified after it was saved. */
export type SavedCheckpoint = z.infer<typeof SavedCheckpoint>;

/** What happened in a pod between SIGTERM and the end of its ranks. Times count from SIGTERM on. */
export const StopFacts = z.strictObject({
  /** Time that the ranks had. */
  graceMs: counter,
  /** Until no rank was left. */
  tookMs: counter,
  /** Processes that got SIGTERM, and those of them that had no handler for it. */
  signalled: counter,
  unhandled: counter,
  /** A rank was killed because the time was over. */
  killed: z.boolean(),
  /**
   * A save that a rank reported. Absent: no rank reported one. `endedMs` absent: it had not ended. `stepsAfter`: steps that this rank had made
   * after the saved one; 0: it saved its last step.
   */
  save: z.strictObject({ beganMs: counter, endedMs: counter.optional(), stepsAfter: counter.optional() }).optional(),
});
export type StopFacts = z.infer<typeof StopFacts>;

/** Why a launcher ended: the last message and the termination message hold the same object. */
export const TerminationCause = z.strictObject({
  version: z.literal(1),
  kind: z.enum(Object.keys(EXIT_CODES) as [ExitKind, ...ExitKind[]]),
  epoch: counter,
  /** Absent: by a launcher of a release that knew of no incarnations, or before any rank was started. */
  incarnation: incarnation.optional(),
  node: z.string().max(253),
  rank: rank.optional(),
  exitCode: z.int().min(0).max(255).optional(),
  signal: z.string().max(16).optional(),
  message: z.string().max(1024),
  lastLines: z.array(z.string().max(512)).max(20),
  lastStep: counter.optional(),
  /** With kinds checkpointUnreadable and checkpointIoError, where it is known. */
  checkpointFault: CheckpointFault.optional(),
  /**
   * Name of a suspect checkpoint that verified, so that ranks need not begin from an older one; with kind checkpointIoError. Only for an operator that sent
   * `verifyWanted`: an older one cannot read a cause with it.
   */
  verifiedCheckpoint: z.string().max(253).optional(),
  /** If the launcher was asked to stop while ranks ran. Only for an operator that listens to `stop`: an older one cannot read a cause with it. */
  stop: StopFacts.optional(),
  /** Ranks of the pod that exited with 0 before another failed. Only for an operator that reads `work`. */
  finishedRanks: z.string().max(96).regex(RANK_RANGES).optional(),
  /** With kind finished. Only for an operator that reads it: an older one cannot read a cause with it. */
  work: z
    .strictObject({
      /** The hook or the engine of a rank reported, or the launcher reads step lines of this engine: a step would have been seen. */
      stepsVisible: z.boolean(),
      /** A file lies in the save directory of this incarnation. */
      savedFiles: z.boolean(),
      /** CPU time of all ranks of the pod. */
      cpuMs: counter,
      /** Collectives that a rank of the pod completed, by its last report: the rank with the most. Absent: no rank reported any. */
      collectives: counter.optional(),
    })
    .optional(),
  /** Saved checkpoints whose report was not acknowledged; newest last. */
  unreportedCheckpoints: z.array(SavedCheckpoint).max(4),
});
export type TerminationCause = z.infer<typeof TerminationCause>;

/**
 * The assignment of ranks to one pod, sent over its connection. (epoch, incarnation) is the fence. The operator records it in the job's status before
 * any launcher receives it. It rejects reports, rendezvous and saves of another incarnation.
 */
export const RankAssignment = z.strictObject({
  epoch: counter,
  /** Incarnation: the run of the ranks in the attempt's pods, from 1. */
  incarnation,
  /** Index of the pod in the attempt's Placement. */
  podIndex: counter,
  /** Pods of the gang. */
  podCount: z.int().min(1).max(MAX_WORLD_SIZE),
  /** Global ranks of this pod as ranges, ascending: `0-7`, or `0-3,8-11`. Empty: a spare, which starts nothing. */
  ranks: z.string().max(96).regex(RANK_RANGES),
  worldSize: z.int().min(1).max(MAX_WORLD_SIZE),
  /** Directory of this fence alone, below the mount of the checkpoint claim. Absent: the job keeps no checkpoints. */
  saveDirectory: z.string().max(1024).optional(),
  /** Checkpoint to begin from; `path` below the same mount. Absent: from scratch. */
  resume: z
    .strictObject({
      step: counter,
      path: z.string().max(1024),
      manifestSha256: z.string().regex(/^[0-9a-f]{64}$/),
      /** Where the claim of an adopted checkpoint is mounted. Absent: it is on the claim of the job. */
      mountPath: z.string().max(256).optional(),
      /** SHA-256 of the list of its files. Absent: it has a manifest. */
      filesSha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .optional(),
    })
    .optional(),
  /** Save in the memory of the pods, newer than `resume`. Only for a launcher that reported it. Absent: begin from `resume`. */
  memorySave: MemorySave.optional(),
  /**
   * wait: if a rank fails and a restart in the same pods can help, the launcher ends the other ranks, reports `reaped` and waits for another
   * assignment. Absent: the launcher ends with its ranks.
   */
  onFailure: z.literal('wait').optional(),
});
export type RankAssignment = z.infer<typeof RankAssignment>;

/**
 * What the processes of a pod are doing. waiting: the launcher has started none. running: processes of the incarnation that the message names run.
 * reaped: every process of that incarnation is gone, and the launcher waits for another assignment.
 */
export const LAUNCHER_STATES = ['waiting', 'running', 'reaped'] as const;
/** State of the processes of a pod. */
export type LauncherState = (typeof LAUNCHER_STATES)[number];

const envelope = {
  podUid: z.string().max(64),
  epoch: counter,
  /** Newest that was assigned to this launcher. Absent: none yet, or a launcher whose ranks came with its pod's environment. */
  incarnation: incarnation.optional(),
  /** Absent: a launcher that cannot start its ranks again; when they end, it ends. */
  state: z.enum(LAUNCHER_STATES).optional(),
  /** Counts up from 1 per launcher process; the operator acknowledges each, of steps only some. */
  sequence: counter,
  /** host:port of rank 0's rendezvous once its launcher has chosen it; null elsewhere and before. */
  rendezvous: z.string().max(255).nullable(),
};

/** A value that is not finite, which JSON cannot express. */
const notFinite = z.enum(['NaN', 'Infinity', '-Infinity']);
/** Values of a step that are known and not finite. */
export const NotFinite = z.strictObject({ loss: notFinite.optional(), gradNorm: notFinite.optional() });
export type NotFinite = z.infer<typeof NotFinite>;

/** What a pod knows of a step, as stored in the curve. Null: none of its ranks knows the value, or it is not finite. */
const StepPoint = z.strictObject({
  step: counter,
  loss: finite.nullable(),
  tokens: counter.nullable().describe('Of the whole step, over all ranks of the job.'),
  learningRate: finite.nullable(),
  gradNorm: finite.nullable(),
  ranks: RankTimings,
});

/** What a pod knows of a step, on its way from launcher to operator. */
export const StepReport = StepPoint.extend({
  /** To an operator that listens to it. */
  notFinite: NotFinite.optional(),
});
export type StepReport = z.infer<typeof StepReport>;

/** The preflight board of a gang: host:port in the pod of rank 0, and the key that admits a pod. */
const board = { address: z.string().max(255), key: z.string().min(1).max(64) };

/** Of one message `steps`. */
export const MAX_STEPS_PER_FRAME = 64;

/** Optional parts that an operator may announce to read: `watermarks` and `processGroups` of a heartbeat. An older operator announces nothing, and would drop a message with them. */
export const LISTENS_TO_WATERMARKS = 'watermarks';
/** The same of `notFinite` of a step. */
export const LISTENS_TO_NOT_FINITE = 'notFinite';
/** The same of `stop` of a cause. */
export const LISTENS_TO_STOP = 'stop';
/** The same of `processes` of a heartbeat and `work` of a cause. */
export const LISTENS_TO_PROCESSES = 'processes';
/** The same of `collectives` of the work in a cause. */
export const LISTENS_TO_COLLECTIVES = 'collectives';
/** The same of `verification` and `contents` of a saved checkpoint. */
export const LISTENS_TO_CONTENTS = 'contents';
/** The same of `progress` of a saved checkpoint. */
export const LISTENS_TO_PROGRESS = 'progress';
/** The same of `duringWrite` of that progress. */
export const LISTENS_TO_BACKGROUND_SAVES = 'backgroundSaves';
/** The same of `brokenSaves` of a heartbeat. */
export const LISTENS_TO_BROKEN_SAVES = 'brokenSaves';
/** The same of `marks` of a heartbeat and of `reaped`. */
export const LISTENS_TO_MARKS = 'marks';
/** The same of `memorySaves` of `reaped`. */
export const LISTENS_TO_MEMORY_SAVES = 'memorySaves';
/** All of them, as this release's operator announces them. */
export const LISTENED_PARTS = [
  LISTENS_TO_WATERMARKS,
  LISTENS_TO_NOT_FINITE,
  LISTENS_TO_STOP,
  LISTENS_TO_PROCESSES,
  LISTENS_TO_COLLECTIVES,
  LISTENS_TO_CONTENTS,
  LISTENS_TO_PROGRESS,
  LISTENS_TO_BACKGROUND_SAVES,
  LISTENS_TO_BROKEN_SAVES,
  LISTENS_TO_MARKS,
  LISTENS_TO_MEMORY_SAVES,
] as const;
/** Of one pod; each rank keeps fewer. */
const MAX_MEMORY_SAVES = 8;
/** Of the ranks of one pod. */
export const MAX_GROUPS_PER_HEARTBEAT = 256;

/** What the processes of a rank do, as the kernel shows it. */
export const RankProcess = z.strictObject({
  rank,
  /**
   * stopped: a signal or a debugger stopped one of them (state T). waiting: one waits in the kernel and cannot be killed (state D). finished: the rank
   * exited with 0, and others of the pod run.
   */
  state: z.enum(['running', 'stopped', 'waiting', 'finished']),
  /** CPU time of all of them since they started. */
  cpuMs: counter,
  /** Time since the rank wrote a line. */
  quietMs: counter,
  /** Name of the program of the process that used most CPU time, as the kernel shows it. */
  program: z.string().max(16).optional(),
});
export type RankProcess = z.infer<typeof RankProcess>;

/** Of the ranks of one pod; the newest. */
export const MAX_BROKEN_SAVES = 4;

/** A save that the launcher found broken and that is not reported, so that no Checkpoint shows it. */
export const BrokenSave = z.strictObject({ step: counter, directory: z.string().max(255), why: z.string().max(512) });
export type BrokenSave = z.infer<typeof BrokenSave>;

/** A message from launcher to operator. */
export const LauncherMessage = z.discriminatedUnion('kind', [
  z.strictObject({
    ...envelope,
    kind: z.literal('hello'),
    jobUid: z.string().max(64),
    bootId: z.string().max(64),
    podIndex: counter,
    launcherVersion: z.string().max(32),
  }),
  z.strictObject({
    ...envelope,
    kind: z.literal('heartbeat'),
    ranks: z.array(z.strictObject({ rank, alive: z.boolean(), step: counter.nullable() })).max(MAX_RANKS_PER_POD),
    /** The processes of each rank that runs or finished. Only for an operator that reads them. */
    processes: z.array(RankProcess).max(MAX_RANKS_PER_POD).optional(),
    /** The newest watermark of each rank that reports any, with ages as of now. Only for an operator that reads them. */
    watermarks: RankWatermarks.optional(),
    /** Those that the watermarks name, as many as fit. */
    processGroups: z.array(ProcessGroup).max(MAX_GROUPS_PER_HEARTBEAT).optional(),
    /** Of the incarnation. Only for an operator that reads them. */
    brokenSaves: z.array(BrokenSave).max(MAX_BROKEN_SAVES).optional(),
    /** Of the incarnation that the message names. Only for an operator that reads them. */
    marks: PodMarks.optional(),
  }),
  z.strictObject({ ...envelope, kind: z.literal('step'), report: StepReport }),
  /** Only from a launcher that received a `pace`. */
  z.strictObject({
    ...envelope,
    kind: z.literal('steps'),
    reports: z.array(StepReport).max(MAX_STEPS_PER_FRAME),
    /** Steps since the message before that are never reported: they exceeded the pace, or no operator was connected. */
    skipped: z.int().min(0).max(1_000_000),
  }),
  z.strictObject({ ...envelope, kind: z.literal('resumed'), step: counter }),
  /** From the pod of rank 0, before its ranks. */
  z.strictObject({ ...envelope, kind: z.literal('preflightBoard'), ...board }),
  /** Preflight report of a pod before its first rank. The launcher then waits for `preflightDone`, up to a time limit. */
  z.strictObject({ ...envelope, kind: z.literal('preflight'), report: PreflightReport }),
  /** What the first rank of the pod that reported really trains; repeated on each connection. The operator reads one for each pod and incarnation. */
  z.strictObject({ ...envelope, kind: z.literal('trained'), rank, facts: TrainedFacts }),
  /** Answer to `stacksWanted`; sent once, even if no rank has a stack. */
  z.strictObject({ ...envelope, kind: z.literal('stacks'), stacks: PodStacks }),
  z.strictObject({ ...envelope, kind: z.literal('checkpointSaved'), checkpoint: SavedCheckpoint }),
  /**
   * The ranks of the incarnation that the envelope names are gone, down to the last process. With a cause where one of them failed by itself;
   * without where they were ended by order. Sent once for each, and again on every reconnection while the state is `reaped`.
   */
  z.strictObject({
    ...envelope,
    kind: z.literal('reaped'),
    cause: TerminationCause.optional(),
    /** Only for an operator that reads them. */
    marks: PodMarks.optional(),
    /** Saves in memory that every rank of the pod has. Absent: none. Only for an operator that reads them. */
    memorySaves: z.array(MemorySave).max(MAX_MEMORY_SAVES).optional(),
  }),
  z.strictObject({ ...envelope, kind: z.literal('ended'), cause: TerminationCause }),
]);
export type LauncherMessage = z.infer<typeof LauncherMessage>;

/** Why the operator closes the connection of a launcher. */
export const REFUSALS = ['notLeader', 'staleEpoch', 'unknownPod', 'unauthenticated', 'malformed', 'notReady'] as const;

/** A message from operator to launcher. */
export const OperatorMessage = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('welcome'), leaderTerm: counter }),
  /** Start these ranks; repeated on every reconnection. A launcher that runs or has run them does nothing; one that runs others ends those first. */
  z.strictObject({ kind: z.literal('assignment'), assignment: RankAssignment }),
  /** End the ranks of that incarnation without saving, and report `reaped`. */
  z.strictObject({ kind: z.literal('endRanks'), epoch: counter, incarnation, message: z.string().max(1024) }),
  /**
   * Save at the next step on which the ranks agree, and continue training. Sent to the pod of rank 0, and repeated on every reconnection. Requests that are not later
   * than an earlier one of the incarnation are ignored. Older launchers, and launchers whose engine cannot be asked, ignore it.
   */
  z.strictObject({
    kind: z.literal('saveWanted'),
    epoch: counter,
    incarnation,
    request: counter.min(1),
    why: z.string().max(512),
  }),
  /**
   * Verify these suspect checkpoints, newest first, before the ranks of that incarnation start, and end with `verifiedCheckpoint` if one is well. `path` is
   * below the mount, and `files` are read whole. Sent to the pod of rank 0, before its assignment. Older launchers ignore it.
   */
  z.strictObject({
    kind: z.literal('verifyWanted'),
    epoch: counter,
    incarnation,
    checkpoints: z
      .array(
        z.strictObject({
          checkpoint: z.string().max(253),
          path: z.string().max(1024),
          manifestSha256: z.string().regex(/^[0-9a-f]{64}$/),
          files: z.array(z.string().max(256)).max(MAX_REREAD_FILES),
        }),
      )
      .max(MAX_PASSED_OVER),
  }),
  /** Address of rank 0, repeated on every (re)connection once known. Without an incarnation: of the first. */
  z.strictObject({ kind: z.literal('rendezvous'), address: z.string().max(255), incarnation: incarnation.optional() }),
  z.strictObject({ kind: z.literal('preflightBoard'), epoch: counter, ...board }),
  /** Ranks may start: no pod is to blame, or a pod cannot run the preflight. Only for launchers that run one. */
  z.strictObject({ kind: z.literal('preflightDone'), epoch: counter }),
  /**
   * Steps per second that the operator accepts from this pod, and how long to gather them into one message `steps`. Sent after the welcome and on every
   * change; it depends on the number of pods. A launcher without a pace reports each step separately.
   */
  z.strictObject({
    kind: z.literal('pace'),
    stepsPerSecond: z.number().min(0.01).max(1_000),
    gatherMs: z.int().min(0).max(60_000),
  }),
  /** Optional parts of messages that this operator reads, by the names above; sent after the welcome. Launchers must not send other optional parts. */
  z.strictObject({ kind: z.literal('listensTo'), parts: z.array(z.string().max(32)).max(16) }),
  /** Report the current stacks of the pod's ranks in a message `stacks` of at most `maxBytes`. Older launchers do not answer. */
  z.strictObject({
    kind: z.literal('stacksWanted'),
    request: counter,
    maxBytes: z.int().min(4_096).max(MAX_REPORT_BYTES),
  }),
  z.strictObject({ kind: z.literal('ack'), sequence: counter }),
  /** The connection closes after it. notLeader: try `leaderUrl`, else the next address. staleEpoch: exit with `fenced`. Others: back off. */
  z.strictObject({
    kind: z.literal('refused'),
    code: z.enum(REFUSALS),
    message: z.string().max(1024),
    leaderUrl: z.string().max(255).optional(),
  }),
]);
export type OperatorMessage = z.infer<typeof OperatorMessage>;

/** Position of a frame in the stream: `sequence` is dense per `bootId`; a jump means frames were dropped and the API records a gap. */
const streamPosition = { bootId: z.string().max(64), sequence: counter, at: z.string() };

/** One step from one pod: the pod of rank 0 knows loss and tokens, the others send their timings. */
export const StepFrame = z.strictObject({
  kind: z.literal('step'),
  ...streamPosition,
  jobUid: z.string(),
  namespace: z.string(),
  jobName: z.string(),
  epoch: counter,
  ...StepPoint.shape,
  stepTimeMs: durationMs.describe('Of the slowest rank of the pod.'),
});
export type StepFrame = z.infer<typeof StepFrame>;

/** What the operator streams to the API: best effort, bounded buffer. */
export const SeriesFrame = z.discriminatedUnion('kind', [
  StepFrame,
  z.strictObject({ kind: z.literal('keepalive'), ...streamPosition }),
]);
export type SeriesFrame = z.infer<typeof SeriesFrame>;
