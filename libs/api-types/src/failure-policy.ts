/** The failure policy: an ordered list of rules, and budgets. */
import { z } from 'zod';
import { ATTEMPT_REASONS, type AttemptReason } from './attempt-reasons.ts';
import { CRASH_BLAMES, CRASH_CLASSES, type CrashClass } from './crash-class.ts';
import { ObjectName } from './field-names.ts';

/** Actions of a rule, each with its meaning. */
export const FAILURE_ACTIONS = {
  Restart:
    'Restart while the budget lasts: in the same pods if restartPolicy.inPlace and the failure allow it, else in new pods.',
  RestartInNewPods: 'Restart while the budget lasts, always in new pods.',
  RestartElsewhere: 'Restart in new pods, and avoid the node while others are free.',
  Fail: 'The job fails at once.',
} as const satisfies Record<string, string>;
/** What a failure rule does; a key of {@link FAILURE_ACTIONS}. */
export type FailureAction = keyof typeof FAILURE_ACTIONS;

/** Most rules of one job. */
export const MAX_FAILURE_RULES = 32;
/** Of one budget in one window: status keeps a time for each. */
export const MAX_BUDGET = 50;
/** Default of maxCyclesWithoutProgress: consecutive restarts that reach no new step and no new checkpoint. */
export const DEFAULT_CYCLES_WITHOUT_PROGRESS = 3;

const names = <T extends string>(all: Readonly<Record<T, unknown>>): z.ZodEnum<{ [K in T]: K }> =>
  z.enum(Object.keys(all) as [T, ...T[]]) as unknown as z.ZodEnum<{ [K in T]: K }>;

const LogPattern = z
  .string()
  .min(1)
  .max(256)
  .regex(/[^*\s]/, 'must contain something besides * and spaces')
  .describe('Text that a line contains, regardless of case; * matches any text. Not a regular expression.');

const ExitCodes = z
  .strictObject({
    operator: z.enum(['In', 'NotIn']).describe('In: one of the values. NotIn: none of them, and not 0.'),
    values: z
      .array(z.int().min(1).max(255))
      .min(1)
      .max(64)
      .meta({ 'x-kubernetes-list-type': 'set' })
      .describe('Exit codes.'),
  })
  .meta({ id: 'FailureExitCodes' });

/** A rule of a failure policy: which failures it matches, and its action. */
export const FailureRule = z
  .strictObject({
    name: ObjectName.describe('Name of the rule in status and messages.'),
    onReasons: z
      .array(names<AttemptReason>(ATTEMPT_REASONS))
      .min(1)
      .max(32)
      .optional()
      .describe(
        'Reasons of attempts (status.attempts[].reason), such as NodeLost or Condemned. Absent: any but DoNotRestart, NothingTrained, PodsRefused, PlacementLost and NameConflict.',
      ),
    onExitCodes: ExitCodes.optional().describe(
      'Exit codes of the rank that failed first. Does not match if the code is unknown.',
    ),
    onCrashClasses: z
      .array(names<CrashClass>(CRASH_CLASSES))
      .min(1)
      .max(64)
      .optional()
      .describe('Crash classes of the failure, determined from XIDs, node conditions, last lines and exit code.'),
    onBlames: z.array(z.enum(CRASH_BLAMES)).min(1).max(7).optional().describe('What the crash class blames.'),
    onLogPatterns: z
      .array(LogPattern)
      .min(1)
      .max(16)
      .optional()
      .describe('At least one of these patterns matches one of the last 20 lines of the rank that failed first.'),
    onNodeConditions: z
      .array(z.string().min(1).max(316))
      .min(1)
      .max(16)
      .optional()
      .describe('At least one of these types of node conditions is True on the node of that rank.'),
    action: names<FailureAction>(FAILURE_ACTIONS).describe(
      Object.entries(FAILURE_ACTIONS)
        .map(([action, meaning]) => `${action}: ${meaning}`)
        .join(' '),
    ),
    charged: z
      .boolean()
      .optional()
      .describe(
        'false: no budget is charged, except after ten such failures in a row without a step. Absent: depends on the reason.',
      ),
  })
  .meta({ id: 'FailureRule' });
export type FailureRule = z.infer<typeof FailureRule>;

/** Number of failures that one blame may cause before the job fails. */
export const FailureBudget = z
  .strictObject({
    blame: z.enum(CRASH_BLAMES).describe('What the crash class of a failure blames.'),
    maxRestarts: z
      .int()
      .min(0)
      .max(MAX_BUDGET)
      .describe('Restarts after failures with this blame. One more ends the job.'),
    windowSeconds: z
      .int()
      .min(60)
      .max(2_592_000)
      .optional()
      .describe('Older failures do not count. Absent: all failures of the job count.'),
  })
  .meta({ id: 'FailureBudget' });
export type FailureBudget = z.infer<typeof FailureBudget>;

const ONE_NAME_ONE_RULE = 'each rule needs a unique name';

/** Rules and budgets for failures of a job. */
export const FailurePolicy = z
  .strictObject({
    rules: z
      .array(FailureRule)
      .max(MAX_FAILURE_RULES)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe(
        'Ordered rules; the first match decides. All conditions of a rule must match, and one entry of each list. The rules of the runtime and then the built-in rules follow.',
      ),
    budgets: z
      .array(FailureBudget)
      .max(CRASH_BLAMES.length)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['blame'] })
      .describe(
        'Failures with this blame are charged to this budget instead of restartPolicy.maxRestarts, including lost nodes.',
      ),
    maxCyclesWithoutProgress: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe(
        `Consecutive restarts that may make no progress: no new step, no new checkpoint. Absent: ${DEFAULT_CYCLES_WITHOUT_PROGRESS}. Failures of the program and of unknown cause count, others do not.`,
      ),
  })
  .meta({ id: 'FailurePolicy' })
  .refine(({ rules = [] }) => new Set(rules.map(({ name }) => name)).size === rules.length, {
    path: ['rules'],
    message: ONE_NAME_ONE_RULE,
  })
  .refine(({ budgets = [] }) => new Set(budgets.map(({ blame }) => blame)).size === budgets.length, {
    path: ['budgets'],
    message: 'each blame has one budget',
  });
export type FailurePolicy = z.infer<typeof FailurePolicy>;
