/** How is a judgement explained to users: rule, evidence, restarts left, or what to check? */
import type { FailureBudget, FailureJudgement } from '@coxswain/api-types';
import { cutText, safeText } from '@coxswain/safe-text';
import { formatCount, formatDuration, SECOND_MS } from '@coxswain/units';
import { leftOf } from './failure-tally.ts';
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
  const next = isOver ? `${describeGiveUp(about, verdict)} ${crash.advice}` : describeRemaining(about, verdict);
  return safeText(`${describeCrash(about)} ${next}`, MAX_SENTENCE_CHARACTERS);
}

/** `GpuLost (node), as XID 79 (rebootNode) shows, by rule gpu-faults (RestartElsewhere).` */
function describeCrash({ crash, rule }: Case): string {
  const [line = ''] = crash.evidence.trim().split('\n', 1);
  const shown = line === '' ? '' : `: ${cutText(line, MAX_EVIDENCE_CHARACTERS)}`;
  return `${crash.class} (${crash.blame}), rule ${rule.name} (${rule.action})${shown}${/[.!?]$/.test(shown) ? '' : '.'}`;
}

function describeRemaining({ record, budget, tally, maxRestarts, now }: Case, { charged }: Verdict): string {
  if (budget !== undefined) {
    const left = leftOf(tally, budget, now) - 1;
    return `Left for ${budget.blame}: ${left} of ${restarts(budget)}.`;
  }
  if (!charged) return 'No budget is charged.';
  return `Left: ${Math.max(0, maxRestarts - record.restarts.charged - 1)} of ${formatCount(maxRestarts, 'restart')}.`;
}

function describeGiveUp({ record, failure, budget, tally, policy, maxRestarts }: Case, { givenUp }: Verdict): string {
  switch (givenUp) {
    case 'RestartsExhausted':
      return budget === undefined || record.restarts.charged >= maxRestarts
        ? `All of ${formatCount(maxRestarts, 'restart')} are spent.`
        : `All of ${restarts(budget)} for ${budget.blame} are spent.`;
    case 'SameTraceback':
      return 'It failed twice in the same way before its first step, so it would a third time.';
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
