/** Jobs of other controllers that Coxswain observes and never changes: names in their pods, reports of their pods, and what is answered about them. */
import { z } from 'zod';
import { API_GROUP } from './names.ts';
import { MAX_RANKS_PER_POD } from './pod-size.ts';
import { ProcessGroup, RANK_PHASES, RankWatermarks } from './rank-watermarks.ts';
import { MAX_GROUPS_PER_HEARTBEAT, MAX_STEPS_PER_FRAME, RankProcess, StepReport } from './report-protocol.ts';
import { rank } from './rank-timings.ts';
import { PodStacks } from './stacks.ts';
import { counter, timestamp } from './status-fields.ts';

/** Label of a pod template, with the value `true`: Coxswain observes its pods. */
export const OBSERVE_LABEL = `${API_GROUP}/observe` as const;

/** Annotations of an observed pod. */
export const OBSERVE_ANNOTATIONS = {
  /** By a user: the container that trains. Absent: the first. */
  container: `${API_GROUP}/observe-container`,
  /** By the admission policy: the container whose command was wrapped. */
  wrapped: `${API_GROUP}/wrapped`,
  /** By the admission policy: why the pod is not observed. */
  notWrapped: `${API_GROUP}/not-wrapped`,
} as const;

/** Audience of the token of an observed pod. No other token is accepted there, and this one nowhere else. */
export const OBSERVE_TOKEN_AUDIENCE = 'coxswain-observe';
/** ConfigMap in the operator's namespace from which the admission policy takes `reportUrls` and `reportCa`. */
export const OBSERVE_CONFIG_MAP = 'coxswain-observe';
/** Where observers report, on the port of launchers: `POST` an {@link ObserverReport}; the answer is an {@link ObserverReply}. */
export const OBSERVE_PATH = '/v1/observe';
/** Where the API asks for all observed jobs, on the same port: `POST`, answered with {@link ObservedJobs}. */
export const OBSERVED_JOBS_PATH = '/v1/observed-jobs';

/** What an observed container is like. The admission policy of the chart writes the same names. */
export const OBSERVED_POD = {
  directory: '/coxswain-observe',
  tokenFile: '/var/run/secrets/coxswain-observe/token',
} as const;

/** Everything that the observer of a container knows, in each report: a new leader needs no memory. */
export const ObserverReport = z.strictObject({
  version: z.literal(1),
  /** Of one start of the container. */
  bootId: z.string().min(1).max(64),
  /** Ranks whose hook has reported, by what their processes say. */
  ranks: z
    .array(
      z.strictObject({
        rank,
        /** Process ID, as a sign that a rank started again. */
        process: counter,
        worldSize: z.int().min(1).max(32_768).nullable(),
        alive: z.boolean(),
        step: counter.nullable(),
      }),
    )
    .max(MAX_RANKS_PER_POD),
  processes: z.array(RankProcess).max(MAX_RANKS_PER_POD),
  watermarks: RankWatermarks,
  processGroups: z.array(ProcessGroup).max(MAX_GROUPS_PER_HEARTBEAT),
  /** Since the last report that was answered. */
  steps: z.array(StepReport).max(MAX_STEPS_PER_FRAME),
  /** Answers a request in an earlier reply. */
  stacks: PodStacks.optional(),
});
export type ObserverReport = z.infer<typeof ObserverReport>;

/** Answer to a report. */
export const ObserverReply = z.object({
  /** Send current stack traces in the next report, in at most so many bytes. */
  stacksWanted: z.object({ request: counter, maxBytes: z.int().min(4_096).max(262_144) }).optional(),
});
export type ObserverReply = z.infer<typeof ObserverReply>;

/** Kinds of owners by which pods are grouped into jobs. A TrainJob is a JobSet with a label. */
export const OBSERVED_KINDS = ['JobSet', 'TrainJob', 'PyTorchJob', 'Job', 'Pod'] as const;

/** What an observed job does, as far as its ranks show it. */
export const OBSERVED_PHASES = {
  Pending: 'no container of it runs yet',
  Starting: 'it runs, and no rank has completed a step',
  Training: 'a rank completed a step a moment ago',
  NotTraining: 'ranks report, and no step ends; the standing or a finding says why',
  Ended: 'no pod of it runs',
  Unknown: 'its pods run and no rank reports',
} as const;
const phases = Object.keys(OBSERVED_PHASES) as [keyof typeof OBSERVED_PHASES, ...(keyof typeof OBSERVED_PHASES)[]];

const seconds = z.number().min(0);

/** A job of another controller. */
export const ObservedJob = z
  .object({
    namespace: z.string(),
    kind: z.enum(OBSERVED_KINDS).describe('Of the owner of its pods.'),
    name: z.string(),
    attempt: counter.describe('Restarts of a JobSet, by the label of its pods; 0 for other kinds.'),
    phase: z.enum(phases),
    observedSince: timestamp
      .nullable()
      .describe(
        'Since when this operator receives reports. What happened before is unknown. null: it has received none.',
      ),
    worldSize: counter.nullable().describe('From the environment of ranks; null: unknown.'),
    gpus: counter.describe('GPUs that its pods request.'),
    step: counter.nullable().describe('Newest step that a rank completed; null: none was observed.'),
    stepTimeMs: z.number().nullable().describe('Of that step, the slowest rank.'),
    pods: z
      .array(
        z.object({
          name: z.string(),
          node: z.string().optional(),
          podPhase: z.string(),
          ranks: z.string().describe('Ranks that report, as ranges.'),
          rankPhases: z.array(z.enum(RANK_PHASES)).describe('What these ranks do, each once.'),
          exitCodes: z.array(z.int()).describe('Of its containers that ended.'),
          reportedAgoSeconds: seconds.nullable().describe('null: it has not reported.'),
          unknown: z.string().optional().describe('Why its ranks are not observed.'),
        }),
      )
      .describe('At most 512.'),
    standing: z.string().nullable().describe('What it does instead of training; null: it trains, or that is unknown.'),
    findings: z
      .array(
        z.object({
          at: timestamp,
          kind: z.string(),
          ranks: z.array(counter).describe('Ranks that are to blame; empty: none is.'),
          nodes: z.array(z.string()),
          message: z.string(),
          evidence: z
            .record(z.string(), z.union([z.string(), z.number()]))
            .describe('What supports it, with stack traces.'),
        }),
      )
      .describe('The newest last.'),
    ledger: z
      .object({ training: seconds, starting: seconds, notTraining: seconds, unknown: seconds })
      .describe('Seconds of the job by what it did. Unknown: before the first report, or without reports.'),
    unknown: z.array(z.string()).describe('What cannot be known about this job.'),
  })
  .meta({ id: 'ObservedJob' });
export type ObservedJob = z.infer<typeof ObservedJob>;

/** All observed jobs. */
export const ObservedJobs = z
  .object({
    jobs: z.array(ObservedJob).describe('By namespace and name.'),
    leftOut: counter.describe('Jobs that did not fit the answer.'),
  })
  .meta({ id: 'ObservedJobs' });
export type ObservedJobs = z.infer<typeof ObservedJobs>;
