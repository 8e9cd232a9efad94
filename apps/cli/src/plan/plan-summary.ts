/** An answer of the planner on one screen: the best layout, its evidence, its runners-up, and the constraint that excluded most others. */
import type { PlanAnswer, PlanRequest } from '@coxswain/planner';
import { formatCount } from '@coxswain/plan-report';
import { answerParts, factLines, paragraphs, runnersUpText, wrapped, type WidthColumns } from './planner-tables.ts';

const RUNNERS_UP = 3;

/** `top`: how many layouts the table shows; by default the best and three runners-up. */
export function planSummary(
  request: PlanRequest,
  answer: PlanAnswer,
  { width, top = 1 + RUNNERS_UP }: { readonly width: WidthColumns; readonly top?: number | undefined },
): string {
  return paragraphs([
    ...answerParts(request, answer, width),
    runnersUpText(request, { plans: answer.plans.slice(0, top) }, width),
    [
      ...factLines(
        [
          ['Evidence', evidenceOf(answer)],
          ['Assumed', assumedOf(answer)],
          ['Excluded', mostExcluding(answer)],
        ],
        width,
      ),
      ...wrapped('Add --explain for the parts of a step, each excluding rule and every assumption.', width),
    ],
  ]);
}

function evidenceOf({ best, closest }: PlanAnswer): string {
  const error = (best ?? closest?.plan)?.prediction.error;
  if (error === undefined) return 'none: no layout is legal';
  if (error.n === 0) return `no measurement: ${error.basis}`;
  const median = error.medianAbsPct.toFixed(1);
  return `${formatCount(error.n)} measured step times outside the fit: median error ${median} %, 90th percentile ${error.p90AbsPct.toFixed(1)} %`;
}

function assumedOf({ assumptions }: PlanAnswer): string {
  const [first, ...others] = assumptions;
  if (first === undefined) return 'nothing';
  return others.length === 0 ? first : `${first}; ${others.length} more`;
}

/** The constraint that excluded most combinations, with its example. */
function mostExcluding({ ruledOut, counted }: PlanAnswer): string {
  const [most] = [...ruledOut].sort((a, b) => b.count - a.count);
  const all = formatCount(counted.enumerated);
  if (most === undefined) return `no constraint excluded any of ${all} combinations; the others are slower`;
  return `${formatCount(most.count)} of ${all} combinations by ${most.rule}, for example: ${most.example}`;
}
