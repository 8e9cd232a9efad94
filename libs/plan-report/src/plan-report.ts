/** A page about a plan: its time and memory, its pipeline, alternatives and excluded layouts. */
import type { Plan, PlanAnswer, PlanRequest, Prediction, ScheduleInput, StageMemory } from '@coxswain/planner';
import { gpuOf, modelOf } from '@coxswain/planner/presets';
import { choicesOf, formatDegrees, describeVerdict } from './describe-plan.ts';
import { stageNote, explainOrder } from './reading-aids.ts';
import { errorRange, errorSentence, peakRange } from './prediction-error.ts';
import { formatCount, formatGib, formatHours, formatSeconds, formatShare, formatTokens, formatUsd } from './figures.ts';
import { Markup, markup } from './markup.ts';
import { paretoChart } from './pareto-chart.ts';
import { pipelineChart } from './pipeline-drawing.ts';
import { REPORT_STYLE } from './report-style.ts';
import { legend, partStyles, stackedBars, type BarSegment } from './stacked-bar.ts';

/** The contents of a plan report. */
export interface PlanReportFacts {
  readonly request: PlanRequest;
  readonly answer: PlanAnswer;
  /** Times of the passes of the best layout's pipeline, or of the closest one. Absent: the pipeline is not drawn. */
  readonly pipeline?: ScheduleInput;
}

/** Largest number of stages that are shown; further ones are left out, fullest first. */
const MOST_STAGES = 16;

/**
 * A self-contained HTML document: inline SVG and style, no script, no request to anywhere. Every text is escaped, because names of models
 * come from the request.
 */
export function planReport({ request, answer, pipeline }: PlanReportFacts): string {
  const shown = answer.best ?? answer.closest?.plan;
  const title = `${modelName(request)} on ${clusterName(request)}`;
  const parts = shown === undefined ? [] : partsOf([shown, ...answer.plans]);
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>${new Markup(REPORT_STYLE + partStyles(parts))}</style>
</head>
<body><main>
<header><h1>${title}</h1><p>${requestLine(request)}</p></header>
${answer.best === undefined ? nothingFits(answer) : undefined}
${shown === undefined ? undefined : chosen(shown, answer)}
${shown === undefined ? undefined : timeSection(shown, answer)}
${shown === undefined ? undefined : memorySection(shown.prediction)}
${pipeline === undefined || pipeline.pipeline === 1 ? undefined : markup`<section><h2>The pipeline</h2>${pipelineChart(pipeline)}</section>`}
${shown === undefined ? undefined : tradeOffs(shown, answer)}
${runnersUp(request, answer)}
${ruledOut(answer)}
${trust(shown, answer)}
</main></body>
</html>
`.text;
}

function modelName({ model, modelShape }: PlanRequest): string {
  return model === undefined ? (modelShape?.name ?? 'Model') : modelOf(model).title;
}

function clusterName({ cluster }: PlanRequest): string {
  return `${formatCount(cluster.gpus)} ${gpuOf(cluster.gpu).title}`;
}

function requestLine(request: PlanRequest): string {
  return [
    `global batch ${formatCount(request.globalBatchSize)}`,
    `${formatCount(request.sequenceLength)} tokens per sample`,
    request.precision,
    ...(request.stack === undefined ? [] : [request.stack]),
    `objective ${request.objective}`,
    ...(request.tokens === undefined ? [] : [formatTokens(request.tokens)]),
    ...(request.deadlineHours === undefined ? [] : [`within ${formatHours(request.deadlineHours)}`]),
  ].join(' · ');
}

function nothingFits({ closest, whyNothing }: PlanAnswer): Markup {
  if (closest === undefined) {
    const why = whyNothing === undefined ? undefined : markup`<p>${whyNothing}</p>`;
    return markup`<section><h2 class="doesNotFit">No layout is legal</h2>${why}</section>`;
  }
  const missing =
    closest.exceedsGib > 0
      ? `The closest layout lacks ${formatGib(closest.exceedsGib)} of memory per GPU.`
      : 'Layouts fit the memory, but none meets the deadline.';
  return markup`<section><h2 class="doesNotFit">Nothing fits</h2><p>${missing} What would help:</p>
<ul class="plain">${closest.relax.map((way) => markup`<li>${way}</li>`)}</ul></section>`;
}

function chosen(plan: Plan, answer: PlanAnswer): Markup {
  const { prediction } = plan;
  return markup`<section><h2>${answer.best === undefined ? 'The closest layout' : 'The best layout'}</h2>
<p class="chosen-layout">${formatDegrees(plan)}</p><p class="choices">${choicesOf(plan)}</p>
<dl class="cards">
${card('Step time', formatSeconds(prediction.stepTimeS), errorRange(prediction))}
${card('Throughput', `${formatCount(prediction.tokensPerSPerGpu)} tokens/s`, 'per GPU')}
${card('Model FLOPs utilisation', `${prediction.modelFlopsUtilizationPct.toFixed(1)} %`)}
<div><dt>Peak memory per GPU</dt><dd>${formatGib(prediction.peakGib)}<small class="${prediction.verdict}">${describeVerdict(prediction.verdict)} in ${formatGib(prediction.capacityGib)}</small><small>${peakRange(prediction)}</small></dd></div>
${card('Pipeline bubble', formatShare(prediction.bubbleShare))}
${card('GPUs', formatCount(plan.gpus))}
${plan.trainingHours === undefined ? undefined : card('Training', formatHours(plan.trainingHours))}
${plan.costUsd === undefined ? undefined : card('Cost', formatUsd(plan.costUsd), plan.trainingHours === undefined ? 'per step' : 'of the training')}
</dl></section>`;
}

function card(name: string, value: string, note?: string): Markup {
  return markup`<div><dt>${name}</dt><dd>${value}${note === undefined ? undefined : markup`<small>${note}</small>`}</dd></div>`;
}

function timeSection(shown: Plan, answer: PlanAnswer): Markup {
  const plans = answer.plans.length === 0 ? [shown] : answer.plans;
  const bars = plans.map((plan) => ({
    label: markup`${formatDegrees(plan)}<small>${choicesOf(plan)}</small>`,
    total: formatSeconds(plan.prediction.stepTimeS),
    segments: timeSegments(plan.prediction),
  }));
  const most = Math.max(...plans.map((plan) => plan.prediction.stepTimeS));
  const { stepTimeS } = shown.prediction;
  const entries = [...timeSegments(shown.prediction)].sort((a, b) => b.value - a.value);
  return markup`<section><h2>Where a step goes</h2>${stackedBars({ title: 'Step time of the best layouts by part', bars, most })}
${legend(entries.map(({ part, value, shown: text }) => ({ part, shown: `${text}, ${formatShare(value / stepTimeS)}` })))}
<p class="note">Figures are those of the first layout${stageNote(shown.layout)}.</p></section>`;
}

function timeSegments({ breakdown }: Prediction): readonly BarSegment[] {
  return breakdown
    .filter(({ seconds }) => seconds > 0)
    .map(({ part, seconds }) => ({ part, value: seconds, shown: formatSeconds(seconds) }));
}

function memorySection({ memory, capacityGib, peakGib }: Prediction): Markup {
  const fullest = [...memory].sort((a, b) => b.peakGib - a.peakGib);
  const stages = memory.length > MOST_STAGES ? fullest.slice(0, MOST_STAGES) : memory;
  const bars = stages.map((stage) => ({
    label: `stage ${stage.stage}`,
    total: formatGib(stage.peakGib),
    segments: memorySegments(stage),
  }));
  const entries = fullest.slice(0, 1).flatMap(memorySegments);
  const left =
    memory.length > MOST_STAGES ? ` The ${MOST_STAGES} fullest of ${memory.length} stages, the fullest first.` : '';
  return markup`<section><h2>Memory per GPU, by pipeline stage</h2>
${stackedBars({ title: 'Peak memory by stage', bars, most: Math.max(capacityGib, peakGib) * 1.02, limit: capacityGib })}
${legend(entries)}
<p class="note">The red mark is the GPU’s capacity, ${formatGib(capacityGib)}. Figures are those of the fullest stage.${left}</p></section>`;
}

function memorySegments({ parts }: StageMemory): readonly BarSegment[] {
  return parts.filter(({ gib }) => gib > 0).map(({ part, gib }) => ({ part, value: gib, shown: formatGib(gib) }));
}

function tradeOffs(shown: Plan, answer: PlanAnswer): Markup | undefined {
  if (answer.pareto.length < 2) return undefined;
  return markup`<section><h2>Time against memory</h2>${paretoChart(answer.pareto, answer.plans, shown.prediction.capacityGib)}
<p class="note">Circles: layouts that no other beats in time, memory and GPUs at once. Filled: the best by the objective, the chosen one in green. Larger marks use more GPUs.</p></section>`;
}

function runnersUp(request: PlanRequest, { plans }: PlanAnswer): Markup | undefined {
  const why = explainOrder(plans, request);
  const [best, ...others] = plans;
  if (best === undefined || others.length === 0) return undefined;
  const rows = plans.map((plan, index) => {
    const { prediction } = plan;
    const slower = prediction.stepTimeS / best.prediction.stepTimeS - 1;
    return markup`<tr><td class="number">${index + 1}</td>
<td>${formatDegrees(plan)}<br><small>${choicesOf(plan)}</small></td>
<td class="number" data-title="GPUs">${formatCount(plan.gpus)}</td>
<td class="number" data-title="step time">${formatSeconds(prediction.stepTimeS)}</td>
<td class="number" data-title="over the best">${index === 0 ? '' : `${slower < 0 ? '−' : '+'}${formatShare(Math.abs(slower))}`}</td>
<td class="number" data-title="tokens/s/GPU">${formatCount(prediction.tokensPerSPerGpu)}</td>
<td class="number" data-title="memory">${formatGib(prediction.peakGib)}</td>
<td class="${prediction.verdict}">${describeVerdict(prediction.verdict)}</td></tr>`;
  });
  return markup`<section><h2>The best layouts</h2><table class="stacked"><thead><tr><th class="number">#</th><th>layout</th><th class="number">GPUs</th><th class="number">step time</th><th class="number">over the best</th><th class="number">tokens/s/GPU</th><th class="number">memory</th><th>verdict</th></tr></thead>
<tbody>${rows}</tbody></table>${why === undefined ? undefined : markup`<p class="note">${why}</p>`}</section>`;
}

function ruledOut({ ruledOut: rules, counted }: PlanAnswer): Markup {
  const sentence =
    `${formatCount(counted.enumerated)} combinations: ${formatCount(counted.legal)} legal. A lower bound excludes ${formatCount(counted.bounded)} ` +
    `of these, and ${formatCount(counted.timed)} were timed in full.`;
  const rows = [...rules]
    .sort((a, b) => b.count - a.count)
    .map(
      ({ rule, count, example }) =>
        markup`<tr><td class="rule">${rule}</td><td class="number" data-title="combinations">${formatCount(count)}</td><td>${example}</td></tr>`,
    );
  const table =
    rows.length === 0
      ? undefined
      : markup`<table class="stacked"><thead><tr><th>rule</th><th class="number">combinations</th><th>for example</th></tr></thead><tbody>${rows}</tbody></table>`;
  return markup`<section><h2>What ruled out the rest</h2>${table}<p class="note">${sentence}</p></section>`;
}

function trust(shown: Plan | undefined, answer: PlanAnswer): Markup {
  return markup`<section><h2>How far to trust this</h2>
${shown === undefined ? undefined : markup`<p>${errorSentence(shown.prediction)}</p>`}
<p>${answer.calibration}</p>
${answer.assumptions.length === 0 ? undefined : markup`<ul class="plain">${answer.assumptions.map((assumption) => markup`<li>${assumption}</li>`)}</ul>`}
</section>`;
}

/** All parts of time and memory that the charts show, each once. */
function partsOf(plans: readonly Plan[]): readonly string[] {
  const time = plans.flatMap((plan) => plan.prediction.breakdown.map(({ part }) => part));
  const memory = plans.flatMap((plan) => plan.prediction.memory.flatMap(({ parts }) => parts.map(({ part }) => part)));
  return [...new Set([...time, ...memory])];
}
