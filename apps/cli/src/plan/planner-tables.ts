import {
  assumedEngineOf,
  precisionOf,
  type Plan,
  type PlanAnswer,
  type PlanRequest,
  type Prediction,
  type TimePart,
  type WhyNotAnswer,
} from '@coxswain/planner';
import { gpuOf, modelOf } from '@coxswain/planner/presets';
import {
  choicesOf,
  describeVerdict,
  errorRange,
  errorSentence,
  explainOrder,
  formatCount,
  formatDegrees,
  formatGib,
  formatHours,
  formatSeconds,
  formatShare,
  formatUsd,
  labelOfPart,
  peakRange,
  stageNote,
} from '@coxswain/plan-report';
import { columns } from '../output/output.ts';
import { assumedNetwork } from './assumed-network.ts';

/** Characters of a line; undefined: as wide as it needs. */
export type WidthColumns = number | undefined;

const BAR_COLUMNS = 24;
/** More stages than this are shown as the fullest of them. */
const MOST_STAGES = 16;
/** `1234.5` and the gap before it. */
const STAGE_COLUMNS = 8;
const INDENT = '  ';

/** A plan and all that stands beside it. */
export function planText(request: PlanRequest, answer: PlanAnswer, width: WidthColumns): string {
  return paragraphs([
    ...answerParts(request, answer, width),
    answer.best === undefined ? [] : partsText(answer.best),
    runnersUpText(request, answer, width),
    ruledOutText(answer, width),
    trustText(answer.best?.prediction ?? answer.closest?.plan.prediction, answer, width),
  ]);
}

/** The beginning of every answer: the question, the best layout or the closest, and advice. */
export function answerParts(
  request: PlanRequest,
  answer: PlanAnswer,
  width: WidthColumns,
): readonly (readonly string[])[] {
  return [
    [...wrapped(headline(request), width), ...assumedEngineText(request, width)],
    answer.best === undefined ? closestText(answer, width) : planFacts(answer.best, width),
    adviceText(answer, width),
  ];
}

/** A prediction alone: where time and memory go. */
export function predictionText(request: PlanRequest, plan: Plan, width: WidthColumns): string {
  const network = assumedNetwork(request);
  return paragraphs([
    wrapped(headline(request, plan.layout.kernel?.precision), width),
    planFacts(plan, width),
    partsText(plan),
    memoryText(plan.prediction, width),
    [...wrapped(errorSentence(plan.prediction), width), ...(network === undefined ? [] : wrapped(network, width))],
  ]);
}

/** Why a layout is not the best one. */
export function whyNotText(
  plan: Pick<Plan, 'layout' | 'microBatchSize'>,
  answer: WhyNotAnswer,
  width: WidthColumns,
): string {
  const { verdict, reason, brokenRules, prediction, best, difference } = answer;
  const stated = plan.layout.kernel?.precision;
  return paragraphs([
    wrapped([formatDegrees(plan), choicesOf(plan), ...(stated === undefined ? [] : [stated])].join(', '), width),
    wrapped(`${WHY_NOT_WORD[verdict]}: ${reason}`, width),
    brokenRules.length < 2 ? [] : ['It breaks', ...brokenRules.flatMap((rule) => wrapped(`- ${rule}`, width, INDENT))],
    factLines(
      [
        ...(prediction === undefined ? [] : [['Predicted', summary(prediction)] as const]),
        ...(best === undefined || verdict === 'best'
          ? []
          : [['Best', `${formatDegrees(best)}, ${choicesOf(best)}`] as const, ['', summary(best.prediction)] as const]),
      ],
      width,
    ),
    difference.length === 0 ? [] : ['Per step, over the best', ...differenceLines(difference)],
  ]);
}

const WHY_NOT_WORD: Readonly<Record<WhyNotAnswer['verdict'], string>> = {
  best: 'Best',
  tied: 'As fast as the best, which is simpler',
  illegal: 'Not legal',
  doesNotFit: 'Does not fit',
  worse: 'Worse',
  outsideSearch: 'Better, by a choice that the search does not make',
};

export function paragraphs(parts: readonly (readonly string[])[]): string {
  return parts
    .filter((part) => part.length > 0)
    .map((part) => part.join('\n'))
    .join('\n\n');
}

/** A layout may state another precision than the request. */
function headline(request: PlanRequest, precision: string = precisionOf(request)): string {
  const { model, modelShape, cluster, globalBatchSize, sequenceLength } = request;
  const name = model === undefined ? (modelShape?.name ?? 'Model') : modelOf(model).title;
  return (
    `${name} on ${formatCount(cluster.gpus)} x ${gpuTitles(cluster)}, ` +
    `global batch ${formatCount(globalBatchSize)} x ${formatCount(sequenceLength)} tokens, ${precision}`
  );
}

/** Empty if the request names its engine, or pins what the usual one does not run. */
function assumedEngineText(request: PlanRequest, width: WidthColumns): readonly string[] {
  const engine = assumedEngineOf(request);
  if (engine === undefined) return [];
  return wrapped(`No engine is named, so this is what ${engine} runs; name yours with --stack.`, width);
}

/** `NVIDIA H100 … or NVIDIA A100 …` where islands have several. */
function gpuTitles({ gpu, islands = [] }: PlanRequest['cluster']): string {
  const names = islands.length === 0 ? [gpu] : islands.map((island) => island.gpu ?? gpu);
  return [...new Set(names)].map((name) => gpuOf(name).title).join(' or ');
}

function planFacts(plan: Plan, width: WidthColumns): readonly string[] {
  const { prediction, trainingHours, costUsd } = plan;
  const whole = [
    ...(trainingHours === undefined ? [] : [formatHours(trainingHours)]),
    ...(costUsd === undefined ? [] : [formatUsd(costUsd)]),
  ].join(', ');
  const rows: (readonly [string, string])[] = [
    ['Layout', `${formatDegrees(plan)} on ${formatCount(plan.gpus)} ${plan.gpus === 1 ? 'GPU' : 'GPUs'}`],
    ['', choicesOf(plan)],
    ...(plan.whyStages === undefined ? [] : [['Islands', plan.whyStages] as const]),
    ['Step', `${formatSeconds(prediction.stepTimeS)} (${errorRange(prediction)})`],
    [
      'Speed',
      `${formatCount(prediction.tokensPerSPerGpu)} tokens/s per GPU, ${prediction.modelFlopsUtilizationPct.toFixed(1)} % of peak FLOP/s, ` +
        `pipeline bubble ${formatShare(prediction.bubbleShare)}`,
    ],
    [
      'Memory',
      `${formatGib(prediction.peakGib)} of ${formatGib(prediction.capacityGib)}: ${describeVerdict(prediction.verdict)}${inBrackets(peakRange(prediction))}`,
    ],
  ];
  if (whole !== '') rows.push([trainingHours === undefined ? 'Per step' : 'Training', whole]);
  return factLines(rows, width);
}

function inBrackets(text: string | undefined): string {
  return text === undefined ? '' : ` (${text})`;
}

/** What would be faster, or possible at all, each with its layout. */
function adviceText({ advice = [] }: PlanAnswer, width: WidthColumns): readonly string[] {
  if (advice.length === 0) return [];
  const lines = advice.map(({ sentence, plan }) => `- ${sentence} (${formatDegrees(plan)}, ${choicesOf(plan)})`);
  return ['Advice', ...lines.flatMap((line) => wrapped(line, width, INDENT))];
}

/** `Name   value` with the values in one column, broken between words. */
export function factLines(facts: readonly (readonly [string, string])[], width: WidthColumns): readonly string[] {
  const column = Math.max(0, ...facts.map(([name]) => name.length)) + 2;
  return facts.flatMap(([name, value]) =>
    wrapped(value, width, ' '.repeat(column)).map((line, index) =>
      index === 0 ? name + line.slice(name.length) : line,
    ),
  );
}

function summary(prediction: Prediction): string {
  return (
    `${formatSeconds(prediction.stepTimeS)} (${errorRange(prediction)}), ${formatCount(prediction.tokensPerSPerGpu)} tokens/s per GPU, ` +
    `${formatGib(prediction.peakGib)} of ${formatGib(prediction.capacityGib)} (${describeVerdict(prediction.verdict)})`
  );
}

/** Parts of a step, the largest first, each with a bar. */
function partsText({ layout, prediction: { breakdown, stepTimeS } }: Plan): readonly string[] {
  const parts = [...breakdown]
    .filter(({ seconds }) => seconds > 0.0005 * stepTimeS)
    .sort((a, b) => b.seconds - a.seconds);
  if (parts.length === 0) return [];
  const most = parts[0]?.seconds ?? 1;
  const rows = parts.map(({ part, seconds }) => [
    `${INDENT}${labelOfPart(part)}`,
    formatSeconds(seconds).padStart(8),
    formatShare(seconds / stepTimeS).padStart(7),
    bar(seconds / most),
  ]);
  return [`Where a step goes${stageNote(layout)}`, columns(rows)];
}

function bar(share: number): string {
  return '█'.repeat(Math.max(share > 0 ? 1 : 0, Math.round(share * BAR_COLUMNS)));
}

/** One column per pipeline stage, as many as fit, the fullest first of all. */
function memoryText({ memory, capacityGib }: Prediction, width: WidthColumns): readonly string[] {
  if (memory.length === 0) return [];
  const names = [
    ...new Set(memory.flatMap(({ parts }) => parts.filter(({ gib }) => gib >= 0.05).map(({ part }) => part))),
  ];
  const labelColumns = Math.max(...names.map((name) => labelOfPart(name).length), 5) + INDENT.length;
  const most = width === undefined ? MOST_STAGES : Math.floor((width - labelColumns) / STAGE_COLUMNS);
  const shown = [...memory]
    .sort((a, b) => b.peakGib - a.peakGib)
    .slice(0, Math.max(1, Math.min(most, MOST_STAGES)))
    .sort((a, b) => a.stage - b.stage);
  const cell = (text: string): string => text.padStart(STAGE_COLUMNS - 2);
  const rows = names.map((name) => [
    `${INDENT}${labelOfPart(name)}`,
    ...shown.map(({ parts }) => cell((parts.find(({ part }) => part === name)?.gib ?? 0).toFixed(1))),
  ]);
  const left = memory.length > shown.length ? ` (the ${shown.length} fullest of ${memory.length} stages)` : '';
  return [
    `Memory per GPU by stage, in GiB of ${capacityGib.toFixed(1)}${left}`,
    columns([
      [`${INDENT}stage`, ...shown.map(({ stage }) => cell(String(stage)))],
      ...rows,
      [`${INDENT}peak`, ...shown.map(({ peakGib }) => cell(peakGib.toFixed(1)))],
    ]),
  ];
}

/** A column of a table; one of low worth goes first when the terminal is narrow. */
interface PlanColumn {
  readonly title: string;
  readonly worth: number;
  readonly cell: (plan: Plan, index: number, best: Plan) => string;
}

const PLAN_COLUMNS: readonly PlanColumn[] = [
  { title: '#', worth: 9, cell: (_, index) => String(index + 1) },
  { title: 'LAYOUT', worth: 9, cell: (plan) => formatDegrees(plan) },
  { title: 'GPUS', worth: 3, cell: (plan) => String(plan.gpus) },
  { title: 'STEP', worth: 9, cell: (plan) => formatSeconds(plan.prediction.stepTimeS) },
  {
    title: 'OVER BEST',
    worth: 4,
    cell: (plan, index, best) =>
      index === 0 ? '-' : signedShare(plan.prediction.stepTimeS / best.prediction.stepTimeS - 1),
  },
  { title: 'TOKENS/S/GPU', worth: 2, cell: (plan) => formatCount(plan.prediction.tokensPerSPerGpu) },
  { title: 'MEMORY', worth: 8, cell: (plan) => formatGib(plan.prediction.peakGib) },
  { title: 'COST', worth: 5, cell: (plan) => (plan.costUsd === undefined ? '-' : formatUsd(plan.costUsd)) },
  { title: 'CHOICES', worth: 7, cell: (plan) => choicesOf(plan) },
];
/** A shorter column of choices is useless: the table drops another column instead. */
const LEAST_CHOICES_COLUMNS = 34;

export function runnersUpText(
  request: PlanRequest,
  { plans }: Pick<PlanAnswer, 'plans'>,
  width: WidthColumns,
): readonly string[] {
  const [best] = plans;
  if (best === undefined || plans.length < 2) return [];
  const why = explainOrder(plans, request);
  let kept = PLAN_COLUMNS;
  const table = (): string =>
    columns([
      kept.map(({ title }) => title),
      ...plans.map((plan, index) => kept.map(({ cell }) => cell(plan, index, best))),
    ]);
  const withoutChoices = (): string =>
    columns(
      plans.map((plan, index) => [
        ...kept.slice(0, -1).map(({ title, cell }) => longer(title, cell(plan, index, best))),
        '|',
      ]),
    );
  while (width !== undefined && kept.length > 4 && widest(withoutChoices()) + LEAST_CHOICES_COLUMNS > width) {
    const least = Math.min(...kept.map(({ worth }) => worth));
    kept = kept.filter(({ worth }) => worth !== least);
  }
  return [
    table()
      .split('\n')
      .map((line) => shortened(line, width))
      .join('\n'),
    ...(why === undefined ? [] : wrapped(why, width, INDENT)),
  ];
}

function longer(a: string, b: string): string {
  return a.length > b.length ? a : b;
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

function signedShare(share: number): string {
  return `${share < 0 ? '-' : '+'}${formatShare(Math.abs(share))}`;
}

function ruledOutText({ ruledOut, counted }: PlanAnswer, width: WidthColumns): readonly string[] {
  const rows = [...ruledOut]
    .sort((a, b) => b.count - a.count)
    .map(({ rule, count, example }) => [`${INDENT}${formatCount(count)}`, rule, example]);
  const sentence =
    `${formatCount(counted.enumerated)} combinations: ${formatCount(counted.legal)} legal, ` +
    `${formatCount(counted.bounded)} worse by a lower bound, ${formatCount(counted.timed)} timed in full.`;
  const table =
    rows.length === 0
      ? []
      : [
          columns(rows)
            .split('\n')
            .map((line) => shortened(line, width))
            .join('\n'),
        ];
  return [
    `What ruled out the rest${rows.length === 0 ? '' : ', each with one example'}`,
    ...table,
    ...wrapped(sentence, width, INDENT),
  ];
}

function closestText({ closest, whyNothing }: PlanAnswer, width: WidthColumns): readonly string[] {
  if (closest === undefined)
    return whyNothing === undefined
      ? ['No layout is legal.']
      : wrapped(`Nothing can be planned: ${whyNothing}.`, width);
  const missing =
    closest.exceedsGib > 0
      ? `Nothing fits: the closest layout lacks ${formatGib(closest.exceedsGib)} of memory per GPU.`
      : 'Layouts fit the memory, but none meets the deadline. The closest:';
  const relax = closest.relax.flatMap((way) => wrapped(`- ${way}`, width, INDENT));
  return [
    ...wrapped(missing, width),
    ...planFacts(closest.plan, width),
    ...(relax.length === 0 ? [] : ['What would help:', ...relax]),
  ];
}

function trustText(shown: Prediction | undefined, answer: PlanAnswer, width: WidthColumns): readonly string[] {
  return [
    ...(shown === undefined ? [] : wrapped(errorSentence(shown), width)),
    ...wrapped(answer.calibration, width),
    ...(answer.assumptions.length === 0
      ? []
      : ['Assumed:', ...answer.assumptions.flatMap((each) => wrapped(`- ${each}`, width, INDENT))]),
  ];
}

/** Sums of floating-point numbers differ by less where nothing differs. */
const TOLD_S = 1e-6;

function differenceLines(difference: readonly TimePart[]): readonly string[] {
  const rows = difference
    .filter(({ seconds }) => Math.abs(seconds) >= TOLD_S)
    .map(({ part, seconds }) => [
      `${INDENT}${labelOfPart(part)}`,
      `${seconds > 0 ? '+' : ''}${formatSeconds(seconds)}`,
    ]);
  return [columns(rows)];
}

/** Lines no wider than the terminal, broken between words. */
export function wrapped(text: string, width: WidthColumns, indent = ''): readonly string[] {
  if (width === undefined) return [indent + text];
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.trim() !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = indent;
    }
    line += line.trim() === '' ? word : ` ${word}`;
  }
  return [...lines, line];
}

function shortened(line: string, width: WidthColumns): string {
  return width === undefined || line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}
