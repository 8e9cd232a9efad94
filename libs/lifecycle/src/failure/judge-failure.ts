/** What answers a failure, which budget pays, and how long is the pause? */
import { type FailureJudgement, type FailureRule, type FailureTally, startStepOf } from '@coxswain/api-types';
import { fingerprintOf, isOwnException } from '@coxswain/health';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, withLastAttempt } from '../record/job-record.ts';
import { environmentDelayMs, restartDelayMs } from './restart-delay.ts';
import type { Failure } from './failure.ts';
import type { Case } from './failure-case.ts';
import { blamedCrash } from './blamed-crash.ts';
import { isBuiltIn, isExcusing, isOfEnvironment, policyOf, ruleFor } from './failure-rules.ts';
import { leftOf, withFailedRun, withSpent } from './failure-tally.ts';
import { formatJudgement } from './format-judgement.ts';
import { answerTo, hasRunNothing, longestDelayMs, MAX_FREE_RESTARTS_IN_A_ROW } from './restart-budget.ts';
import { isCheckpointReason } from './checkpoint-standing.ts';

/** A failure of the current attempt, and the last step that it reached. */
export interface FailedAttempt {
  readonly failure: Failure;
  readonly lastStep?: number;
}

/** The answer to a failure. */
export interface Judged {
  readonly answer: 'Restart' | 'GiveUp';
  /** Whether `restartPolicy.maxRestarts` pays for it. */
  readonly charged: boolean;
  readonly judgement: FailureJudgement;
  /** The tally that status keeps from now on. */
  readonly failures: FailureTally | undefined;
  readonly avoid: Failure['avoid'];
}

/** Judges a failure. Pure: equal arguments give an equal judgement, so it may be asked twice in one reconciliation. */
export function judgeFailure(
  record: JobRecord,
  failed: FailedAttempt,
  { facts, now }: { readonly facts: Facts; readonly now: Date },
): Judged {
  const about = caseOf(record, failed, { facts, now });
  const { failure, crash, rule, tally, budget } = about;
  const ofRecord = withLastAttempt(record, { reason: failure.reason });
  const { answer, charged } = answerTo(ofRecord, facts.restartPolicy, chargingRule(about));
  const givenUp = whyGivenUp(about, { answer, charged });
  const isOver = answer === 'GiveUp' || givenUp !== undefined;
  const judgement: FailureJudgement = {
    rule: rule.name,
    action: rule.action,
    class: crash.class,
    blame: crash.blame,
    ...(budget === undefined ? {} : { budget: budget.blame }),
    ...(isOver ? {} : pauseOf(about)),
    ...(givenUp === undefined ? {} : { givenUp }),
    says: formatJudgement(about, { answer, charged, givenUp }),
  };
  if (isOver) return { answer: 'GiveUp', charged, judgement, failures: tally, avoid: failure.avoid };
  const failures = budget === undefined || tally === undefined ? tally : withSpent(tally, budget.blame, now);
  return { answer, charged, judgement, failures, avoid: avoidedBy(rule, failure) };
}

/** The rule, and whether it charges `maxRestarts`. An excuse ends with the tenth failure since the last checkpoint. */
function chargingRule({ rule, budget, tally }: Case): Pick<FailureRule, 'action' | 'charged'> {
  if (budget !== undefined) return { action: rule.action, charged: false };
  const isWornOut = isExcusing(rule) && (tally?.sinceCheckpoint ?? 0) > MAX_FREE_RESTARTS_IN_A_ROW;
  return isWornOut ? { action: rule.action } : rule;
}

function caseOf(
  record: JobRecord,
  { failure, lastStep }: FailedAttempt,
  { facts, now }: { readonly facts: Facts; readonly now: Date },
): Case {
  const policy = policyOf(facts, record.epoch);
  const crash = blamedCrash(record, failure);
  const rule = ruleFor(policy.rules, failure, crash);
  const isPaid = isTallied(failure.reason) && (rule.charged !== false || isExcusing(rule)) && rule.action !== 'Fail';
  return {
    record,
    failure,
    policy,
    crash,
    rule,
    tally: tallied(record, { failure, ...(lastStep === undefined ? {} : { lastStep }) }, { crash, now }),
    budget: isPaid ? policy.budgets.find(({ blame }) => blame === crash.blame) : undefined,
    restartPolicy: facts.restartPolicy,
    now,
  };
}

/** Whether the failure counts in the tally. A gang that could not run or begin shows nothing about progress. */
function isTallied(reason: Failure['reason']): boolean {
  return !hasRunNothing(reason) && !isCheckpointReason(reason);
}

function tallied(
  { failures, attempts, checkpoint }: JobRecord,
  { failure, lastStep }: FailedAttempt,
  { crash, now }: Pick<Case, 'crash' | 'now'>,
): FailureTally | undefined {
  const attempt = attempts.at(-1);
  if (!isTallied(failure.reason)) return failures;
  const ranMs = now.getTime() - Date.parse(attempt?.runningAt ?? '');
  return withFailedRun(failures, {
    fromStep: attempt === undefined ? 0 : startStepOf(attempt),
    reachedStep: lastStep,
    checkpointStep: checkpoint?.step,
    ranMs: Number.isNaN(ranMs) ? 0 : ranMs,
    fingerprint: isOwnException(crash) ? fingerprintOf(failure.crash.lastLines) : undefined,
    nodes: nodesOf(failure),
    // A lost peer shows nothing about the program: the rank that failed first has not reported.
    blame: crash.class === 'PeerLost' ? 'network' : crash.blame,
  });
}

function nodesOf({ node, where, sameErrorOn = [] }: Failure): readonly string[] {
  return [node ?? where ?? [], sameErrorOn].flat();
}

/** Identical failures before the first step after which the job is given up. */
const TRIES_OF_A_TRACEBACK = 2;

/** Why the job is given up; undefined: it is not, or the engine asked for it (DoNotRestart). */
function whyGivenUp(about: Case, { answer, charged }: Pick<Judged, 'answer' | 'charged'>): FailureJudgement['givenUp'] {
  const { failure, rule, tally, budget, policy, now } = about;
  if (rule.action === 'Fail') return isBuiltIn(rule) ? undefined : 'FailurePolicy';
  if (answer === 'GiveUp') return 'RestartsExhausted';
  if (!isTallied(failure.reason)) return undefined;
  if (budget !== undefined && leftOf(tally, budget, now) === 0) return 'RestartsExhausted';
  if (isSameTraceback(about)) return 'SameTraceback';
  // The first of these failures was not preceded by a restart.
  const isStuck = (tally?.withoutProgress ?? 0) > policy.maxCyclesWithoutProgress;
  return isStuck && (charged || budget !== undefined) ? 'NoProgress' : undefined;
}

/**
 * Whether this failure repeats the recorded exception of the program, on a second node: what fails twice on one node may be that node's mount,
 * driver or disk. A failure that merely follows one that did is none.
 */
function isSameTraceback({ failure, crash, tally, restartPolicy }: Case): boolean {
  if (restartPolicy.sameTraceback === 'Restart' || !isOwnException(crash)) return false;
  const { fingerprint, times = 0, nodes = [] } = tally?.traceback ?? {};
  const isThis = fingerprint !== undefined && fingerprint === fingerprintOf(failure.crash.lastLines);
  return isThis && times >= TRIES_OF_A_TRACEBACK && nodes.length > 1;
}

/** The pause of a stated policy, or of the built-in rule for the environment; otherwise `restartPolicy.delaySeconds` decides. */
function pauseOf({ record, failure, policy, rule, tally, restartPolicy }: Case): Pick<FailureJudgement, 'delayMs'> {
  if (!isTallied(failure.reason)) return {};
  if (!policy.isStated) {
    if (!isOfEnvironment(rule)) return {};
    const inARow = tally?.sinceCheckpoint ?? 1;
    return { delayMs: environmentDelayMs(inARow, restartPolicy.delaySeconds, longestDelayMs(restartPolicy)) };
  }
  return { delayMs: restartDelayMs(tally?.sinceCheckpoint ?? 1, `${record.epoch}/${record.restarts.total}`) };
}

function avoidedBy({ action }: FailureRule, { avoid, node }: Failure): Failure['avoid'] {
  if (avoid !== undefined || action !== 'RestartElsewhere' || node === undefined) return avoid;
  return { nodes: [node], reason: 'FailurePolicy' };
}
