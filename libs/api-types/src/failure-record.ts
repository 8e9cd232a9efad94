/** What does status remember of failures, so that no budget begins anew with pods, operators or a pause? */
import { z } from 'zod';
import { CRASH_BLAMES, CRASH_CLASSES, type CrashClass } from './crash-class.ts';
import { FAILURE_ACTIONS, type FailureAction, MAX_BUDGET } from './failure-policy.ts';
import { counter, timestamp } from './status-fields.ts';

/** Why a job is given up although somebody could try again. */
export const GIVE_UPS = ['RestartsExhausted', 'NoProgress', 'SameTraceback', 'FailurePolicy'] as const;

/** How one failure was judged: once, when it was recorded. */
export const FailureJudgement = z
  .object({
    rule: z.string().max(63).describe('First rule that holds.'),
    action: z.enum(Object.keys(FAILURE_ACTIONS) as [FailureAction, ...FailureAction[]]),
    class: z.enum(Object.keys(CRASH_CLASSES) as [CrashClass, ...CrashClass[]]),
    blame: z.enum(CRASH_BLAMES),
    budget: z.enum(CRASH_BLAMES).optional().describe('Which budget of the failure policy paid. Absent: none.'),
    delayMs: counter.optional().describe('Pause before what answers it. Absent: as restartPolicy.delaySeconds says.'),
    givenUp: z.enum(GIVE_UPS).optional().describe('Why nothing answers it.'),
    says: z
      .string()
      .max(768)
      .optional()
      .describe('Which rule held, what shows it, and what is left of budgets, or what a person must look at.'),
  })
  .meta({ id: 'FailureJudgement' });
export type FailureJudgement = z.infer<typeof FailureJudgement>;

/** What failures came to so far. */
export const FailureTally = z
  .object({
    furthestStep: counter.optional().describe('Furthest step that a run reached. Absent: none was told.'),
    checkpointStep: counter.optional().describe('Step of the newest checkpoint as of the last failure.'),
    withoutProgress: counter.describe(
      'Failures in a row that got no further, without those of nodes, network and cluster.',
    ),
    sinceCheckpoint: counter.describe('Failures in a row since something was saved.'),
    spent: z
      .array(
        z.object({
          blame: z.enum(CRASH_BLAMES),
          total: counter,
          times: z.array(timestamp).max(MAX_BUDGET).describe('Of the newest, oldest first.'),
        }),
      )
      .max(CRASH_BLAMES.length)
      .optional()
      .describe('What the budgets of the failure policy have paid.'),
    traceback: z
      .object({ fingerprint: z.string().max(512), times: counter.min(1) })
      .optional()
      .describe('How the program failed before its first step, and how often in that way.'),
  })
  .meta({ id: 'FailureTally' });
export type FailureTally = z.infer<typeof FailureTally>;
