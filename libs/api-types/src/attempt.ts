/** The record of one attempt: one launch of a gang. */
import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import { AttemptRestore } from './attempt-restore.ts';
import { ATTEMPT_REASONS, type AttemptReason } from './attempt-reasons.ts';
import { MAX_PASSED_OVER, MAX_REREAD_FILES } from './checkpoint.ts';
import { CheckpointFaultOnNode, MAX_FAULTS_OF_ATTEMPT } from './checkpoint-fault.ts';
import { FailureJudgement } from './failure-record.ts';
import { ForClaim } from './job-claim.ts';
import { FailureOrigin, MAX_CAUSE_LINE_CHARACTERS, MAX_CAUSE_LINES } from './job-failure.ts';
import { MemorySave } from './memory-saves.ts';
import { AttemptPreflight, Fingerprint } from './preflight.ts';
import { AttemptTrained } from './trained-facts.ts';
import { RunClock } from './run-clock.ts';
import { counter, milliseconds, timestamp } from './status-fields.ts';

/** How an attempt ended. */
export const ATTEMPT_OUTCOMES = ['Succeeded', 'Failed', 'Suspended', 'Cancelled', 'Resized', 'Moved'] as const;

/** What the planner expected of an attempt when it was placed. */
export const AttemptPrediction = z
  .object({
    stepMs: milliseconds.describe('Time of one step.'),
    peakBytes: counter.describe('Largest memory of a rank.'),
    gpuType: z.string().max(128).describe('GPU that it was predicted for.'),
    microBatchSize: counter.describe('Samples per forward pass of one rank.'),
    plannerVersion: z.string().max(64).describe('Version of the planner.'),
  })
  .meta({ id: 'AttemptPrediction' });
export type AttemptPrediction = z.infer<typeof AttemptPrediction>;

/** How its ranks spent the time between the first and the newest reported step. The save interval is chosen from it. */
export const AttemptPace = z
  .object({
    steps: counter.describe('Steps after the first reported one.'),
    inStepsMs: counter.describe('Time inside these steps, of the slowest rank.'),
    betweenStepsMs: counter.describe('Time between the steps, mostly for saves.'),
    saves: counter.describe('Checkpoints saved at these steps.'),
  })
  .meta({ id: 'AttemptPace' });

/** Most suspicions for which an attempt is asked to save early. */
export const MAX_SAVE_SUSPICIONS = 16;

/** A request to save before the next save is due, because something was observed that often precedes a failure. Decided in libs/lifecycle. */
export const EarlySave = z
  .object({
    request: counter
      .min(1)
      .describe('Increases within the attempt; ranks ignore a request that they already received.'),
    incarnation: counter.min(1).describe('Incarnation of the ranks that were asked.'),
    askedAt: timestamp.describe('When the ranks were asked.'),
    afterStep: counter.describe('Newest step that was known at that time.'),
    why: z.string().max(512).describe('What was observed, in a sentence.'),
    suspicions: z
      .array(z.string().max(128))
      .max(MAX_SAVE_SUSPICIONS)
      .describe('Suspicions for which this attempt was asked so far; each asks once.'),
    outcome: z
      .enum(['Saved', 'NotSaved', 'RanksEnded'])
      .optional()
      .describe(
        'Saved: a checkpoint of that step or a later one came. NotSaved: none did in 10 minutes. RanksEnded: they ended before either. Absent: none of these yet.',
      ),
    savedStep: counter.optional().describe('Step of the checkpoint that came. Absent: none came.'),
  })
  .meta({ id: 'EarlySave' });
export type EarlySave = z.infer<typeof EarlySave>;

/** Steps of a gang that was asked to save and stop, and that the next attempt repeats. */
export const LostWork = z
  .object({
    steps: counter.min(1).describe('Steps after the newest checkpoint that can be used.'),
    savedStep: counter.optional().describe('Step of that checkpoint. Absent: there is none.'),
    why: z.string().max(512).describe('Why they were not saved, in one or two sentences.'),
  })
  .meta({ id: 'LostWork' });
export type LostWork = z.infer<typeof LostWork>;

const reason = z.enum(Object.keys(ATTEMPT_REASONS) as [AttemptReason, ...AttemptReason[]]);

const ResumedFrom = z.object({
  checkpoint: z.string().max(253).describe('Name of the Checkpoint.'),
  step: counter.describe('Step at which training went on.'),
  path: z.string().max(1024).optional().describe('Directory inside the claim. Absent: recorded by an earlier release.'),
  manifestSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe('Absent: recorded by an earlier release.'),
  claimName: z.string().max(63).optional().describe('Claim of an adopted checkpoint. Absent: that of the job.'),
  filesSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe('SHA-256 of the list of its files. Absent: it has a manifest.'),
});

/** A suspect checkpoint that is newer than the one that an attempt begins from. */
export const PassedOverCheckpoint = z
  .object({
    checkpoint: z.string().max(253).describe('Name of the Checkpoint.'),
    step: counter.describe('Its step.'),
    path: z.string().max(1024).describe('Directory inside the claim.'),
    manifestSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe('SHA-256 of its manifest.'),
    files: z
      .array(z.string().max(256))
      .max(MAX_REREAD_FILES)
      .describe(
        'Files that could not be read, as containers see them; of a long path the end. Their content is verified.',
      ),
    why: z.string().max(512).describe('What is held against it, in a sentence.'),
  })
  .meta({ id: 'PassedOverCheckpoint' });
export type PassedOverCheckpoint = z.infer<typeof PassedOverCheckpoint>;

/** Milestones of an incarnation, by the clock of the operator, which receives steps within 15 s. */
const runMarks = {
  restoredAt: timestamp
    .optional()
    .describe('When a rank first reported that it loaded the checkpoint of resumedFrom. Absent: not reported.'),
  firstStep: z
    .object({ step: counter.describe('Number of the step.'), at: timestamp.describe('When it was reported.') })
    .optional()
    .describe('The first reported step, and its time. Absent: none yet, or recorded by an earlier release.'),
  lastStepAt: timestamp
    .optional()
    .describe('When the operator received the newest step, or wrote progress last; recorded with the end.'),
  memorySave: MemorySave.optional().describe(
    'Save in the memory of the pods that it started from, newer than the checkpoint of resumedFrom. Absent: none.',
  ),
  clock: RunClock.optional().describe(
    'Marks that launchers and hooks reported, recorded with the first step, with progress and with a failure. Absent: none was reported, or recorded by an earlier release.',
  ),
};

/** The step after which a run began: that of its save in memory, else that of its checkpoint; 0: from scratch. */
export function startStepOf({ memorySave, resumedFrom }: Pick<EndedIncarnation, 'memorySave' | 'resumedFrom'>): number {
  return memorySave?.step ?? resumedFrom?.step ?? 0;
}

/** An incarnation that failed and was followed by another one in the same pods. */
export const EndedIncarnation = z
  .object({
    incarnation: counter.min(1).describe('Its number in the attempt, from 1.'),
    runningAt: timestamp.optional().describe('When every one of its ranks had been started. Absent: never.'),
    endedAt: timestamp.describe('When its failure was recorded.'),
    reason: reason.describe('Why it ended.'),
    message: z.string().max(1024).optional().describe('Rank, node and how it ended.'),
    charged: z.boolean().describe('Whether the failure was charged to a budget of restarts.'),
    lastStep: counter.optional().describe('Newest step that it reported. Absent: none.'),
    ...runMarks,
    resumedFrom: ResumedFrom.optional().describe('Checkpoint that it started from. Absent: from scratch.'),
    judgement: FailureJudgement.optional().describe('Absent: recorded by an earlier release.'),
    origin: FailureOrigin.optional().describe('Absent: recorded by an earlier release.'),
    lastLines: z
      .array(z.string().max(MAX_CAUSE_LINE_CHARACTERS))
      .max(MAX_CAUSE_LINES)
      .optional()
      .describe('Traceback or last lines of the rank that failed first. Kept for the newest incarnation only.'),
  })
  .meta({ id: 'EndedIncarnation' });
export type EndedIncarnation = z.infer<typeof EndedIncarnation>;
/** Most standbys of a job. */
export const MAX_STANDBYS = 64;

/** A pod of an attempt that lost its ranks to a standby. */
export const PodReplacement = z
  .object({
    podIndex: counter.describe('Index of the pod that held the ranks before.'),
    standby: counter.describe('Index of the standby that holds them since.'),
    incarnation: counter.min(1).describe('First incarnation of the ranks in that standby.'),
    at: timestamp.optional().describe('When it was recorded. Absent: recorded by an earlier release.'),
  })
  .meta({ id: 'PodReplacement' });
export type PodReplacement = z.infer<typeof PodReplacement>;

/** Ended incarnations kept per attempt, newest last. */
export const MAX_ENDED_INCARNATIONS = 8;

/** Most changes of the number of GPUs that fenced pods of an attempt hold. */
export const MAX_HELD_CHANGES = 16;

/**
 * One launch of the gang. `stage` only moves forward: Creating (pods are being made behind their gate) → Released (written before the
 * first gate is lifted) → Stopping (written before the first pod is deleted, with outcome and reason) → Ended (every pod is terminal or gone).
 */
export const Attempt = z
  .object({
    epoch: counter.describe('Number of the attempt, from 1.'),
    stage: z
      .enum(['Creating', 'Released', 'Stopping', 'Ended'])
      .describe(
        'Creating: pods are made behind their scheduling gate. Released: they start. Stopping: the end is recorded. Ended: every pod is terminal or gone.',
      ),
    placement: z.string().max(253).describe('Name of the Placement object of this attempt.'),
    placementSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional()
      .describe(
        'SHA-256 of the canonical spec of that Placement, recorded before it is created; any other Placement is rejected. Absent: started by a release that recorded none.',
      ),
    leaderTerm: counter.optional().describe('Term of the leader that started it.'),
    layout: ParallelLayout,
    resumedFrom: ResumedFrom.optional().describe(
      'Checkpoint that its newest incarnation started from. Absent: from scratch.',
    ),
    incarnation: counter
      .min(1)
      .optional()
      .describe(
        'Incarnation of the ranks in the pods of this attempt. It is recorded before any launcher receives it, and reports of other incarnations are rejected. Absent: the first.',
      ),
    incarnations: z
      .array(EndedIncarnation)
      .max(MAX_ENDED_INCARNATIONS)
      .optional()
      .describe('Earlier incarnations in the same pods, newest last.'),
    standbys: counter
      .min(1)
      .max(MAX_STANDBYS)
      .optional()
      .describe('Standbys of its Placement: pods without ranks, the last ones. Absent: none.'),
    standbyGpus: counter.optional().describe('GPUs that these standbys request. Absent: none.'),
    replacements: z
      .array(PodReplacement)
      .max(MAX_STANDBYS)
      .optional()
      .describe(
        'Pods that lost their ranks to standbys, oldest first. Such a pod is out for good: its reports and saves are rejected. Absent: none.',
      ),
    lostStandbys: z
      .array(
        z.object({
          podIndex: counter.describe('Index of the standby.'),
          at: timestamp.describe('When it was recorded.'),
        }),
      )
      .max(MAX_STANDBYS)
      .optional()
      .describe(
        'Standbys that ended, were deleted or are gone before they took a place, oldest first. They take none any more. Absent: none.',
      ),
    startedAt: timestamp.describe('When the attempt was recorded, before its first pod.'),
    releasedAt: timestamp.optional().describe('When every pod existed and the gates were lifted.'),
    runningAt: timestamp
      .optional()
      .describe('When every pod was running; of a later incarnation, when all its ranks had been started.'),
    stoppingAt: timestamp
      .optional()
      .describe('When its end was recorded: a failure seen, a suspend or cancel answered.'),
    endedAt: timestamp.optional().describe('When every pod was terminal, gone or fenced.'),
    heldByFenced: z
      .array(z.object({ at: timestamp.describe('From this time on.'), gpus: counter.describe('GPUs that are held.') }))
      .max(MAX_HELD_CHANGES)
      .optional()
      .describe(
        'GPUs that its fenced pods hold after endedAt, each number from its time on: a pod on a lost node cannot be deleted. Absent: none.',
      ),
    outcome: z.enum(ATTEMPT_OUTCOMES).optional().describe('How the attempt ended. Absent: it has not ended.'),
    reason: reason.optional().describe('Why it ended, as a stable name.'),
    message: z
      .string()
      .max(8192)
      .optional()
      .describe('For a failure: rank, node, exit code and the last lines of its log.'),
    checkpointFaults: z
      .array(CheckpointFaultOnNode)
      .max(MAX_FAULTS_OF_ATTEMPT)
      .optional()
      .describe('What kept its nodes from loading the checkpoint of resumedFrom.'),
    passedOver: z
      .array(PassedOverCheckpoint)
      .max(MAX_PASSED_OVER)
      .optional()
      .describe(
        'Suspect checkpoints that are newer than resumedFrom, newest first. The launcher of rank 0 verifies them before the ranks start. Absent: none.',
      ),
    verifiedCheckpoint: z
      .string()
      .max(253)
      .optional()
      .describe(
        'The one of passedOver that verified. The attempt ended for that, and the next one resumes from it. Absent: none.',
      ),
    charged: z.boolean().optional().describe('For a failure: whether it was charged to a budget of restarts.'),
    answer: z
      .enum(['Restart', 'GiveUp'])
      .optional()
      .describe('For a failure: whether a next attempt follows. Decided once, with the budget at that time.'),
    lastStep: counter.optional().describe('Newest step that it reported. Absent: none.'),
    ...runMarks,
    judgement: FailureJudgement.optional().describe(
      'For a failure: its class, the rule that held, and the resulting action. Absent: recorded by an earlier release.',
    ),
    origin: FailureOrigin.optional().describe(
      'For a failure: where it began, and how the process ended. Absent: recorded by an earlier release.',
    ),
    preflight: AttemptPreflight.optional().describe('Absent: there was none, or its end was not reported.'),
    fingerprint: Fingerprint.optional().describe('Absent: no preflight ran.'),
    trained: AttemptTrained.optional().describe('Absent: no hook has reported what is trained.'),
    placedWhere: z
      .string()
      .max(512)
      .optional()
      .describe(
        'Why its ranks sit where they do: racks, islands, bytes per step between them, and which smaller pods would cost less. Absent: one node.',
      ),
    saves: z
      .string()
      .max(512)
      .optional()
      .describe(
        'Number of steps between saves, and the reason in a sentence. Absent: the value of checkpoint.everySteps.',
      ),
    pace: AttemptPace.optional().describe('Absent: no step was reported, or recorded by an earlier release.'),
    restore: AttemptRestore.optional().describe(
      'How its newest incarnation continued from resumedFrom. Absent: from scratch, nothing is known yet, or recorded by an earlier release.',
    ),
    earlySave: EarlySave.optional().describe('The newest early save that was requested. Absent: none.'),
    forClaim: ForClaim.optional().describe(
      'For an attempt that made room: the job that gets its nodes. Absent: it made no room.',
    ),
    lostWork: LostWork.optional().describe(
      'For an attempt that was suspended, moved or resized: steps that were not saved. Absent: none, or recorded by an earlier release.',
    ),
    prediction: AttemptPrediction.optional().describe('Absent: nothing could be predicted.'),
  })
  .meta({ id: 'Attempt' });
export type Attempt = z.infer<typeof Attempt>;
/** The name of an incarnation: `2`, or `2.3` for the third in the pods of attempt 2. `incarnation` is absent if the attempt had only one. */
export function nameOfRun(epoch: number, incarnation: number | undefined): string {
  return incarnation === undefined ? `${epoch}` : `${epoch}.${incarnation}`;
}

/** Attempts kept in status; older ones are in the database. */
export const MAX_ATTEMPTS_IN_STATUS = 20;
