/** How did one launch of a gang go? */
import { ParallelLayout } from '@coxswain/layout';
import { z } from 'zod';
import { ATTEMPT_REASONS, type AttemptReason } from './attempt-reasons.ts';
import { CheckpointFaultOnNode, MAX_FAULTS_OF_ATTEMPT } from './checkpoint-fault.ts';
import { FailureJudgement } from './failure-record.ts';
import { AttemptPreflight, Fingerprint } from './preflight.ts';
import { AttemptTrained } from './trained-facts.ts';
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
    plannerVersion: z.string().max(64),
  })
  .meta({ id: 'AttemptPrediction' });
export type AttemptPrediction = z.infer<typeof AttemptPrediction>;

/** What its ranks spent between the first step that was heard of and the newest, so that a time between saves can be chosen by it. */
export const AttemptPace = z
  .object({
    steps: counter.describe('Beyond the first that was heard of.'),
    inStepsMs: counter.describe('Inside of these, of the slowest rank.'),
    betweenStepsMs: counter.describe('The rest of the time: saves, above all.'),
    saves: counter.describe('Checkpoints of these steps.'),
  })
  .meta({ id: 'AttemptPace' });

/** Suspicions for which an attempt is asked to save early: one that has more is looked at by people already. */
export const MAX_SAVE_SUSPICIONS = 16;

/** That ranks were asked to save before their next save was due, because something was seen that often comes before a failure. Decided in libs/lifecycle. */
export const EarlySave = z
  .object({
    request: counter.min(1).describe('Counts up within the attempt: who was asked the same before does nothing.'),
    incarnation: counter.min(1).describe('Which run of the ranks was asked.'),
    askedAt: timestamp,
    afterStep: counter.describe('Newest step that was known then.'),
    why: z.string().max(512).describe('What was seen, in a sentence.'),
    suspicions: z
      .array(z.string().max(128))
      .max(MAX_SAVE_SUSPICIONS)
      .describe('For which this attempt has been asked so far; each asks once.'),
    outcome: z
      .enum(['Saved', 'NotSaved', 'RanksEnded'])
      .optional()
      .describe(
        'Saved: a checkpoint of that step or a later one came. NotSaved: none did in 10 minutes. RanksEnded: they ended before either. Absent: none of these yet.',
      ),
    savedStep: counter.optional(),
  })
  .meta({ id: 'EarlySave' });
export type EarlySave = z.infer<typeof EarlySave>;

const reason = z.enum(Object.keys(ATTEMPT_REASONS) as [AttemptReason, ...AttemptReason[]]);

const ResumedFrom = z.object({
  checkpoint: z.string().max(253),
  step: counter,
  path: z.string().max(1024).optional().describe('Directory inside the claim. Absent: recorded by an earlier release.'),
  manifestSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe('Absent: recorded by an earlier release.'),
});

/** When a run of the ranks did what is counted; by the clock of the operator, which hears of steps within 15 s. */
const runMarks = {
  restoredAt: timestamp
    .optional()
    .describe('When the ranks were first heard to have loaded the checkpoint of resumedFrom. Absent: nobody told.'),
  firstStep: z
    .object({ step: counter, at: timestamp })
    .optional()
    .describe('The first step that was heard of, and when. Absent: none yet, or recorded by an earlier release.'),
  lastStepAt: timestamp
    .optional()
    .describe('When progress was written last, at most 15 s after the newest step; recorded with the end.'),
};

/** A run of the epoch's ranks that failed and was answered by another one in the same pods. */
export const EndedIncarnation = z
  .object({
    incarnation: counter.min(1),
    runningAt: timestamp.optional().describe('When every one of its ranks had been started. Absent: never.'),
    endedAt: timestamp.describe('When its failure was recorded.'),
    reason,
    message: z.string().max(1024).optional().describe('Rank, node and how it ended.'),
    charged: z.boolean(),
    lastStep: counter.optional(),
    ...runMarks,
    resumedFrom: ResumedFrom.optional().describe('Where it had begun. Absent: from scratch.'),
    judgement: FailureJudgement.optional().describe('Absent: recorded by an earlier release.'),
  })
  .meta({ id: 'EndedIncarnation' });
export type EndedIncarnation = z.infer<typeof EndedIncarnation>;
/** Ended incarnations kept per attempt, newest last. */
export const MAX_ENDED_INCARNATIONS = 8;

/**
 * One launch of the gang. `stage` only moves forward: Creating (pods are being made behind their gate) → Released (written before the
 * first gate is lifted) → Stopping (written before the first pod is deleted, with outcome and reason) → Ended (every pod is terminal or gone).
 */
export const Attempt = z
  .object({
    epoch: counter,
    stage: z.enum(['Creating', 'Released', 'Stopping', 'Ended']),
    placement: z.string().max(253).describe('Name of the Placement object of this epoch.'),
    placementSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional()
      .describe(
        'SHA-256 of the canonical spec of that Placement, recorded before it is created: no other one counts. Absent: begun by a release that recorded none.',
      ),
    leaderTerm: counter.optional().describe('Term of the leader that began it.'),
    layout: ParallelLayout,
    resumedFrom: ResumedFrom.optional().describe('Where its newest incarnation began. Absent: from scratch.'),
    incarnation: counter
      .min(1)
      .optional()
      .describe(
        'Which run of the ranks in the pods of this epoch: recorded before any launcher is told, and only of it is anything believed. Absent: the first.',
      ),
    incarnations: z
      .array(EndedIncarnation)
      .max(MAX_ENDED_INCARNATIONS)
      .optional()
      .describe('Earlier runs in the same pods, newest last.'),
    startedAt: timestamp,
    releasedAt: timestamp.optional(),
    runningAt: timestamp
      .optional()
      .describe('When every pod was running; of a later incarnation, when all its ranks had been started.'),
    stoppingAt: timestamp
      .optional()
      .describe('When its end was recorded: a failure seen, a suspend or cancel answered.'),
    endedAt: timestamp.optional().describe('When every pod was terminal, gone or fenced.'),
    outcome: z.enum(ATTEMPT_OUTCOMES).optional(),
    reason: reason.optional(),
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
    charged: z.boolean().optional(),
    answer: z
      .enum(['Restart', 'GiveUp'])
      .optional()
      .describe('For a failure: whether a next epoch answers it. Decided once, with the budget of that moment.'),
    lastStep: counter.optional(),
    ...runMarks,
    judgement: FailureJudgement.optional().describe(
      'For a failure: of which class it is, which rule held, and what that came to. Absent: recorded by an earlier release.',
    ),
    preflight: AttemptPreflight.optional().describe('Absent: there was none, or its end was not heard.'),
    fingerprint: Fingerprint.optional().describe('Absent: no preflight looked at it.'),
    trained: AttemptTrained.optional().describe('Absent: no hook has told what is trained.'),
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
      .describe('After how many steps it saves and why, in a sentence. Absent: as checkpoint.everySteps says.'),
    pace: AttemptPace.optional().describe('Absent: no step was told, or recorded by an earlier release.'),
    earlySave: EarlySave.optional().describe('The newest save that was asked of its ranks. Absent: none was.'),
    prediction: AttemptPrediction.optional().describe('Absent: nothing could be predicted.'),
  })
  .meta({ id: 'Attempt' });
export type Attempt = z.infer<typeof Attempt>;
/** How a run of an attempt's ranks is called: `2`, or `2.3` for the third in the pods of epoch 2. The first is told apart where others followed. */
export function nameOfRun(epoch: number, incarnation: number | undefined): string {
  return incarnation === undefined ? `${epoch}` : `${epoch}.${incarnation}`;
}

/** Attempts kept in status; older ones are in the database. */
export const MAX_ATTEMPTS_IN_STATUS = 20;
