/** Formats the score as text. */
import { coverageByFamily, type Coverage } from './interval-coverage.ts';
import { errorPct, errorStatistics, type ErrorStatistics } from './error-statistics.ts';
import { memoryPeakOf } from './memory-kind.ts';
import { sourceOfId } from '../rows/index.ts';
import type { PredictedRow, ScoredRows } from './score-rows.ts';
import { countsOf, memoriesOf, timesOf, type Summary } from './summary.ts';
import { tableLines } from './text-table.ts';

/** What a table of step times has one line for. */
export const GROUPINGS = ['source', 'gpu', 'stack', 'kind', 'precision', 'file'] as const;
/** One of {@link GROUPINGS}. */
export type Grouping = (typeof GROUPINGS)[number];

/** A row and the file it stands in. */
export type FileOfRow = ReadonlyMap<string, string>;

/** What a report shows besides the totals: tables of step times by grouping, and the given number of worst rows. */
export interface ReportOptions {
  readonly by: readonly Grouping[];
  readonly worst: number;
  /** Name of the file by row id. */
  readonly files: FileOfRow;
}

/** The report as lines of text without line breaks. */
export function reportLines(rows: ScoredRows, summary: Summary, options: ReportOptions): readonly string[] {
  const { predicted } = rows;
  return [
    ...options.by.flatMap((grouping) => timeTable(grouping, predicted, options.files)),
    ...overallTable(summary),
    ...memoryTable(predicted, summary),
    ...intervalTable(predicted),
    ...regretLines(summary),
    ...coverageLines(summary),
    ...filledTable(predicted),
    ...worstTable(predicted, options.worst),
  ];
}

const STATISTICS = ['n', 'median', 'mean', 'bias', 'p90', '<= 10 %', '<= 20 %'] as const;

function timeTable(grouping: Grouping, rows: readonly PredictedRow[], files: FileOfRow): readonly string[] {
  const timed = rows.filter(({ time }) => time !== undefined);
  const groups = Map.groupBy(timed, (row) => groupOf(row, grouping, files));
  const lines = [...groups]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, members]) => [name, ...cellsOf(errorStatistics(timesOf(members)))]);
  return lines.length === 0 ? [] : [...tableLines([`step time by ${grouping}`, ...STATISTICS], lines), ''];
}

function groupOf({ row, run, isMoe }: PredictedRow, grouping: Grouping, files: FileOfRow): string {
  switch (grouping) {
    case 'source':
      return sourceOfId(row.id);
    case 'gpu':
      return run.cluster.gpu.name;
    case 'stack':
      return run.stack;
    case 'kind':
      return isMoe ? 'mixture of experts' : 'dense';
    case 'precision':
      return run.precision;
    case 'file':
      return files.get(row.id) ?? '';
  }
}

function overallTable(summary: Summary): readonly string[] {
  return [
    ...tableLines(
      ['step time', ...STATISTICS],
      [
        ['dense', ...cellsOf(summary.dense)],
        ['mixture of experts', ...cellsOf(summary.moe)],
        ['all', ...cellsOf(summary.time)],
      ],
    ),
    '',
  ];
}

function memoryTable(rows: readonly PredictedRow[], summary: Summary): readonly string[] {
  const measured = rows.filter(({ memory }) => memory !== undefined);
  const groups = Map.groupBy(
    measured,
    ({ row, isMoe }) =>
      `${row.memKind === '' ? 'not said' : row.memKind}, ${isMoe ? 'MoE' : 'dense'} (${memoryPeakOf(row.memKind)})`,
  );
  const lines = [...groups]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, members]) => [name, ...cellsOf(errorStatistics(memoriesOf(members)))]);
  const { memory } = summary;
  return [
    ...tableLines(
      ['memory by published kind (predicted peak)', ...STATISTICS],
      [...lines, ['all', ...cellsOf(memory)]],
    ),
    `Verdicts: ${memory.falseFits} of ${memory.outOfMemory} rows that ran out of memory are said to fit; ` +
      `${memory.falseDoesNotFit} of ${memory.ran} rows that ran are said not to fit.`,
    '',
  ];
}

function intervalTable(rows: readonly PredictedRow[]): readonly string[] {
  const cells = ({ n, inside }: Coverage): readonly string[] => [
    String(n),
    n === 0 ? '-' : `${Math.round((100 * inside) / n)} %`,
  ];
  const lines = [...coverageByFamily(rows)]
    .filter(([, { time, memory }]) => time.n + memory.n > 0)
    .map(([family, { time, memory }]) => [family, ...cells(time), ...cells(memory)]);
  if (lines.length === 0) return [];
  return [...tableLines(['in their interval, by engine', 'times', 'inside', 'peaks', 'inside'], lines), ''];
}

function regretLines({ regret }: Summary): readonly string[] {
  if (regret.n === 0) return ['Regret: no group of rows holds several layouts of one job.', ''];
  return [
    `Regret of the layout predicted fastest, in ${regret.n} jobs with ${regret.layouts} measured layouts: ` +
      `median ${percent(regret.medianPct)}, mean ${percent(regret.meanPct)}, p90 ${percent(regret.p90Pct)}, worst ${percent(regret.worstPct)} %.`,
    '',
  ];
}

function coverageLines({ unpredicted }: Summary): readonly string[] {
  const { n, reasons, fullLayout, fullLayoutPredicted } = unpredicted;
  return [
    `Predicted: ${fullLayoutPredicted} of ${fullLayout} rows with a full layout. Not predicted: ${n} ${n === 1 ? 'row' : 'rows'}${n === 0 ? '.' : ':'}`,
    ...Object.entries(reasons).map(([reason, count]) => `  ${String(count).padStart(4)}  ${reason}`),
    '',
  ];
}

function filledTable(rows: readonly PredictedRow[]): readonly string[] {
  const counts = Object.entries(countsOf(rows.flatMap(({ filled }) => filled)));
  if (counts.length === 0) return [];
  return [
    ...tableLines(
      ['filled by rule', 'rows'],
      counts.map(([rule, count]) => [rule, String(count)]),
    ),
    '',
  ];
}

function worstTable(rows: readonly PredictedRow[], count: number): readonly string[] {
  const worst = rows
    .flatMap((row) => (row.time === undefined ? [] : [{ row, error: errorPct(row.time), time: row.time }]))
    .sort((a, b) => Math.abs(b.error) - Math.abs(a.error))
    .slice(0, count);
  if (worst.length === 0) return [];
  const lines = worst.map(({ row, error, time }) => [
    row.row.id,
    percent(error),
    seconds(time.predicted),
    seconds(time.measured),
    row.run.model.name ?? '',
    `${row.run.cluster.gpus} ${row.run.cluster.gpu.name}`,
    layoutText(row),
    row.run.precision,
    row.run.stack,
  ]);
  const header = ['worst rows', 'error', 'predicted s', 'measured s', 'model', 'GPUs', 'layout', 'precision', 'stack'];
  return [...tableLines(header, lines), ''];
}

function layoutText({ run }: PredictedRow): string {
  const { candidate, globalBatchSize } = run;
  const degrees = [
    `tp${candidate.tensor}`,
    `pp${candidate.pipeline}${candidate.chunks > 1 ? `x${candidate.chunks}` : ''}`,
    `dp${candidate.data}`,
    ...(candidate.context > 1 ? [`cp${candidate.context}`] : []),
    ...(candidate.expert > 1 ? [`ep${candidate.expert}`] : []),
    ...(candidate.zeroStage > 0 ? [`z${candidate.zeroStage}`] : []),
  ];
  return `${degrees.join(' ')} ${candidate.schedule} ${candidate.recompute} ${candidate.microBatchSize}/${globalBatchSize}`;
}

function cellsOf(statistics: ErrorStatistics): readonly string[] {
  const share = (value: number | null): string => (value === null ? '-' : `${Math.round(100 * value)} %`);
  return [
    String(statistics.n),
    percent(statistics.medianAbsPct),
    percent(statistics.meanAbsPct),
    percent(statistics.biasPct),
    percent(statistics.p90AbsPct),
    share(statistics.within10),
    share(statistics.within20),
  ];
}

function percent(value: number | null): string {
  return value === null ? '-' : value.toFixed(1);
}

function seconds(value: number): string {
  return value.toPrecision(4);
}

interface ConstantCounts {
  readonly shared: number;
  readonly perGpuType: number;
  readonly perStack: number;
  readonly total: number;
}

/** One line with the number of constants of the time model: total, shared, of GPU types and of software stacks. */
export function constantsLine({ shared, perGpuType, perStack, total }: ConstantCounts): string {
  return `Constants of the time model: ${total} (${shared} shared, ${perGpuType} of GPU types, ${perStack} of software stacks).`;
}
