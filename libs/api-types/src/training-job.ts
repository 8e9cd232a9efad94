/** The TrainingJob resource and its status. */
import { z } from 'zod';
import { Attempt, MAX_ATTEMPTS_IN_STATUS } from './attempt.ts';
import { AvoidedNode, MAX_AVOIDED_NODES } from './avoided-node.ts';
import { JobConversion } from './checkpoint-conversion.ts';
import { MAX_UNRECORDED_CHECKPOINTS, UnrecordedCheckpoint } from './checkpoint.ts';
import { Condition } from './conditions.ts';
import { ExpectedStart } from './expected-start.ts';
import { FailureTally } from './failure-record.ts';
import { Incident, MAX_INCIDENTS_IN_STATUS } from './incident.ts';
import { JobClaim } from './job-claim.ts';
import { JobPlan } from './job-plan.ts';
import type { ObjectMeta } from './metadata.ts';
import type { API_GROUP_VERSION } from './names.ts';
import { ResumeFrom } from './resume-from.ts';
import { counter, timestamp } from './status-fields.ts';
import type { TrainingJobSpec } from './training-job-spec.ts';

/** States of a job, derived from its conditions for columns and lists. */
export const JOB_STATES = [
  'Queued',
  'Starting',
  'Running',
  'Restarting',
  'Suspending',
  'Suspended',
  'Stopping',
  'Complete',
  'Failed',
  'Cancelled',
] as const;
/** State of a job. */
export const JobState = z.enum(JOB_STATES);
export type JobState = z.infer<typeof JobState>;

/** Status of a TrainingJob. */
export const TrainingJobStatus = z
  .object({
    observedGeneration: counter.optional().describe('metadata.generation that this status is about.'),
    state: JobState.optional().describe('State of the job, derived from its conditions.'),
    summary: z.string().max(1024).optional().describe('One sentence: what the job does now, or why it waits.'),
    epoch: counter.default(0).describe('Number of the current attempt; 0 before the first.'),
    restarts: z
      .object({
        total: counter.describe('All of them, in new pods and in the same pods.'),
        charged: counter.describe('Those that were charged to restartPolicy.maxRestarts or to a budget.'),
      })
      .default({ total: 0, charged: 0 })
      .describe('Restarts after failures. Moves and other numbers of GPUs do not count.'),
    failures: FailureTally.optional().describe(
      'Counts of failures, in addition to restarts. Kept across pods, pauses and operators. Absent: no failure was judged.',
    ),
    notBefore: timestamp.optional().describe('The next attempt does not start before this time.'),
    askedAt: timestamp
      .optional()
      .describe(
        'Since when this run of the job asks for GPUs. Waiting jobs of a namespace are served in the order of this time. Restarts, moves and other sizes keep it; a job that is resumed after spec.suspend asks anew.',
      ),
    expectedStart: ExpectedStart.optional().describe(
      'When the job is expected to start on the nodes that are held for it. Absent: no nodes are held for it.',
    ),
    claim: JobClaim.optional().describe(
      'Running jobs of lower priority that make room for this one, and how the newest such claim ended. Absent: there was none since the last start.',
    ),
    priority: z
      .object({
        className: z
          .string()
          .max(253)
          .optional()
          .describe('PriorityClass that the value comes from. Absent: the cluster has no default class.'),
        value: z.int().min(-2_147_483_648).max(2_147_483_647).describe('Value of that class.'),
      })
      .optional()
      .describe(
        'Priority of the job as last read from its PriorityClass. It is kept if the class is deleted. Absent: 0, or recorded by an earlier release.',
      ),
    runtime: z
      .object({
        heldSeconds: counter.describe('Time for which the ended attempts of this run held GPUs.'),
        throughEpoch: counter.describe('Newest attempt that is counted in heldSeconds.'),
        announcedAt: timestamp
          .optional()
          .describe('When it was announced that the limit is near. Absent: it is not near.'),
      })
      .optional()
      .describe('How much of spec.maxRuntimeSeconds this run has used. Absent: the job has no limit.'),
    progress: z
      .object({
        step: counter.describe('Newest step that is complete.'),
        totalSteps: counter.optional().describe('Steps of the whole training.'),
        loss: z.number().optional().describe('Loss of that step.'),
        tokensPerSecond: z.number().optional().describe('Tokens per second of the whole job.'),
        etaSeconds: counter.optional().describe('Expected seconds until the last step.'),
        reportedAt: timestamp.describe('When the ranks reported it.'),
      })
      .optional()
      .describe('Written at most every 15 s.'),
    checkpoint: z
      .object({ name: z.string().max(253).describe('Name of the Checkpoint.'), step: counter.describe('Its step.') })
      .optional()
      .describe(
        'Newest checkpoint that the job would resume from. Its step falls only where that one is found damaged or is passed over as suspect, or where spec.resumeFrom asks for an older one.',
      ),
    resumeFrom: z
      .object({ ...ResumeFrom.shape, epoch: counter.describe('Attempt that used it.') })
      .optional()
      .describe(
        'The newest spec.resumeFrom that was used, and the attempt that used it. Of the checkpoints before that attempt only the named one is used again.',
      ),
    plan: JobPlan.optional().describe('Answer of the planner. Absent: it was not asked yet.'),
    attempts: z.array(Attempt).max(MAX_ATTEMPTS_IN_STATUS).optional().describe('Oldest first.'),
    incidents: z
      .array(Incident)
      .max(MAX_INCIDENTS_IN_STATUS)
      .optional()
      .describe('Incidents, newest last: what was observed, the action, and the outcome.'),
    avoidedNodes: z
      .array(AvoidedNode)
      .max(MAX_AVOIDED_NODES)
      .optional()
      .describe(
        'Nodes that placement avoids while others are free, oldest first. An entry expires after an hour, or when the node was rebooted or replaced.',
      ),
    unrecordedCheckpoints: z
      .array(UnrecordedCheckpoint)
      .max(MAX_UNRECORDED_CHECKPOINTS)
      .optional()
      .describe(
        'Checkpoints of ended attempts whose objects the API server rejects, oldest first. Coxswain tries again; until then no attempt can resume from them.',
      ),
    conversion: JobConversion.optional().describe(
      'The newest conversion of a checkpoint for this job. Absent: it needed none.',
    ),
    conditions: z
      .array(Condition)
      .max(16)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
      .describe('What holds about the job now.'),
  })
  .meta({ id: 'TrainingJobStatus' });
export type TrainingJobStatus = z.infer<typeof TrainingJobStatus>;

/** The TrainingJob resource. */
export interface TrainingJob {
  readonly apiVersion: typeof API_GROUP_VERSION;
  readonly kind: 'TrainingJob';
  readonly metadata: ObjectMeta;
  readonly spec: TrainingJobSpec;
  readonly status?: TrainingJobStatus;
}
