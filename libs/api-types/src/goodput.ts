/** Categories of the GPU-seconds of a job, and the report on them. */
import { z } from 'zod';
import { JobCost } from './costs.ts';
import { counter, timestamp } from './status-fields.ts';

/**
 * What the held GPUs of a job spend their time on: each GPU-second is in exactly one. The words are those of ml-goodput-measurement (AI-Hypercomputer), as far as
 * what is recorded can tell them apart; docs/reference/goodput.md describes how each is measured.
 */
export const GOODPUT_CATEGORIES = {
  productive: 'Steps that were trained and did not have to be trained again.',
  initialisation:
    'From the placement to the first step: scheduling, images, preflight, start of the ranks, rendezvous, and the first step itself.',
  checkpointRestore: 'From the start of the ranks until they had loaded the checkpoint that they resume from.',
  checkpointSave: 'Between the steps of a run that saved checkpoints.',
  preemption:
    'Lost because the job made room for a job of higher priority, or Kueue took its quota: steps that were not saved, and the time from the last step until the gang was gone.',
  wastedProgress: 'Steps that were trained again later, because the run that followed began before them.',
  infrastructureRecovery:
    'From the last step before a failure of a node, the network, storage or the cluster until ranks were started again: noticing, ending the gang, making it anew.',
  programRecovery: 'The same after a failure of the program.',
  unexplainedRecovery: 'The same after a failure whose cause is not known.',
  slow: 'Time lost to a straggler, if a verdict estimates it.',
  plannedStop: 'From the last step until the gang was gone, where the work was done or a stop was asked for.',
  standby:
    'Held by standbys: pods that start no rank, and wait to take the place of another one. They overlap with runs.',
  lostNode:
    'Held by pods that cannot be deleted because their node does not answer, after their attempt has ended. They overlap with later attempts.',
  other: 'Between the steps of an incarnation that saved nothing, and time without records.',
} as const satisfies Record<string, string>;
/** Category of a GPU-second. */
export type GoodputCategory = keyof typeof GOODPUT_CATEGORIES;

const categories = Object.keys(GOODPUT_CATEGORIES) as [GoodputCategory, ...GoodputCategory[]];
const seconds = z.number().min(0);

/** GPU-seconds of one category. */
export const GoodputShare = z
  .object({
    category: z.enum(categories),
    gpuSeconds: seconds,
    share: z.number().min(0).max(1).describe('Of all held GPU-seconds; 0 where none were held.'),
  })
  .meta({ id: 'GoodputShare' });
export type GoodputShare = z.infer<typeof GoodputShare>;

/** A stretch of a job's life, for a bar. */
export const GoodputSpan = z
  .object({
    from: timestamp,
    to: timestamp,
    spent: z
      .enum([...categories, 'waiting', 'suspended'])
      .describe(
        'On what. Saves and stragglers have no place in time, so they are in no span. While waiting and suspended no GPU is held.',
      ),
    gpus: counter.describe('Held meanwhile.'),
    epoch: counter.nullable().describe('Null: between attempts, or several of them.'),
  })
  .meta({ id: 'GoodputSpan' });
export type GoodputSpan = z.infer<typeof GoodputSpan>;

/** What time was spent on, in words: `checkpoint restore`. */
export function goodputWords(spent: GoodputSpan['spent']): string {
  return spent.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Most spans of a report; if there are more, each span has the category that took most of its time. */
export const MAX_GOODPUT_SPANS = 400;

/** Most recoveries of a report: the newest. */
export const MAX_RECOVERIES = 50;

/**
 * Phases of a restart, in their order: each is the time until what it names was over. The home of their names; docs/reference/goodput.md describes how each is
 * measured.
 */
export const RESTART_PHASES = {
  detecting: 'From the last step before the failure until a launcher saw that a rank had failed.',
  deciding: 'Until the operator had recorded the failure, and what it does about it.',
  reaping: 'Until every process of the failed ranks was gone.',
  placing: 'Until nodes were found for the next gang. 0: the ranks start again in their pods.',
  starting: 'Until the process of every rank was started: the pause before a restart, pods, images, preflight.',
  importing: 'Until every rank had imported PyTorch.',
  meeting: 'Until every rank had initialised its process group (rendezvous), with what the program does before that.',
  loading: 'Until every rank had loaded the checkpoint.',
  stepping: 'Until the first new step was complete: what is left of the start, compilation, the step itself.',
} as const;
/** Phase of a restart. */
export type RestartPhase = keyof typeof RESTART_PHASES;
const phaseName = z
  .enum(Object.keys(RESTART_PHASES) as [RestartPhase, ...RestartPhase[]])
  .describe('Each phase begins where the last known one before it ends.');

/** Seconds of one phase of a restart. */
export const RestartPhaseTime = z
  .object({
    phase: phaseName,
    seconds: seconds
      .nullable()
      .describe('Null: not known, or not over yet. The time of a phase that is not known is in the next known one.'),
  })
  .meta({ id: 'RestartPhaseTime' });
export type RestartPhaseTime = z.infer<typeof RestartPhaseTime>;

/** What all restarts of a job spent in one phase. */
export const RestartPhaseTotal = z
  .object({
    phase: phaseName,
    restarts: counter.describe('Restarts that have come to their first step, if the phase is known.'),
    seconds: seconds.describe('Of these restarts, in all.'),
    gpuSeconds: seconds.describe('GPU-seconds that were held meanwhile. While nodes are sought none are.'),
  })
  .meta({ id: 'RestartPhaseTotal' });
export type RestartPhaseTotal = z.infer<typeof RestartPhaseTotal>;

/** How long a job took from the last step before a failure to its next step. The phases follow each other, and none is counted twice. */
export const JobRecovery = z
  .object({
    epoch: counter.describe('Attempt that took the place of the failed ranks.'),
    incarnation: counter.describe('Incarnation of that attempt.'),
    failedAt: timestamp.describe('When the failure was recorded and the restart decided.'),
    resumedFromStep: counter.describe('0: from scratch.'),
    lastStep: counter.nullable().describe('Of the ranks that failed. Null: they took none.'),
    phases: z.array(RestartPhaseTime).describe('Every phase, in their order. The known ones add up to the total.'),
    total: seconds
      .nullable()
      .describe(
        'Seconds from the last step before the failure to the first new step; if there was no step before, from the failure. Null: there was no new step.',
      ),
  })
  .meta({ id: 'JobRecovery' });
export type JobRecovery = z.infer<typeof JobRecovery>;

/** `9.4 s: detecting 0.1 s, ..., stepping 1.2 s; not known: loading`, of a restart that has come to its first step. */
export function formatRestart({ phases, total }: JobRecovery, formatSeconds: (seconds: number) => string): string {
  const known = phases.flatMap(({ phase, seconds: spent }) =>
    spent === null ? [] : [`${phase} ${formatSeconds(spent)}`],
  );
  const unknown = phases.flatMap(({ phase, seconds: spent }) => (spent === null ? [phase] : []));
  const rest = total === null ? 'not reached or not known' : 'not known';
  return [
    `${total === null ? 'no new step' : formatSeconds(total)}: ${known.join(', ')}`,
    ...(unknown.length === 0 ? [] : [`${rest}: ${unknown.join(', ')}`]),
  ].join('; ');
}

/** Most saves of a report: the newest. */
export const MAX_JOB_SAVE_STOPS = 50;

/** How long ranks stood still for one save. */
export const JobSaveStop = z
  .object({
    epoch: counter.describe('Attempt that saved.'),
    incarnation: counter.describe('Incarnation of that attempt.'),
    step: counter.describe('Step of the save.'),
    seconds: seconds.describe('How much longer the step after the save took than steps without a save.'),
  })
  .meta({ id: 'JobSaveStop' });
export type JobSaveStop = z.infer<typeof JobSaveStop>;

/** How often a job should save, from what was measured of it. */
export const RecommendedSaves = z
  .object({
    everySteps: counter.min(1),
    everySeconds: seconds.describe('Training time of these steps.'),
    secondsPerSave: seconds.describe(
      'How long a save stopped the ranks, on average. 0: less than reports of steps show.',
    ),
    saves: counter.describe('Saves that were measured.'),
    secondsToFailure: seconds.describe('Expected time between failures of the job.'),
    failures: counter.describe('Failures of the job itself; a published rate counts as one more.'),
  })
  .meta({ id: 'RecommendedSaves' });
export type RecommendedSaves = z.infer<typeof RecommendedSaves>;

/** `every 120 steps (about 20 min): a save stops the ranks for 3 s (4 measured), and a failure is expected every 5 h (2 of its own).` */
export function formatRecommendedSaves(saves: RecommendedSaves, formatSeconds: (seconds: number) => string): string {
  const { everySteps, everySeconds, secondsPerSave, saves: measured, secondsToFailure, failures } = saves;
  return `every ${everySteps} steps (about ${formatSeconds(everySeconds)}): a save stops the ranks for ${formatSeconds(secondsPerSave)} (${measured} measured), and a failure is expected every ${formatSeconds(secondsToFailure)} (${failures} of its own, beside a published rate)`;
}

/** GPU time of a job in a month. */
export const GoodputMonth = z
  .object({
    month: z.string().describe('In UTC, such as 2030-01.'),
    from: timestamp.describe('First moment with GPUs.'),
    to: timestamp.describe('Last moment with GPUs.'),
    gpuSeconds: seconds.describe('Held, with standbys and without lostNode.'),
    productiveGpuSeconds: seconds.describe('Of them, in productive spans.'),
  })
  .meta({ id: 'GoodputMonth' });
export type GoodputMonth = z.infer<typeof GoodputMonth>;

/** Where the GPU-seconds of a job went. */
export const JobGoodput = z
  .object({
    asOf: timestamp.describe('End of the reported time: the end of the job, or the time of the answer.'),
    gpuSeconds: seconds.describe('Held in all; the shares add up to it.'),
    goodput: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe('Productive share of the held GPU-seconds. Null: none were held.'),
    shares: z.array(GoodputShare).describe('Every category, in one order.'),
    heldSeconds: seconds.describe('Of wall time, with GPUs held.'),
    waitingSeconds: seconds.describe(
      'Of wall time, without: waiting for capacity, a plan, or the pause before a restart.',
    ),
    suspendedSeconds: seconds.describe(
      'Of wall time, without, since a suspend was answered; with the wait for capacity that follows it.',
    ),
    spans: z.array(GoodputSpan).max(MAX_GOODPUT_SPANS).describe('Oldest first.'),
    months: z
      .array(GoodputMonth)
      .optional()
      .describe('Each month in which the job held GPUs, oldest first. Absent: from an earlier release.'),
    recoveries: z
      .array(JobRecovery)
      .max(MAX_RECOVERIES)
      .optional()
      .describe('From failures to the next steps, oldest first. Absent: from an earlier release.'),
    restartPhases: z
      .array(RestartPhaseTotal)
      .optional()
      .describe(
        'The time of all restarts, also of those that recoveries leaves out, by phase: every phase, in their order. Parts of the recovery, initialisation and checkpointRestore shares, and no category of their own. Absent: from an earlier release.',
      ),
    secondsPerSave: seconds
      .nullable()
      .optional()
      .describe(
        'How long a save stopped the ranks, on average: time between steps at which checkpoints were saved. Null or absent: none was saved between reported steps, or the saves took less than these reports can show.',
      ),
    saveStops: z
      .array(JobSaveStop)
      .max(MAX_JOB_SAVE_STOPS)
      .optional()
      .describe(
        'How long ranks stood still for each of the newest saves, oldest first: at most eight of an incarnation. Absent: from an earlier release.',
      ),
    recommendedSaves: RecommendedSaves.nullable()
      .optional()
      .describe(
        'The interval between saves that costs least; applied only with checkpoint.interval Auto. Null or absent: no save was measured.',
      ),
    cost: JobCost.nullable()
      .optional()
      .describe(
        'What the job cost so far, by the price list of the administrator. Null or absent: there is no list, or it has no price of the GPU.',
      ),
    attemptsLeftOut: counter.describe('Oldest attempts that are not counted, beyond the newest 2000.'),
  })
  .meta({ id: 'JobGoodput' });
export type JobGoodput = z.infer<typeof JobGoodput>;
