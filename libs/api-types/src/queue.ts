/** Answers about jobs that wait for GPUs: the order, expected starts, what is expected in the next day, and how earlier expectations came true. */
import { z } from 'zod';
import { END_BASES } from './expected-start.ts';
import { counter, timestamp } from './status-fields.ts';

/** Most jobs of a queue in one answer. */
export const MAX_QUEUE_JOBS = 2_000;
/** Most events of the timeline in one answer. */
export const MAX_QUEUE_EVENTS = 500;
/** Most past starts in one answer, the newest. */
export const MAX_PAST_STARTS = 200;
/** Projects whose use is listed in one answer, by held GPUs. */
export const MAX_QUEUE_USES = 200;

/** What stops a job from starting now. */
export const QUEUE_CONSTRAINTS = ['Gpus', 'Nodes', 'Quota', 'JobsAhead', 'Placement'] as const;
/** Kinds of windows of the Fabric. */
export const QUEUE_WINDOWS = ['Maintenance', 'Project'] as const;
/** Changes that are tried on a copy of the cluster. */
export const START_CHANGES = ['MoreNodes', 'FewerGpus', 'HigherPriority'] as const;

/** A job that the caller may see. */
export const QueueJobName = z
  .object({
    id: z.uuid(),
    name: z.string(),
    namespace: z.string(),
    project: z.string().nullable().describe('Null: its namespace belongs to none.'),
  })
  .meta({ id: 'QueueJobName' });
export type QueueJobName = z.infer<typeof QueueJobName>;

/** When a waiting job is expected to start. */
export const QueueStart = z
  .object({
    at: timestamp,
    earliest: timestamp,
    latest: timestamp.nullable().describe('Null: no bound is known.'),
    restsOn: z
      .enum(END_BASES)
      .nullable()
      .describe(
        'What the end rests on that the job waits for. Measured: measured step times. Predicted: step times of the planner. MaxRuntime: a limit. Assumed: nothing is known. Null: the job waits for no end.',
      ),
    nodesHeld: z.boolean().describe('Nodes are held for the job.'),
  })
  .meta({ id: 'QueueStart' });
export type QueueStart = z.infer<typeof QueueStart>;

/** What stops a job from starting now. */
export const QueueConstraint = z
  .object({
    kind: z
      .enum(QUEUE_CONSTRAINTS)
      .describe(
        'Gpus: too few GPUs are free. Nodes: enough GPUs are free, too few nodes are empty. Quota: a ResourceQuota. JobsAhead: what is free goes to jobs ahead. Placement: enough is free by count; the job is placed next, or waits for GPUs that are connected as it needs.',
      ),
    gpuType: z.string().nullable().describe('Null: any type.'),
    needed: counter.describe('GPUs; nodes if kind is Nodes.'),
    free: counter,
    sentence: z.string(),
  })
  .meta({ id: 'QueueConstraint' });
export type QueueConstraint = z.infer<typeof QueueConstraint>;

/** A job that waits for GPUs. */
export const QueueJob = z
  .object({
    position: counter.describe('From 1, over all jobs of the cluster that wait for GPUs.'),
    job: QueueJobName.nullable().describe('Null: a job of a project that the caller may not see.'),
    priority: z.int(),
    gpus: counter,
    waitingSince: timestamp,
    start: QueueStart.nullable().describe('Null: no start is predicted.'),
    constraint: QueueConstraint,
  })
  .meta({ id: 'QueueJob' });
export type QueueJob = z.infer<typeof QueueJob>;

/** Something that is expected to happen. */
export const QueueEvent = z
  .object({
    kind: z
      .enum(['End', 'Start'])
      .describe('End: a running job gives its GPUs back. Start: a waiting job gets its GPUs.'),
    job: QueueJobName.nullable().describe('Null: a job of a project that the caller may not see.'),
    gpus: counter,
    ...QueueStart.shape,
  })
  .meta({ id: 'QueueEvent' });
export type QueueEvent = z.infer<typeof QueueEvent>;

/** What a project holds, waits for and may hold. */
export const QueueUse = z
  .object({
    project: z.string(),
    heldGpus: counter,
    waitingJobs: counter,
    waitingGpus: counter,
    quotaGpus: counter
      .nullable()
      .describe(
        'Sum of the ResourceQuotas of its namespaces on GPUs. Null: a namespace has none, or they could not be read.',
      ),
  })
  .meta({ id: 'QueueUse' });
export type QueueUse = z.infer<typeof QueueUse>;

/** An expected start, and the start that came. */
export const PastStart = z
  .object({
    job: QueueJobName,
    expectedSince: timestamp.describe('Since when nodes were held for the job.'),
    expected: timestamp.describe('The start that was expected first.'),
    actual: timestamp,
    errorSeconds: z.int().describe('Positive: the job started later than expected.'),
    errorPct: z.number().nullable().describe('Of the expected wait. Null: no wait was expected.'),
  })
  .meta({ id: 'PastStart' });
export type PastStart = z.infer<typeof PastStart>;

/** How expected starts of the last 30 days came true. */
export const PastStarts = z
  .object({
    count: counter,
    medianErrorSeconds: counter.nullable().describe('Of the absolute error. Null: no job started.'),
    p90ErrorSeconds: counter.nullable(),
    medianErrorPct: z.number().nullable(),
    p90ErrorPct: z.number().nullable(),
    items: z.array(PastStart).describe('Newest first.'),
  })
  .meta({ id: 'PastStarts' });
export type PastStarts = z.infer<typeof PastStarts>;

/** A time in which nodes are out of service, or kept for a project. */
export const QueueWindow = z
  .object({
    kind: z
      .enum(QUEUE_WINDOWS)
      .describe('Maintenance: no job may use the nodes. Project: the nodes are kept for jobs of a project.'),
    name: z.string().nullable().describe('Null: kept for a project that the caller may not see.'),
    project: z.string().nullable().describe('Null: maintenance, or a project that the caller may not see.'),
    from: timestamp,
    until: timestamp,
    nodes: counter,
  })
  .meta({ id: 'QueueWindow' });
export type QueueWindow = z.infer<typeof QueueWindow>;

/** Jobs that wait for GPUs, and when they are expected to start. */
export const Queue = z
  .object({
    asOf: timestamp,
    totalGpus: counter,
    freeGpus: counter,
    waitingJobs: counter.describe('Of the whole cluster.'),
    waitingGpus: counter,
    oldestWaitSeconds: counter.nullable().describe('Null: no job waits.'),
    problem: z
      .string()
      .nullable()
      .describe(
        'Why no start is predicted, for example because the nodes of the cluster could not be read. Null: starts are predicted.',
      ),
    items: z.array(QueueJob).describe('In order. Jobs of the project are listed before others if there are too many.'),
    hasMore: z.boolean(),
    timelineUntil: timestamp,
    timeline: z.array(QueueEvent).describe('Soonest first.'),
    hasMoreEvents: z.boolean(),
    windows: z
      .array(QueueWindow)
      .describe('Windows of the Fabric that are not over. The one that begins first is listed first.'),
    use: z.array(QueueUse),
    starts: PastStarts,
  })
  .meta({ id: 'Queue' });
export type Queue = z.infer<typeof Queue>;

/** A change that was tried on a copy of the cluster. */
export const StartChange = z
  .object({
    kind: z
      .enum(START_CHANGES)
      .describe(
        'MoreNodes: amount more empty nodes. FewerGpus: the job on amount GPUs. HigherPriority: the job first in line.',
      ),
    amount: counter.nullable(),
    gpuType: z.string().nullable(),
    start: timestamp.describe('The expected start with this change alone.'),
    sentence: z.string(),
  })
  .meta({ id: 'StartChange' });
export type StartChange = z.infer<typeof StartChange>;

/** When one job is expected to start, and what would let it start earlier. */
export const JobStart = z
  .object({
    asOf: timestamp,
    place: QueueJob.nullable().describe('Null: the job does not wait for GPUs.'),
    waitingJobs: counter.describe('Of the whole cluster.'),
    problem: z.string().nullable().describe('Why no start is predicted. Null: one is, or the job does not wait.'),
    changes: z.array(StartChange),
  })
  .meta({ id: 'JobStart' });
export type JobStart = z.infer<typeof JobStart>;
