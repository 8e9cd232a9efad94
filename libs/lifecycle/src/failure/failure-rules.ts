/** Which rule holds for a failure? Those of the job, then those of its runtime, then these. */
import {
  ATTEMPT_REASONS,
  type AttemptReason,
  CRASH_CLASSES,
  type CrashClass,
  DEFAULT_CYCLES_WITHOUT_PROGRESS,
  type FailureBudget,
  type FailurePolicy,
  type FailureRule,
} from '@coxswain/api-types';
import { classifyCrash, type CrashJudgement, firstMatch } from '@coxswain/health';
import { type Facts, placementOf } from '../observation/facts.ts';
import type { Failure } from './failure.ts';

/** It holds always; whether its failure is charged, the reason says. */
const DEFAULT_RULE: FailureRule = { name: 'default', action: 'Restart' };

/** What is done where nobody says otherwise. */
const BUILT_IN_RULES: readonly FailureRule[] = [
  { name: 'asked-to-stop', onReasons: ['DoNotRestart'], action: 'Fail' },
  DEFAULT_RULE,
];

/** Whether nobody stated that rule. */
export function isBuiltIn(rule: FailureRule): boolean {
  return BUILT_IN_RULES.includes(rule);
}

/** What holds for the failures of one epoch. */
export interface EffectivePolicy {
  /** In order; behind them stand the built-in ones. */
  readonly rules: readonly FailureRule[];
  readonly budgets: readonly FailureBudget[];
  readonly maxCyclesWithoutProgress: number;
  /** The job or its runtime has a failure policy: then pauses are as that says. */
  readonly isStated: boolean;
}

/** The runtime is that of the epoch, whatever became of the object since. */
export function policyOf(facts: Facts, epoch: number): EffectivePolicy {
  const own = facts.spec?.failurePolicy;
  const runtimes = placementOf(facts, epoch)?.spec.runtime?.failurePolicy;
  const said = <K extends keyof FailurePolicy>(key: K): FailurePolicy[K] | undefined => own?.[key] ?? runtimes?.[key];
  return {
    rules: [...(own?.rules ?? []), ...(runtimes?.rules ?? [])],
    budgets: said('budgets') ?? [],
    maxCyclesWithoutProgress: said('maxCyclesWithoutProgress') ?? DEFAULT_CYCLES_WITHOUT_PROGRESS,
    isStated: own !== undefined || runtimes !== undefined,
  };
}

/** The first rule that holds, of these and then of the built-in ones. */
export function ruleFor(rules: readonly FailureRule[], failure: Failure, crash: CrashJudgement): FailureRule {
  const stated = rules.find((rule) => CONDITIONS.every((holds) => holds(rule, failure, crash)));
  return stated ?? BUILT_IN_RULES.find((rule) => rule.onReasons?.includes(failure.reason)) ?? DEFAULT_RULE;
}

/** An engine that asks not to be restarted, and gangs of which nothing has run: whoever means these names them. */
const ONLY_BY_NAME: readonly AttemptReason[] = ['DoNotRestart', 'PodsRefused', 'PlacementLost', 'NameConflict'];

/** One part of a rule; holds where the rule does not say it. */
type Condition = (rule: FailureRule, failure: Failure, crash: CrashJudgement) => boolean;

const CONDITIONS: readonly Condition[] = [
  ({ onReasons }, { reason }) => onReasons?.includes(reason) ?? !ONLY_BY_NAME.includes(reason),
  ({ onExitCodes }, { crash: { exitCode } }) => {
    if (onExitCodes === undefined) return true;
    if (exitCode === undefined || exitCode === 0) return false;
    return onExitCodes.values.includes(exitCode) === (onExitCodes.operator === 'In');
  },
  ({ onCrashClasses }, _failure, crash) => onCrashClasses?.includes(crash.class) ?? true,
  ({ onBlames }, _failure, crash) => onBlames?.includes(crash.blame) ?? true,
  ({ onLogPatterns }, { crash: { lastLines } }) =>
    onLogPatterns === undefined || firstMatch(onLogPatterns, lastLines) !== undefined,
  ({ onNodeConditions }, { crash: { nodeConditions = [] } }) =>
    onNodeConditions === undefined ||
    nodeConditions.some(({ type, status }) => status === 'True' && onNodeConditions.includes(type)),
];

/** Of what kind failures are that no rank has to tell of. */
const CLASS_OF_REASON: Partial<Readonly<Record<AttemptReason, CrashClass>>> = {
  NodeLost: 'NodeUnhealthy',
  Condemned: 'NodeUnhealthy',
  PreflightFailed: 'NodeUnhealthy',
  TurnedAway: 'NodeUnhealthy',
  NotReaped: 'NodeUnhealthy',
  Evicted: 'Disrupted',
  PodLost: 'Disrupted',
  PodNeverRan: 'Disrupted',
  RendezvousPortLost: 'AddressInUse',
  CheckpointUnreadable: 'StorageError',
  CheckpointIoError: 'StorageError',
};

/** The class of a failure: what is known of its node before its reason, and that before what its ranks wrote, which they wrote after it. */
export function crashOf({ reason, crash }: Failure): CrashJudgement {
  const name = CLASS_OF_REASON[reason];
  if (name === undefined) return classifyCrash(crash);
  const ofNode = classifyCrash({ lastLines: [], nodeConditions: crash.nodeConditions ?? [] });
  if (ofNode.class !== 'Unknown') return ofNode;
  const { blame, advice } = CRASH_CLASSES[name];
  return { class: name, blame, evidence: ATTEMPT_REASONS[reason].meaning, advice };
}
