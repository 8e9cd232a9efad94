/** What is to be done about a failure? One ordered list of rules, and budgets beside it. */
import { z } from 'zod';
import { ATTEMPT_REASONS, type AttemptReason } from './attempt-reasons.ts';
import { CRASH_BLAMES, CRASH_CLASSES, type CrashClass } from './crash-class.ts';
import { ObjectName } from './field-names.ts';

/** What a rule may ask for. */
export const FAILURE_ACTIONS = {
  Restart:
    'Another try while the budget lasts: in the same pods where restartPolicy.inPlace and the failure allow it, else in new ones.',
  RestartInNewPods: 'Another try while the budget lasts, always in new pods.',
  RestartElsewhere: 'The same, and the node is avoided as long as others are free.',
  Fail: 'The job fails at once.',
} as const satisfies Record<string, string>;
export type FailureAction = keyof typeof FAILURE_ACTIONS;

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
  .regex(/[^*\s]/, 'must hold something besides * and spaces')
  .describe(
    'Text that a line holds somewhere, letters of either case alike; * stands for anything in between. No regular expression.',
  );

const ExitCodes = z
  .strictObject({
    operator: z.enum(['In', 'NotIn']),
    values: z.array(z.int().min(1).max(255)).min(1).max(64).meta({ 'x-kubernetes-list-type': 'set' }),
  })
  .meta({ id: 'FailureExitCodes' });

export const FailureRule = z
  .strictObject({
    name: ObjectName.describe('Status and messages call it so.'),
    onReasons: z
      .array(names<AttemptReason>(ATTEMPT_REASONS))
      .min(1)
      .max(32)
      .optional()
      .describe(
        'Reasons of attempts (status.attempts[].reason), such as NodeLost or Condemned. Absent: any but DoNotRestart, PodsRefused, PlacementLost and NameConflict.',
      ),
    onExitCodes: ExitCodes.optional().describe('Of the rank that failed first. It does not hold where none is known.'),
    onCrashClasses: z
      .array(names<CrashClass>(CRASH_CLASSES))
      .min(1)
      .max(64)
      .optional()
      .describe('Of which class the failure is, judged by XIDs, conditions of the node, last lines and exit code.'),
    onBlames: z.array(z.enum(CRASH_BLAMES)).min(1).max(6).optional().describe('Whose doing that class is.'),
    onLogPatterns: z
      .array(LogPattern)
      .min(1)
      .max(16)
      .optional()
      .describe('One of them is in one of the last 20 lines of the rank that failed first.'),
    onNodeConditions: z
      .array(z.string().min(1).max(316))
      .min(1)
      .max(16)
      .optional()
      .describe('Types of conditions of which one is True of the node of that rank.'),
    action: names<FailureAction>(FAILURE_ACTIONS).describe(
      Object.entries(FAILURE_ACTIONS)
        .map(([action, meaning]) => `${action}: ${meaning}`)
        .join(' '),
    ),
    charged: z
      .boolean()
      .optional()
      .describe(
        'false: no budget pays for it; ten such failures in a row without a step, and the next is charged all the same. Absent: as the reason is.',
      ),
  })
  .meta({ id: 'FailureRule' });
export type FailureRule = z.infer<typeof FailureRule>;

export const FailureBudget = z
  .strictObject({
    blame: z.enum(CRASH_BLAMES),
    maxRestarts: z.int().min(0).max(MAX_BUDGET),
    windowSeconds: z
      .int()
      .min(60)
      .max(2_592_000)
      .optional()
      .describe('Failures longer ago than this count no more. Absent: all of the life of the job count.'),
  })
  .meta({ id: 'FailureBudget' });
export type FailureBudget = z.infer<typeof FailureBudget>;

const ONE_NAME_ONE_RULE = 'each rule has a name of its own';

export const FailurePolicy = z
  .strictObject({
    rules: z
      .array(FailureRule)
      .max(MAX_FAILURE_RULES)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .describe(
        'In order; the first that holds decides. Of one rule all conditions must hold, of a list in it one entry. Behind them stand those of the runtime, then the built-in ones.',
      ),
    budgets: z
      .array(FailureBudget)
      .max(CRASH_BLAMES.length)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['blame'] })
      .describe(
        'Failures of that blame are paid from here rather than from restartPolicy.maxRestarts, lost nodes too.',
      ),
    maxCyclesWithoutProgress: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe(
        `Restarts in a row that may get no further than any run before: no new step, no new checkpoint. Absent: ${DEFAULT_CYCLES_WITHOUT_PROGRESS}. Failures of nodes, network and cluster do not count.`,
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
