import { ParallelLayout } from '@coxswain/layout';
import { PlanAnswer, PlanRequest } from '@coxswain/planner/types';
import { z } from 'zod';
import { CheckpointContents, CheckpointVerification } from './checkpoint-contents.ts';
import { CheckpointProgress } from './checkpoint-progress.ts';
import { CheckpointResourceSpec, CheckpointResourceStatus } from './checkpoint.ts';
import { Condition } from './conditions.ts';
import { GpuCounts } from './cluster-fabric.ts';
import { StartVerdict } from './start-verdict.ts';
import { Attempt } from './attempt.ts';
import { JobFailure } from './job-failure.ts';
import { JobPlan } from './job-plan.ts';
import { ResumeFrom } from './resume-from.ts';
import {
  EXAMPLE_JOB,
  EXAMPLE_LAYOUT,
  EXAMPLE_PATCH,
  EXAMPLE_PROJECT,
  EXAMPLE_PROJECT_CHANGE,
  EXAMPLE_RESUME,
} from './request-examples.ts';
import { specSizeProblem } from './spec-size.ts';
import { JobState } from './training-job.ts';
import { ObjectName, PriorityClassName } from './field-names.ts';
import { GivenName } from './given-name.ts';
import { JobLabelChange, JobLabels } from './labels.ts';
import { TrainingJobSpec } from './training-job-spec.ts';

/**
 * Requests and answers of the REST API, shared by API, dashboard, CLI and the generated GraphQL schema. More than 400 lines, because they are one document.
 *
 * ```
 * GET    /v1/whoami                                           → WhoAmI
 * GET    /v1/sign-in                                          → SignInMethods     (public)
 * GET    /v1/sign-in/start?returnTo · /v1/sign-in/callback      302               (public; the page signs in)
 * POST   /v1/sign-in/tokens      SignInTrade                  → SignInToken       (public; the command line signs in)
 * POST   /v1/sign-out                                           204
 * GET    /v1/projects/{project}/group-roles                   → GroupRoleList     ({project} "-": the cluster)
 * POST   /v1/projects/{project}/group-roles GroupRoleCreate   → GroupRole
 * DELETE /v1/projects/{project}/group-roles/{groupRoleId}
 * POST   /v1/projects            ProjectCreate                → Project           (admin)
 * GET    /v1/projects                                         → ProjectList
 * GET    /v1/projects/{project}                               → Project
 * PATCH  /v1/projects/{project}  ProjectPatch                → Project           (admin; which PriorityClasses its jobs may name)
 * GET    /v1/projects/{project}/limits                        → ProjectLimitList  (and what of them is used)
 * POST   /v1/projects/{project}/tokens   ApiTokenCreate       → ApiTokenCreated   (secret shown once)
 * GET    /v1/projects/{project}/tokens                        → ApiTokenList
 * DELETE /v1/projects/{project}/tokens/{tokenId}
 * POST   …/tokens/{tokenId}/rotate       ApiTokenRotate       → ApiTokenCreated   (the old token stays valid for a while)
 * GET    /v1/projects/{project}/webhooks                      → WebhookList       (webhook.ts)
 * POST   /v1/projects/{project}/webhooks WebhookCreate        → WebhookCreated    (secret shown once)
 * DELETE /v1/projects/{project}/webhooks/{webhookId}
 * POST   …/webhooks/{webhookId}/rotate   WebhookRotate        → WebhookCreated    (messages have two signatures for a while)
 * POST   …/webhooks/{webhookId}/enable                        → Webhook
 * POST   …/webhooks/{webhookId}/test                          → WebhookDelivery   (202)
 * GET    …/webhooks/{webhookId}/deliveries                    → WebhookDeliveryList
 * GET    …/audit?since&until&principal&verb&object&outcome&pageSize&pageToken → AuditList (administrators; project - is the whole cluster)
 * POST   /v1/projects/{project}/jobs     JobCreate            → Job               (Idempotency-Key optional, 201; replay gives the same answer)
 * POST   /v1/projects/{project}/jobs/check → JobCheck (what the job would wait for; nothing is submitted)
 * GET    /v1/projects/{project}/jobs?pageSize&pageToken&state&fields → JobList (summaries; fields=spec,plan,attempts,conditions adds details)
 *        … &labelSelector&owner&q&orderBy&direction               (labels as kubectl selects them; q: beginnings of words of the name)
 * GET    /v1/projects/{project}/jobs/{jobId}                  → Job               (ETag, as of every GET; If-None-Match)
 * PATCH  /v1/projects/{project}/jobs/{jobId}  JobPatch        → Job               (labels)
 * DELETE /v1/projects/{project}/jobs/{jobId}                    202               (If-Match here and on what follows: "SPECVERSION" or an ETag)
 * POST   /v1/projects/{project}/jobs/{jobId}/suspend          → Job
 * POST   /v1/projects/{project}/jobs/{jobId}/resume  JobResume → Job
 * POST   /v1/projects/{project}/jobs/{jobId}/cancel           → Job
 * GET    …/jobs/{jobId}/events?after=                         → JobEventList
 * GET    …/jobs/{jobId}/events/stream                           text/event-stream; Last-Event-ID; events `event`, `job`, `step`, `resync`
 * GET    …/jobs/{jobId}/steps?epoch&fromStep&toStep&limit|maxPoints → StepList     (loss curve without steps that a later attempt repeated; maxPoints: the whole curve in that many points)
 * GET    …/jobs/{jobId}/ranks                                 → RankMap           (rank → node, NVLink domain, island, last step time)
 * GET    …/jobs/{jobId}/checkpoints                           → CheckpointList
 * GET    /v1/projects/{project}/checkpoints?job&name&verdict&good&deleted&pageSize&pageToken → CheckpointPage (newest first; checkpoint-catalogue.ts)
 * GET    …/checkpoints/{uid}                                  → CheckpointDetail  (with its verifications)
 * POST   …/checkpoints/{uid}/verify      CheckpointVerify     → CheckpointVerifyRequest (202)
 * PUT    …/checkpoints/{uid}/pin         CheckpointPin        → CheckpointRecord
 * DELETE …/checkpoints/{uid}/pin                              → CheckpointRecord
 * DELETE …/checkpoints/{uid}                                  → 204               (adopted ones: the object goes, the files stay)
 * GET    …/jobs/{jobId}/incidents?kind&state&node&pageSize&pageToken → IncidentList (newest first; incident.ts)
 * GET    /v1/projects/{project}/incidents?…                    → IncidentList      (of all its jobs)
 * GET    …/jobs/{jobId}/start                                 → JobStart          (expected start, and what would let it start earlier; queue.ts)
 * GET    /v1/projects/{project}/queue?limit                    → Queue             (jobs that wait, in order; those of other projects without names; queue.ts)
 * GET    …/jobs/{jobId}/goodput                               → JobGoodput        (where its GPU-seconds went; goodput.ts)
 * GET    /v1/projects/{project}/costs?month                    → CostList          (what its jobs cost in a month; costs.ts; costs.csv: text/csv)
 * GET    …/jobs/{jobId}/logs?rank&attempt&tailLines&follow      text/plain; what the attempt recorded where the pod is gone
 * POST   …/jobs/{jobId}/stacks?rank                           → JobStacks         (current stack traces of its ranks; stacks.ts)
 * GET    …/jobs/{jobId}/rendering                             → JobRendering      (what it runs: arguments, files, environment; or why it cannot run)
 * GET    /v1/engines                                          → EngineList
 * GET    /v1/fabric                                           → ClusterFabric     (every node with GPUs, where it sits, and which jobs hold it; administrators)
 * GET    /v1/fabric/snapshots?since&until&pageSize&pageToken  → FabricSnapshotList (when it changed, newest first; fabric-history.ts; administrators)
 * GET    /v1/fabric/snapshots/{snapshotId}                    → RecordedFabric    (the recorded fabric)
 * GET    /v1/fabric/snapshots/{snapshotId}/changes?since      → FabricChanges     (since the snapshot before, or since another one)
 * POST   /v1/projects/{project}/renderings RenderingRequest   → EngineRendering   (of any layout; nothing runs, and nothing is kept)
 * POST   /v1/projects/{project}/plans    PlanRequest          → StoredPlan        (Idempotency-Key optional, 201; what if: nothing runs)
 * GET    /v1/projects/{project}/plans?pageSize&pageToken      → PlanList
 * GET    /v1/projects/{project}/plans/{planId}                → StoredPlan
 * GET    /v1/projects/{project}/plans/accuracy                → PlanAccuracy      (prediction against measurement, over all jobs)
 * GET    /v1/projects/{project}/layouts  · POST (validate and store) · GET …/{layoutId}
 * GET    /healthz /readyz /metrics /openapi.json  ·  POST /graphql  ·  GET / (dashboard)
 * ```
 */
const timestamp = z.string().meta({ format: 'date-time' });
const counter = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const page = {
  nextPageToken: z
    .string()
    .optional()
    .describe('Absent on the last page. A page ends at 1 MiB too, so it can have fewer items than were asked for.'),
};

/** PriorityClasses of a project. */
const priorityClasses = z.array(PriorityClassName).max(100);

/** A project as the API returns it. */
export const Project = z
  .object({
    name: ObjectName,
    namespaces: z.array(ObjectName),
    createdAt: timestamp,
    priorityClasses: priorityClasses
      .optional()
      .describe(
        'PriorityClasses that jobs of the project may name in spec.priorityClassName. Empty: none. Absent: the API is of an earlier release.',
      ),
  })
  .meta({ id: 'Project' });
export type Project = z.infer<typeof Project>;
/** Body of the request that changes settings of a project. */
export const ProjectPatch = z
  .strictObject({
    priorityClasses: priorityClasses.describe(
      'PriorityClasses that jobs of the project may name; they replace the earlier ones. Jobs that exist keep theirs.',
    ),
  })
  .meta({ id: 'ProjectPatch', examples: [EXAMPLE_PROJECT_CHANGE] });
export type ProjectPatch = z.infer<typeof ProjectPatch>;
/** Body of the request that creates a project. */
export const ProjectCreate = z
  .strictObject({
    name: ObjectName,
    namespaces: z
      .array(ObjectName)
      .min(1)
      .max(100)
      .describe('Namespaces the project owns; a namespace belongs to one project.'),
  })
  .meta({ id: 'ProjectCreate', examples: [EXAMPLE_PROJECT] });
export type ProjectCreate = z.infer<typeof ProjectCreate>;
/** A page of projects. */
export const ProjectList = z.object({ items: z.array(Project) }).meta({ id: 'ProjectList' });
export type ProjectList = z.infer<typeof ProjectList>;

/** Limits of a project. */
export const PROJECT_LIMITS = [
  'requestBurst',
  'changeBurst',
  'writeBurst',
  'stopBurst',
  'cpuMilliseconds',
  'concurrentRequests',
  'plans',
  'streams',
  'logStreams',
  'jobs',
  'endedJobs',
  'layouts',
  'tokens',
  'webhooks',
  'storedPlans',
  'jobRecords',
] as const;
/** A limit of a project and its usage. */
export const ProjectLimit = z
  .object({
    name: z
      .enum(PROJECT_LIMITS)
      .describe(
        'At once after a pause: requestBurst: requests, changeBurst: job changes, writeBurst: requests that may change something, stopBurst: requests that stop a job, cpuMilliseconds: processor time. At the same time: streams: event streams, logStreams: logs, jobs: active jobs, endedJobs: ended jobs in the cluster, jobRecords: records of deleted jobs, tokens: valid tokens, plans: queued and running searches.',
      ),
    most: counter.nullable().describe('Null: unlimited.'),
    used: counter.describe(
      'Current number, counted up to 10,000 if more are allowed. For bursts and cpuMilliseconds: those not yet refilled; `perSecond` or `perMinute` are refilled. More than `most`: a debt.',
    ),
    perSecond: counter.nullable().describe('Refill rate per second; null: no refill, or a refill per minute.'),
    perMinute: counter.optional().describe('Refill rate per minute; absent: no refill, or a refill per second.'),
    counted: z
      .enum(['inReplica', 'inProject'])
      .describe(
        'inReplica: each replica of the API counts separately; this is the count of the replica that answered.',
      ),
  })
  .meta({ id: 'ProjectLimit' });
export type ProjectLimit = z.infer<typeof ProjectLimit>;
/** All limits of a project. */
export const ProjectLimitList = z.object({ items: z.array(ProjectLimit) }).meta({ id: 'ProjectLimitList' });
export type ProjectLimitList = z.infer<typeof ProjectLimitList>;

/** `layout: auto` equals an absent layout. The schema of a custom resource cannot allow a string beside an object. */
function withoutLayoutWord(spec: unknown): unknown {
  if (typeof spec !== 'object' || spec === null || !('layout' in spec) || spec.layout !== 'auto') return spec;
  const { layout: _planned, ...rest } = spec;
  return rest;
}

/** Body of the request that creates a job. */
export const JobCreate = z
  .strictObject({
    name: ObjectName,
    namespace: ObjectName.optional().describe('Default: the first namespace of the project.'),
    labels: JobLabels.default({}),
    spec: z.preprocess(withoutLayoutWord, TrainingJobSpec),
  })
  .superRefine(({ spec }, context) => {
    const problem = specSizeProblem(spec);
    if (problem !== undefined) context.addIssue({ code: 'custom', path: ['spec'], message: problem });
  })
  .meta({ id: 'JobCreate', examples: [EXAMPLE_JOB] });
export type JobCreate = z.infer<typeof JobCreate>;
/** {@link JobCreate} as callers write it, without defaults. */
export type JobCreateInput = z.input<typeof JobCreate>;

/** Fields of a job that can be changed. */
export const JobPatch = z.strictObject({ labels: JobLabelChange }).meta({ id: 'JobPatch', examples: [EXAMPLE_PATCH] });
export type JobPatch = z.infer<typeof JobPatch>;

/** Orders in which jobs can be listed. */
export const JOB_ORDERS = ['createdAt', 'name', 'finishedAt'] as const;
/** Order of a list of jobs. */
export type JobOrder = (typeof JOB_ORDERS)[number];

/** Body of the request that resumes a job. */
export const JobResume = z
  .strictObject({
    layout: ParallelLayout.optional().describe(
      'Resume on this layout instead; the newest checkpoint is resharded on load.',
    ),
    gpus: TrainingJobSpec.shape.gpus.describe('Resume on a layout that the planner chooses for this many GPUs.'),
    from: ResumeFrom.shape.from
      .optional()
      .describe(
        'Start from this checkpoint of the job, or from "scratch". Later checkpoints are no longer used. Also for a job that stopped because no checkpoint can be used.',
      ),
  })
  .refine(({ layout, gpus }) => layout === undefined || gpus === undefined, {
    path: ['gpus'],
    message: 'give layout or gpus, not both: with gpus the planner chooses the layout',
  })
  .meta({ id: 'JobResume', examples: [EXAMPLE_RESUME] });
export type JobResume = z.infer<typeof JobResume>;

/** Predicted and measured step time. */
export const StepTime = z
  .object({
    epoch: counter.describe('Number of the attempt: the newest with a measurement, else the newest with a prediction.'),
    predictedMs: z.number().nullable(),
    measuredMs: z
      .number()
      .nullable()
      .describe('Median of the newest 1,000 steps of the attempt without its first 3; null before the fourth.'),
    measuredSteps: counter,
    errorPct: z.number().nullable().describe('(predicted - measured) / measured, in percent.'),
  })
  .meta({ id: 'StepTime' });
export type StepTime = z.infer<typeof StepTime>;

/** Why the last change of a job has not reached the cluster. */
export const ApplyFailure = z
  .object({
    message: z.string().describe('Answer of the cluster, or why there is none.'),
    since: timestamp.describe('First of the failures in a row.'),
    retryAt: timestamp
      .nullable()
      .describe('Time of the next try. null: the cluster refused the change, and Coxswain does not try again.'),
  })
  .meta({ id: 'ApplyFailure' });
export type ApplyFailure = z.infer<typeof ApplyFailure>;

/** A job in a list: what it is and does, in at most a few kB. */
const summaryOfJob = {
  id: z.uuid(),
  project: z.string().nullable().describe('null: the namespace belongs to no project; administrators only.'),
  cluster: z.string(),
  namespace: z.string(),
  name: z.string(),
  labels: z
    .record(z.string(), z.string())
    .default({})
    .describe('Labels of the TrainingJob ordered by key, without those of Coxswain, at most 64.'),
  owner: z
    .string()
    .nullable()
    .default(null)
    .describe('Name of the creator at that time; null: created in the cluster.'),
  uid: z.string().nullable().describe('UID of the TrainingJob; null until it exists in the cluster.'),
  state: JobState.or(z.enum(['Submitting', 'Refused', 'Deleting', 'Deleted'])).describe(
    'State of the resource; Submitting: not yet in the cluster. Refused: the cluster refused it, see summary.',
  ),
  gpus: counter.describe('GPUs that it runs on, or requests while its layout is not chosen yet.'),
  layout: ParallelLayout.nullable().describe('Layout that the job runs on; null until the planner has chosen.'),
  stepTime: StepTime.nullable().describe('null before the first attempt that was predicted or measured.'),
  summary: z.string(),
  applyFailure: ApplyFailure.nullable()
    .default(null)
    .describe('Set if the last change (create, suspend, resume, cancel, labels, delete) has not reached the cluster.'),
  epoch: counter,
  restarts: z.object({ total: counter, charged: counter }),
  totalSteps: counter
    .nullable()
    .describe('Steps of the whole training; null: neither the job nor its ranks define it.'),
  progress: z
    .object({
      step: counter,
      totalSteps: counter.nullable(),
      loss: z.number().nullable(),
      tokensPerSecond: z.number().nullable(),
      etaSeconds: counter.nullable(),
      reportedAt: timestamp,
    })
    .nullable(),
  checkpoint: z.object({ name: z.string(), step: counter }).nullable(),
  version: counter.describe('Increases with each change of the job or its status.'),
  specVersion: counter.describe(
    'Counts up with each change of what is asked for, wherever it was asked; its status changes nothing here. What If-Match holds a change against.',
  ),
  createdAt: timestamp,
  updatedAt: timestamp,
  finishedAt: timestamp.nullable(),
};
/** Details of a job, which can be large. */
const detailsOfJob = {
  spec: TrainingJobSpec,
  plan: JobPlan.nullable().describe('Answer of the planner; null: it had none.'),
  attempts: z.array(Attempt).describe('Oldest first; the whole history.'),
  conditions: z.array(Condition),
  whyNotTraining: StartVerdict.nullable()
    .default(null)
    .describe('Why it does not train yet; null: every rank has started, or the job has ended.'),
};
/** Details that a list of jobs contains only on request (`fields`). */
export const JOB_DETAILS = ['spec', 'plan', 'attempts', 'conditions'] as const;
/** Name of a detail that a list of jobs can contain. */
export type JobDetail = (typeof JOB_DETAILS)[number];

/** A job as the API returns it. */
export const Job = z
  .object({
    ...summaryOfJob,
    ...detailsOfJob,
    jobsBefore: counter
      .nullable()
      .default(null)
      .describe(
        'Jobs of its namespace that have waited for GPUs longer. Free GPUs are offered to namespaces in turn, and a job that does not fit blocks none behind it. null: it does not wait for GPUs.',
      ),
    lastFailure: JobFailure.nullable()
      .default(null)
      .describe('The newest failure: why the job ended, or why it restarted last. null: none.'),
  })
  .meta({ id: 'Job' });
export type Job = z.infer<typeof Job>;
/** A job in a list, with the requested details. */
export const JobSummary = z
  .object({
    ...summaryOfJob,
    spec: detailsOfJob.spec.optional(),
    plan: detailsOfJob.plan.optional(),
    attempts: detailsOfJob.attempts.optional(),
    conditions: detailsOfJob.conditions.optional(),
  })
  .meta({ id: 'JobSummary' });
export type JobSummary = z.infer<typeof JobSummary>;
/** Final states of a job. */
export const FINAL_JOB_STATES: ReadonlySet<Job['state']> = new Set<Job['state']>([
  'Complete',
  'Failed',
  'Cancelled',
  'Refused',
  'Deleted',
]);
/** A page of jobs. */
export const JobList = z.object({ items: z.array(JobSummary), ...page }).meta({ id: 'JobList' });
export type JobList = z.infer<typeof JobList>;

/** An event of a job. `id` orders the events of a job and is the SSE event id. */
export const JobEvent = z
  .object({
    id: counter,
    type: z.string().describe('Stable name, e.g. Placed, Started, CheckpointSaved, RankFailed, Restarting, Completed.'),
    severity: z.enum(['info', 'warning', 'error']),
    epoch: counter.nullable(),
    message: z.string(),
    at: timestamp,
  })
  .meta({ id: 'JobEvent' });
export type JobEvent = z.infer<typeof JobEvent>;
/** Events of a job. */
export const JobEventList = z.object({ items: z.array(JobEvent) }).meta({ id: 'JobEventList' });
export type JobEventList = z.infer<typeof JobEventList>;

/** Lowest and highest value of several steps. */
export const ValueRange = z.object({ min: z.number(), max: z.number() }).meta({ id: 'ValueRange' });
export type ValueRange = z.infer<typeof ValueRange>;
/** Several steps as one point of a curve, with the lowest and highest of each value, so that a spike of one step stays visible. */
export const StepBucket = z
  .object({
    lastStep: counter,
    steps: counter.describe('Number of recorded steps from the step of the point to lastStep.'),
    loss: ValueRange.nullable(),
    tokensPerSecond: ValueRange.nullable(),
    stepTimeMs: ValueRange,
    gradNorm: ValueRange.nullable(),
    learningRate: ValueRange.nullable().default(null),
  })
  .meta({ id: 'StepBucket' });
export type StepBucket = z.infer<typeof StepBucket>;
/** A point of the loss curve. */
export const StepPoint = z
  .object({
    epoch: counter,
    step: counter,
    loss: z.number().nullable(),
    tokens: counter.nullable(),
    tokensPerSecond: z.number().nullable(),
    stepTimeMs: z.number(),
    gradNorm: z.number().nullable(),
    learningRate: z.number().nullable().default(null),
    at: timestamp,
    bucket: StepBucket.nullable()
      .default(null)
      .describe(
        'null: one step. Else step is the first of several, values are means, tokens is the sum, and at belongs to the last.',
      ),
  })
  .meta({ id: 'StepPoint' });
export type StepPoint = z.infer<typeof StepPoint>;
/** Steps that the API did not receive. */
export const SeriesGap = z
  .object({ at: timestamp, missedFrames: counter.nullable().describe('null: unknown, because the stream restarted.') })
  .meta({ id: 'SeriesGap' });
export type SeriesGap = z.infer<typeof SeriesGap>;
/** A page of the loss curve. */
export const StepList = z.object({ items: z.array(StepPoint), gaps: z.array(SeriesGap) }).meta({ id: 'StepList' });
export type StepList = z.infer<typeof StepList>;

/** The place of one rank. */
export const RankPlace = z
  .object({
    rank: counter,
    podIndex: counter,
    pod: z.string(),
    node: z.string(),
    tensorIndex: counter,
    contextIndex: counter.default(0),
    dataIndex: counter,
    pipelineIndex: counter,
    nvlinkDomain: z.string().nullable(),
    island: z.string().nullable(),
    nicType: z.string().nullable(),
    lastStep: counter.nullable(),
    stepTimeMs: z.number().nullable(),
  })
  .meta({ id: 'RankPlace' });
export type RankPlace = z.infer<typeof RankPlace>;
/** A node with ranks of a job. */
export const RankNode = z
  .object({
    name: z.string(),
    nvlinkDomain: z.string().nullable().describe('Null: a domain of its own, or unknown.'),
    island: z.string().nullable(),
    nicType: z.string().nullable(),
    switches: z
      .array(z.string())
      .describe(
        'Switches above the node, nearest first: leaf, spine, core and beyond. Empty: unknown, or the node is not observed now.',
      ),
  })
  .meta({ id: 'RankNode' });
export type RankNode = z.infer<typeof RankNode>;
const bytes = z.number().min(0);
/** Bytes of a step across each boundary between two ranks. Traffic that crosses one boundary also crosses all nearer ones. */
export const RankTraffic = z
  .object({
    source: z
      .enum(['planned', 'assumed'])
      .describe(
        'planned: from the model and batch of the job. assumed: from a typical model, because the job names none.',
      ),
    gpu: bytes.describe('Between GPUs: all traffic between ranks.'),
    node: bytes,
    nvlinkDomain: bytes,
    leaf: bytes,
    spine: bytes,
    core: bytes.describe('Switches beyond the spine.'),
    island: bytes,
  })
  .meta({ id: 'RankTraffic' });
export type RankTraffic = z.infer<typeof RankTraffic>;
/** The place of each rank of a job. */
export const RankMap = z
  .object({
    epoch: counter,
    items: z.array(RankPlace),
    bytesPerStep: RankTraffic.nullable()
      .default(null)
      .describe(
        'What the placement sends over which boundary. Null: nothing is placed, or its nodes are not all seen.',
      ),
    nodes: z.array(RankNode).default([]).describe('Each node that ranks are on, once.'),
  })
  .meta({ id: 'RankMap' });
export type RankMap = z.infer<typeof RankMap>;

/** What retention decided about a checkpoint. */
const ShownRetention = z
  .object({
    keeps: z.boolean().describe('Whether it stays.'),
    because: z.string().describe('Why, in a sentence.'),
    problem: z.string().optional().describe('Why its files could not be deleted yet. Absent: nothing was in the way.'),
  })
  .meta({ id: 'ShownRetention' });

/** A checkpoint as the API returns it. */
export const CheckpointRecord = z
  .object({
    name: z.string(),
    uid: z.string(),
    namespace: z.string(),
    jobId: z.uuid().nullable(),
    ...CheckpointResourceSpec.shape,
    location: z
      .string()
      .default('')
      .describe('CLAIM/PATH, or s3://BUCKET/PREFIX/PATH. Empty: an API of the release before answered.'),
    state: CheckpointResourceStatus.shape.state,
    isSuspect: z
      .boolean()
      .default(false)
      .describe('Whether a Complete one could not be loaded, as the message says; launchers verify it again.'),
    message: z.string().nullable(),
    verification: CheckpointVerification.nullable()
      .default(null)
      .describe(
        'The closest verification of its bytes. Null: an earlier release recorded it, or no reader knows its format.',
      ),
    contents: CheckpointContents.nullable()
      .default(null)
      .describe('What its files hold. Null: no reader knows its format.'),
    progress: CheckpointProgress.nullable()
      .default(null)
      .describe('Loss and tokens at its step. Null: an earlier release recorded it, or nothing reported steps.'),
    pin: z
      .string()
      .nullable()
      .default(null)
      .describe('Why its object is kept whatever the retention; null: it is not pinned.'),
    retention: ShownRetention.nullable()
      .default(null)
      .describe('What retention decided last. Null: no policy decided about it.'),
    isBeingDeleted: z
      .boolean()
      .default(false)
      .describe('Whether its files or its object are being deleted. Retention sets the state to Damaged meanwhile.'),
    isAbsent: z
      .boolean()
      .default(false)
      .describe('Whether a pod did not find its files, although it could read other saves of the claim.'),
    createdAt: timestamp,
    deletedAt: timestamp.nullable(),
  })
  .meta({ id: 'CheckpointRecord' });
export type CheckpointRecord = z.infer<typeof CheckpointRecord>;
/** Checkpoints of a job. */
export const CheckpointList = z.object({ items: z.array(CheckpointRecord) }).meta({ id: 'CheckpointList' });
export type CheckpointList = z.infer<typeof CheckpointList>;

/** A stored layout. */
export const StoredLayout = z
  .object({
    id: z.uuid(),
    name: z.string().nullable(),
    layout: ParallelLayout,
    worldSize: counter,
    createdAt: timestamp,
  })
  .meta({ id: 'StoredLayout' });
export type StoredLayout = z.infer<typeof StoredLayout>;
/** Body of the request that stores a layout. */
export const LayoutCreate = z
  .strictObject({ name: GivenName.optional(), layout: ParallelLayout })
  .meta({ id: 'LayoutCreate', examples: [EXAMPLE_LAYOUT] });
export type LayoutCreate = z.infer<typeof LayoutCreate>;
/** A page of stored layouts. */
export const LayoutList = z.object({ items: z.array(StoredLayout) }).meta({ id: 'LayoutList' });
export type LayoutList = z.infer<typeof LayoutList>;

/** A question to the planner with its answer, as it was given then. */
export const StoredPlan = z
  .object({
    id: z.uuid(),
    project: z.string(),
    request: PlanRequest,
    answer: PlanAnswer,
    plannerVersion: z.string(),
    createdAt: timestamp,
  })
  .meta({ id: 'StoredPlan' });
export type StoredPlan = z.infer<typeof StoredPlan>;

/** A stored plan without its runners-up and counts. */
export const PlanSummary = z
  .object({
    id: z.uuid(),
    project: z.string(),
    model: z.string().nullable(),
    gpu: z.string(),
    gpus: counter,
    layout: ParallelLayout.nullable().describe('null: no layout fits.'),
    predictedStepMs: z.number().nullable(),
    predictedStepLowMs: z
      .number()
      .optional()
      .describe(
        'With predictedStepHighMs, where 80 of 100 such steps lie. Absent: no layout fits, or the answer was kept before there were intervals.',
      ),
    predictedStepHighMs: z.number().optional(),
    plannerVersion: z.string(),
    createdAt: timestamp,
  })
  .meta({ id: 'PlanSummary' });
export type PlanSummary = z.infer<typeof PlanSummary>;
/** A page of plans. */
export const PlanList = z.object({ items: z.array(PlanSummary), ...page }).meta({ id: 'PlanList' });
export type PlanList = z.infer<typeof PlanList>;

const pct = z.number().nullable();
const accuracy = {
  n: counter.describe('Layouts of jobs that were predicted and measured; a restart on the same layout counts once.'),
  medianAbsPct: pct,
  p90AbsPct: pct.describe('Nine of ten are closer than this.'),
  biasPct: pct.describe('Mean; above 0: predictions are too long.'),
  within10: pct.describe('Share within 10 %, in percent.'),
  within20: pct,
};
/** How far predictions of step times were from what was measured; percentages of the measured time, null where n is 0. */
export const AccuracyFigures = z.object(accuracy).meta({ id: 'AccuracyFigures' });
export type AccuracyFigures = z.infer<typeof AccuracyFigures>;
/** Accuracy of predictions for one engine and GPU type. */
export const AccuracyGroup = z
  .object({ engine: z.string(), gpuType: z.string(), ...accuracy })
  .meta({ id: 'AccuracyGroup' });
export type AccuracyGroup = z.infer<typeof AccuracyGroup>;
/** Predicted and measured step time of one attempt. */
export const MeasuredPrediction = z
  .object({
    jobId: z.uuid(),
    project: z.string().nullable(),
    name: z.string(),
    engine: z.string(),
    gpuType: z.string(),
    gpus: counter,
    epoch: counter,
    layout: ParallelLayout,
    microBatchSize: counter,
    predictedMs: z.number(),
    measuredMs: z.number(),
    measuredSteps: counter,
    errorPct: z.number(),
    plannerVersion: z.string(),
    startedAt: timestamp,
  })
  .meta({ id: 'MeasuredPrediction' });
export type MeasuredPrediction = z.infer<typeof MeasuredPrediction>;
/** Prediction against measurement over the jobs that the caller may see. */
export const PlanAccuracy = z
  .object({
    overall: AccuracyFigures,
    groups: z.array(AccuracyGroup).describe('By engine and GPU, largest first.'),
    items: z.array(MeasuredPrediction).describe('Newest first, at most 500; the figures cover the newest 10,000.'),
  })
  .meta({ id: 'PlanAccuracy' });
export type PlanAccuracy = z.infer<typeof PlanAccuracy>;

/** RFC 9457 problem details; `code` is a DomainErrorCode. */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    instance: z.string().optional(),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof Problem>;

/** One thing in the way of a job that was not submitted. */
export const JobObstacle = z
  .object({
    reason: z.string().describe('Stable name, as in `StartVerdict`.'),
    field: z.string().describe('What of the request it is about: `spec.gpus`, `name`.'),
    value: z.string().nullable().describe('The value of the field; null: it has none, or it is not repeated.'),
    rule: z.string().describe('Why the job cannot start with this value.'),
    change: z.string().nullable().describe('The smallest change that helps; null: none is needed.'),
    effect: z
      .enum(['NeedsChange', 'Waits', 'MayFail'])
      .describe(
        'NeedsChange: the job never starts as things are. Waits: it starts by itself once other jobs end, or on fewer GPUs if minGpus allows it. MayFail: it starts, and the planner predicts that it fails.',
      ),
  })
  .meta({ id: 'JobObstacle' });
export type JobObstacle = z.infer<typeof JobObstacle>;

/** The planner's answer for a job that was not submitted. */
export const JobPlanPreview = JobPlan.omit({ plannedAt: true }).meta({ id: 'JobPlanPreview' });
export type JobPlanPreview = z.infer<typeof JobPlanPreview>;

/** What a job would wait for if it were submitted now. Nothing is submitted. */
export const JobCheck = z
  .object({
    verdict: StartVerdict.nullable().describe('Why it would not train at once; null: nothing known is in its way.'),
    obstacles: z
      .array(JobObstacle)
      .optional()
      .describe(
        'Everything known that is in its way, what needs a change first. Absent: an API of an earlier release.',
      ),
    checked: z
      .array(z.string())
      .describe('What was checked: spec, name, runtime, cluster, objects, quotas, gpus, plan.'),
    notChecked: z
      .array(z.object({ what: z.string(), why: z.string() }))
      .describe('What is known only after the submit, or could not be asked now.'),
    gpusWanted: counter,
    gpus: GpuCounts.nullable().describe('null: the operator has not counted them.'),
    plan: JobPlanPreview.nullable()
      .optional()
      .describe('Answer of the planner; null: it had none in time. Absent: an API of an earlier release.'),
  })
  .meta({ id: 'JobCheck' });
export type JobCheck = z.infer<typeof JobCheck>;
