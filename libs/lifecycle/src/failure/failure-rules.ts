/** Which rule applies to a failure? The job's rules come first, then those of its runtime, then the built-in ones. */
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

/** Applies always; the failure's reason decides whether a restart is charged. */
const DEFAULT_RULE: FailureRule = { name: 'default', action: 'Restart' };

/** Faults of a node that another process on it meets again. An error of GPU memory often ends only the process. */
const NODE_RULE: FailureRule = {
  name: 'node-fault',
  onReasons: ['EngineFailed'],
  onCrashClasses: ['GpuLost', 'GpuUnavailable', 'NodeOutOfMemory', 'NodeUnhealthy', 'ClockSkewed'],
  onBlames: ['node'],
  action: 'RestartElsewhere',
  charged: false,
};

/** What is not the program's doing is not charged, and has time to recover. */
const ENVIRONMENT_RULE: FailureRule = {
  name: 'environment',
  onReasons: ['EngineFailed'],
  onBlames: ['network', 'storage', 'cluster', 'environment'],
  action: 'Restart',
  charged: false,
};

/** Rules that apply if no stated rule does. A budget of the policy for the blame pays before they excuse. */
const BUILT_IN_RULES: readonly FailureRule[] = [
  { name: 'asked-to-stop', onReasons: ['DoNotRestart'], action: 'Fail' },
  NODE_RULE,
  { name: 'gpu-error', onReasons: ['EngineFailed'], onBlames: ['node'], action: 'Restart', charged: false },
  ENVIRONMENT_RULE,
  { name: 'nothing-trained', onReasons: ['NothingTrained'], action: 'Fail' },
  DEFAULT_RULE,
];

/** Whether the rule is built in. */
export function isBuiltIn(rule: FailureRule): boolean {
  return BUILT_IN_RULES.includes(rule);
}

/** Whether a built-in rule does not charge the failure, because the program did not cause it. */
export function isExcusing(rule: FailureRule): boolean {
  return isBuiltIn(rule) && rule.charged === false;
}

/** Whether the restart waits for the environment to recover. */
export function isOfEnvironment(rule: FailureRule): boolean {
  return rule === ENVIRONMENT_RULE;
}

/** The failure policy of one attempt. */
export interface EffectivePolicy {
  /** Stated rules, in order; the built-in ones follow. */
  readonly rules: readonly FailureRule[];
  readonly budgets: readonly FailureBudget[];
  readonly maxCyclesWithoutProgress: number;
  /** Whether the job or its runtime states a failure policy, which then decides the pauses. */
  readonly isStated: boolean;
}

/** The policy of an attempt. The runtime is the one recorded in its Placement, even if the object has changed since. */
export function policyOf(facts: Facts, epoch: number): EffectivePolicy {
  const own = facts.spec?.failurePolicy;
  const runtimes = placementOf(facts, epoch)?.spec.runtime?.failurePolicy;
  const stated = <K extends keyof FailurePolicy>(key: K): FailurePolicy[K] | undefined => own?.[key] ?? runtimes?.[key];
  return {
    rules: [...(own?.rules ?? []), ...(runtimes?.rules ?? [])],
    budgets: stated('budgets') ?? [],
    maxCyclesWithoutProgress: stated('maxCyclesWithoutProgress') ?? DEFAULT_CYCLES_WITHOUT_PROGRESS,
    isStated: own !== undefined || runtimes !== undefined,
  };
}

/** The first rule that applies: a stated one, then a built-in one. */
export function ruleFor(rules: readonly FailureRule[], failure: Failure, crash: CrashJudgement): FailureRule {
  const isApplicable = (rule: FailureRule): boolean => CONDITIONS.every((holds) => holds(rule, failure, crash));
  return rules.find(isApplicable) ?? BUILT_IN_RULES.find(isApplicable) ?? DEFAULT_RULE;
}

/** Reasons that a rule must name to apply: an engine that refuses restarts, a job that did nothing, and gangs that never ran. */
const ONLY_BY_NAME: readonly AttemptReason[] = [
  'DoNotRestart',
  'NothingTrained',
  'PodsRefused',
  'PlacementLost',
  'NameConflict',
];

/** One part of a rule. It holds if the rule does not state it. */
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

/** Classes of failures that no rank has to report. */
const CLASS_OF_REASON: Partial<Readonly<Record<AttemptReason, CrashClass>>> = {
  NodeLost: 'NodeUnhealthy',
  Condemned: 'NodeUnhealthy',
  PreflightFailed: 'NodeUnhealthy',
  TurnedAway: 'NodeUnhealthy',
  NotReaped: 'NodeUnhealthy',
  NothingTrained: 'NothingTrained',
  Evicted: 'Disrupted',
  LimitExceeded: 'ScratchFull',
  PodLost: 'Disrupted',
  PodNeverRan: 'Disrupted',
  RendezvousPortLost: 'AddressInUse',
  CheckpointUnreadable: 'StorageError',
  CheckpointIoError: 'StorageError',
};

/**
 * Class and blame of a failure. Conditions of its node count first, then its reason, then the last lines of its ranks, which come after the
 * origin.
 */
export function crashOf({ reason, crash }: Failure): CrashJudgement {
  const name = CLASS_OF_REASON[reason];
  if (name === undefined) return classifyCrash(crash);
  const ofNode = classifyCrash({ lastLines: [], nodeConditions: crash.nodeConditions ?? [] });
  if (ofNode.class !== 'Unknown') return ofNode;
  const { blame, advice } = CRASH_CLASSES[name];
  return { class: name, blame, evidence: ATTEMPT_REASONS[reason].meaning, advice };
}
