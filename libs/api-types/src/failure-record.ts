/** Records of failures in the status, so that budgets survive new pods, new operators and pauses. */
import { z } from 'zod';
import { CRASH_BLAMES, CRASH_CLASSES, type CrashClass } from './crash-class.ts';
import { FAILURE_ACTIONS, type FailureAction, MAX_BUDGET } from './failure-policy.ts';
import { counter, timestamp } from './status-fields.ts';

/** Reasons for which a job is given up before its budget is spent. */
export const GIVE_UPS = ['RestartsExhausted', 'NoProgress', 'SameTraceback', 'FailurePolicy'] as const;

/** The judgement on one failure, made once when it was recorded. */
export const FailureJudgement = z
  .object({
    rule: z.string().max(63).describe('First rule that holds.'),
    action: z.enum(Object.keys(FAILURE_ACTIONS) as [FailureAction, ...FailureAction[]]).describe('What the rule does.'),
    class: z.enum(Object.keys(CRASH_CLASSES) as [CrashClass, ...CrashClass[]]).describe('Crash class of the failure.'),
    blame: z.enum(CRASH_BLAMES).describe('What the crash class blames.'),
    budget: z.enum(CRASH_BLAMES).optional().describe('Which budget of the failure policy paid. Absent: none.'),
    delayMs: counter.optional().describe('Delay before the restart. Absent: the value of restartPolicy.delaySeconds.'),
    givenUp: z.enum(GIVE_UPS).optional().describe('Reason for which no restart follows.'),
    says: z
      .string()
      .max(768)
      .optional()
      .describe('The rule that applied, the evidence, and the remaining budgets, or what a person must check.'),
  })
  .meta({ id: 'FailureJudgement' });
export type FailureJudgement = z.infer<typeof FailureJudgement>;

/** Counts of failures so far. */
export const FailureTally = z
  .object({
    furthestStep: counter.optional().describe('Furthest step that was reached. Absent: no step was reported.'),
    checkpointStep: counter.optional().describe('Step of the newest checkpoint as of the last failure.'),
    withoutProgress: counter.describe('Consecutive failures without progress, of the program or of unknown cause.'),
    sinceCheckpoint: counter.describe('Consecutive failures since the last saved checkpoint.'),
    spent: z
      .array(
        z.object({
          blame: z.enum(CRASH_BLAMES).describe('What the crash class blames.'),
          total: counter.describe('Failures that were charged to this budget.'),
          times: z.array(timestamp).max(MAX_BUDGET).describe('Of the newest, oldest first.'),
        }),
      )
      .max(CRASH_BLAMES.length)
      .optional()
      .describe('Failures that were charged to the budgets of the failure policy.'),
    traceback: z
      .object({
        fingerprint: z
          .string()
          .max(512)
          .describe('The error and the innermost frames of its traceback. # stands for each number of the message.'),
        times: counter.min(1).describe('How often the program failed so in a row.'),
        nodes: z
          .array(z.string().max(253))
          .max(2)
          .optional()
          .describe('Nodes on which it failed so, at most two: one node alone proves nothing about the program.'),
      })
      .optional()
      .describe('How the program failed before its first step, and how often in that way.'),
  })
  .meta({ id: 'FailureTally' });
export type FailureTally = z.infer<typeof FailureTally>;
