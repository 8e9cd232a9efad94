/** `npm run planner:cases`: writes a page with the planner's answers to known situations, and published results. */
import { parsePlanRequest, plan, precisionOf, type Plan, type PlanAnswer } from '@coxswain/planner';
import { gpuOf, modelOf } from '@coxswain/planner/presets';
import {
  choicesOf,
  errorRange,
  formatCount,
  formatDegrees,
  formatGib,
  formatSeconds,
  formatShare,
} from '@coxswain/plan-report';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { SITUATIONS, type Situation } from './situations.ts';

const TARGET = fileURLToPath(new URL('../../../docs/reference/planner-cases.md', import.meta.url));

const HEAD = `# What the planner answers

${SITUATIONS.length} situations, published jobs first, then everyday questions. Each has the planner's first answer and, if there is one, the published layout. \`npm run planner:cases\` writes this
page (minutes of one core).

- Options that a person must give (engine, number format) are those of the published run. Everything else is searched.
- People chose a published layout because they could run it, often with another release or for another reason. A different layout is no error by itself.
- A published time outside [the 80 % interval](planner-score.md#how-far-off-an-answer-is) would be an error.
- FlashAttention is assumed. Runs of 2021 and 2022 did not have it: they recomputed activations and took longer.
`;

const sections: string[] = [];
for (const [index, situation] of SITUATIONS.entries()) {
  const answer = plan(parsePlanRequest(situation.request));
  sections.push(sectionOf(index + 1, situation, answer));
  process.stderr.write(`${index + 1} of ${SITUATIONS.length}: ${situation.title}\n`);
}
const page = [HEAD, ...sections].join('\n');
writeFileSync(TARGET, await format(page, { ...(await resolveConfig(TARGET)), parser: 'markdown' }));

function sectionOf(number: number, situation: Situation, answer: PlanAnswer): string {
  const { title, published, expected } = situation;
  return [
    `## ${number}. ${title}`,
    '',
    `${questionOf(situation)}`,
    '',
    ...(answer.best === undefined ? nothing(answer) : [`- **Planner:** ${planLine(answer.best)}`]),
    ...(answer.advice ?? []).map(({ sentence, plan: advised }) => `- **Advice:** ${sentence} (${shortLine(advised)})`),
    ...(published === undefined
      ? []
      : [
          `- **Published:** ${published.layout}: ${formatSeconds(published.stepS)} (${published.source})${beside(answer, published.stepS)}`,
        ]),
    ...(expected === undefined ? [] : [`- **Expected:** ${expected}`]),
    '',
  ].join('\n');
}

function questionOf({ request }: Situation): string {
  const { cluster, globalBatchSize, sequenceLength, stack = 'any engine' } = request;
  const model = modelOf(request.model ?? '').title;
  return `${model}, ${formatCount(cluster.gpus)} x ${gpuOf(cluster.gpu).title}, batch ${formatCount(globalBatchSize)} x ${formatCount(sequenceLength)} tokens, ${precisionOf(request)}, ${stack}.`;
}

function planLine(plan: Plan): string {
  const { prediction } = plan;
  const { stepTimeS, modelFlopsUtilizationPct, peakGib, capacityGib } = prediction;
  return `${shortLine(plan)}: ${formatSeconds(stepTimeS)} (${errorRange(prediction)}), ${modelFlopsUtilizationPct.toFixed(0)} % of peak, ${formatGib(peakGib)} of ${formatGib(capacityGib)}`;
}

function shortLine(plan: Plan): string {
  return `${formatDegrees(plan)}, ${choicesOf(plan)}`;
}

function nothing({ closest, whyNothing }: PlanAnswer): readonly string[] {
  if (closest === undefined) return [`- **Planner:** ${whyNothing ?? 'no layout is legal'}`];
  return [
    `- **Planner:** nothing fits; the closest lacks ${formatGib(closest.exceedsGib)}: ${shortLine(closest.plan)}`,
    ...closest.relax.map((way) => `- **To make it fit:** ${way}`),
  ];
}

function beside({ best }: PlanAnswer, publishedS: number): string {
  if (best === undefined) return '';
  const { stepTimeS, interval } = best.prediction;
  const ratio = stepTimeS / publishedS - 1;
  const lies = interval !== undefined && interval.lowS <= publishedS && publishedS <= interval.highS;
  return `; the planner's is ${formatShare(Math.abs(ratio))} ${ratio < 0 ? 'shorter' : 'longer'}${lies ? '' : ', more than its interval'}`;
}
