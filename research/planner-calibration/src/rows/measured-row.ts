/** Reads files of published measurements: one training run per row, cells as text until a rule gives them a meaning. */
import { parse } from 'csv-parse/sync';

/** Columns without which a file cannot be scored; the others are optional and read as empty. */
export const REQUIRED_COLUMNS = [
  'id',
  'model',
  'layers',
  'hidden',
  'heads',
  'ffn_hidden',
  'vocab',
  'seq_len',
  'gpu',
  'gpus',
  'tp',
  'pp',
  'dp',
  'mbs',
  'gbs',
  'engine',
  'precision',
  'recompute',
  'iter_time_s',
  'quality',
] as const;

const OPTIONAL_COLUMNS = [
  'source',
  'params_b',
  'kv_heads',
  'experts',
  'topk',
  'gpus_per_node',
  'intra_node_link',
  'inter_node_link',
  'vpp',
  'cp',
  'ep',
  'etp',
  'sp',
  'zero_stage',
  'recompute_detail',
  'offload_detail',
  'mem_per_gpu_gib',
  'mem_kind',
  'notes',
] as const;

/** A column that is read from a file of measurements, required or optional. */
export type Column = (typeof REQUIRED_COLUMNS)[number] | (typeof OPTIONAL_COLUMNS)[number];
/** Columns that hold, or are computed from, what was measured, and columns that only name a row. A prediction never reads them. */
export const ANSWER_COLUMNS = ['id', 'source', 'iter_time_s', 'mem_per_gpu_gib', 'mem_kind'] as const;
/** A column that a prediction may read: neither an answer nor the quality of the row. */
export type StatedColumn = Exclude<Column, (typeof ANSWER_COLUMNS)[number] | 'quality'>;
/** What a user could have said about the run before it ran; empty text where nothing was published. */
export type StatedCells = Readonly<Record<StatedColumn, string>>;

/** One training run of a file of measurements. */
export interface MeasuredRow {
  readonly id: string;
  readonly source: string;
  /** Line of the file on which the row starts. */
  readonly line: number;
  readonly model: string;
  readonly gpu: string;
  readonly engine: string;
  readonly quality: string;
  readonly stated: StatedCells;
  /** Seconds per step; undefined where not published. */
  readonly iterTimeS: number | undefined;
  readonly memGib: number | undefined;
  readonly memKind: string;
  readonly isMoe: boolean;
  /** The row says that this layout ran out of memory. */
  readonly outOfMemory: boolean;
  /** Sizes of the layout are published, so that a prediction is owed. */
  readonly hasFullLayout: boolean;
  /** Why the row counts as unpredicted: an answer that is no number, or an id that another row has. */
  readonly fault?: string;
}

/** A file that cannot be read; the message says which line or column and what to do. */
export class MeasurementsError extends Error {}

const LAYOUT_COLUMNS = ['tp', 'pp', 'mbs', 'gbs', 'seq_len', 'gpus'] as const;
const OUT_OF_MEMORY = /\bOOM on\b|\bOOM\b(?=\s*[(;,]|\s*$)|out of memory/i;

/**
 * Rows of a CSV text. Accepts a byte-order mark, CRLF and line breaks inside quotes.
 *
 * A row whose answer is not a positive number, or whose id stands twice, keeps its place with a `fault`: one odd row never stops a score.
 *
 * @throws MeasurementsError for text that is not CSV, or a missing column
 */
export function readRows(csvText: string): readonly MeasuredRow[] {
  const rows = parsed(csvText).map(({ record, info }) => rowOf(record, info.lines));
  return withoutRepeatedIds(rows);
}

/** Every row after the first of its id is at fault. */
export function withoutRepeatedIds(rows: readonly MeasuredRow[]): readonly MeasuredRow[] {
  const seen = new Set<string>();
  return rows.map((row) => {
    const repeated = seen.has(row.id);
    seen.add(row.id);
    return repeated ? { ...row, fault: row.fault ?? 'the id of the row stands twice' } : row;
  });
}

interface ParsedRecord {
  readonly record: Readonly<Record<string, string>>;
  readonly info: { readonly lines: number };
}

function parsed(csvText: string): readonly ParsedRecord[] {
  let header: readonly string[] = [];
  let records: readonly ParsedRecord[];
  try {
    records = parse(csvText, {
      bom: true,
      columns: (names: string[]) => (header = names.map((name) => name.trim())) as string[],
      info: true,
      relax_column_count_less: true,
      skip_empty_lines: true,
    }) as unknown as readonly ParsedRecord[];
  } catch (error) {
    throw new MeasurementsError(`not readable as CSV: ${error instanceof Error ? error.message : String(error)}`);
  }
  const missing = REQUIRED_COLUMNS.filter((name) => !header.includes(name));
  if (missing.length > 0) {
    const what = missing.length === 1 ? 'column' : 'columns';
    throw new MeasurementsError(
      `line 1: missing ${what} ${missing.join(', ')}; the first line must name the columns of docs/reference/planner-score.md`,
    );
  }
  return records;
}

function rowOf(record: Readonly<Record<string, string>>, line: number): MeasuredRow {
  const cell = (name: Column): string => (record[name] ?? '').trim();
  const stated = Object.fromEntries(
    [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS].filter(isStated).map((name) => [name, cell(name)]),
  ) as StatedCells;
  const id = cell('id');
  return {
    id,
    source: cell('source'),
    line,
    model: cell('model'),
    gpu: cell('gpu'),
    engine: cell('engine'),
    quality: cell('quality'),
    stated,
    iterTimeS: measured(cell('iter_time_s')),
    memGib: measured(cell('mem_per_gpu_gib')),
    memKind: cell('mem_kind'),
    isMoe:
      Number(cell('experts')) > 1 || /\bA\d+(\.\d+)?B\b|moe\b|mixtral|deepseek|gpt-oss|\d+x\d+b/i.test(cell('model')),
    outOfMemory: cell('iter_time_s') === '' && OUT_OF_MEMORY.test(cell('notes')),
    hasFullLayout: LAYOUT_COLUMNS.every((name) => cell(name) !== ''),
    ...faultOf(id, { iter_time_s: cell('iter_time_s'), mem_per_gpu_gib: cell('mem_per_gpu_gib') }),
  };
}

/**
 * The source of a row by the prefix of its id: `bridge-perf-0012` is of `bridge-perf`. One digit numbers the parts of a source: `vtrain1` is
 * of `vtrain`. The column `source` holds line numbers of a publication.
 */
export function sourceOfId(id: string): string {
  return id.replace(/-\d+$/, '').replace(/(?<=[a-z])\d$/, '');
}

function isStated(name: Column): name is StatedColumn {
  return name !== 'quality' && !ANSWER_COLUMNS.some((answer) => answer === name);
}

/** An answer: undefined where the cell is empty or not a positive number. */
function measured(text: string): number | undefined {
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

function faultOf(id: string, answers: Readonly<Record<string, string>>): { readonly fault?: string } {
  if (id === '') return { fault: 'the row has no id' };
  const wrong = Object.keys(answers).find(
    (name) => answers[name] !== '' && measured(answers[name] ?? '') === undefined,
  );
  return wrong === undefined ? {} : { fault: `${wrong} is not a positive number` };
}
