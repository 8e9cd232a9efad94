/** How is a judgement explained to users: rule, evidence, restarts left, or what to check? */
import type { FailureBudget, FailureJudgement } from '@coxswain/api-types';
import { cutText, safeText } from '@coxswain/safe-text';
import { formatCount, formatDuration, SECOND_MS } from '@coxswain/units';
import { isExcusing } from './failure-rules.ts';
import { leftOf } from './failure-tally.ts';
import { MAX_FREE_RESTARTS_IN_A_ROW } from './restart-budget.ts';
import type { Case } from './failure-case.ts';

/** The length that status keeps. */
const MAX_SENTENCE_CHARACTERS = 768;
const MAX_EVIDENCE_CHARACTERS = 200;

/** The judgement to explain. */
interface Verdict {
  readonly answer: 'Restart' | 'GiveUp';
  readonly charged: boolean;
  readonly givenUp: FailureJudgement['givenUp'];
}

/** Explains a judgement in at most 768 characters. Text that ranks wrote is made safe. */
export function formatJudgement(about: Case, verdict: Verdict): string {
  const { crash } = about;
  const isOver = verdict.answer === 'GiveUp' || verdict.givenUp !== undefined;
  const next = isOver ? describeGiveUp(about, verdict) : describeRemaining(about, verdict);
  // Nothing in the program mends what another party has to.
  const advice = isOver || isExcusing(about.rule) ? ` ${crash.advice}` : '';
  return safeText(`${describeCrash(about)} ${next}${advice}`, MAX_SENTENCE_CHARACTERS);
}

/** `GpuLost (node), as XID 79 (rebootNode) shows, by rule gpu-faults (RestartElsewhere).` */
function describeCrash({ crash, rule }: Case): string {
  const [line = ''] = crash.evidence.trim().split('\n', 1);
  const shown = line === '' ? '' : `: ${cutText(line, MAX_EVIDENCE_CHARACTERS)}`;
  return `${crash.class} (${crash.blame}), rule ${rule.name} (${rule.action})${shown}${/[.!?]$/.test(shown) ? '' : '.'}`;
}

function describeRemaining(about: Case, { charged }: Verdict): string {
  const { record, rule, budget, tally, restartPolicy, now } = about;
  if (budget !== undefined) {
    const left = leftOf(tally, budget, now) - 1;
    return `Left for ${budget.blame}: ${left} of ${restarts(budget)}.`;
  }
  if (!charged && isExcusing(rule)) {
    return `The program did not cause it, so no budget is charged (failure ${tally?.sinceCheckpoint ?? 1} since the last checkpoint; ${MAX_FREE_RESTARTS_IN_A_ROW} are free).`;
  }
  if (!charged) return 'No budget is charged.';
  const { maxRestarts } = restartPolicy;
  return `Left: ${Math.max(0, maxRestarts - record.restarts.charged - 1)} of ${formatCount(maxRestarts, 'restart')}.`;
}

function describeGiveUp(about: Case, { givenUp }: Verdict): string {
  const { record, failure, budget, tally, policy } = about;
  const { maxRestarts } = about.restartPolicy;
  switch (givenUp) {
    case 'RestartsExhausted':
      return budget === undefined || record.restarts.charged >= maxRestarts
        ? `All of ${formatCount(maxRestarts, 'restart')} are spent.`
        : `All of ${restarts(budget)} for ${budget.blame} are spent.`;
    case 'SameTraceback':
      return `It raised the same exception twice before its first step, on nodes ${(tally?.traceback?.nodes ?? []).join(' and ')}, so it would a third time. restartPolicy.sameTraceback: Restart tries again.`;
    case 'NoProgress': {
      const step = tally?.furthestStep === undefined ? 'no step was reported' : `step ${tally.furthestStep}`;
      const saved = tally?.checkpointStep === undefined ? 'nothing is saved' : `step ${tally.checkpointStep} is saved`;
      return `${formatCount(policy.maxCyclesWithoutProgress, 'restart')} in a row got no further (${step}, ${saved}).`;
    }
    case 'FailurePolicy':
      return 'The rule fails the job.';
    case undefined:
      return failure.reason === 'NothingTrained'
        ? 'Another attempt would do the same.'
        : 'The engine asked for no restart.';
  }
}

function restarts({ maxRestarts, windowSeconds }: FailureBudget): string {
  const counted = formatCount(maxRestarts, 'restart');
  return windowSeconds === undefined ? counted : `${counted} in ${formatDuration(windowSeconds * SECOND_MS)}`;
}
