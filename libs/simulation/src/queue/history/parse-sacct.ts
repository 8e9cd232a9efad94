import { type HistoryJob, HistoryError, LeftOut, podsOf, type ReadHistory } from './history-job.ts';

const REQUIRED = ['JobID', 'Submit', 'Start', 'End'] as const;
/** The first of these columns that is there names the tenant of a job. */
const TENANT_COLUMNS = ['Account', 'User', 'Partition'];
/** The command whose output is read. */
const SACCT_COMMAND =
  'sacct --allusers --allocations --parsable2 --format=JobID,Account,Submit,Start,End,AllocNodes,AllocTRES,State,Timelimit';

interface Table {
  readonly has: (column: string) => boolean;
  /** The text of a column in one row; empty if there is no such column. */
  readonly cell: (column: string) => string;
  readonly fail: (column: string, problem: string) => HistoryError;
}

/**
 * Jobs of `sacct --parsable2`, whose first line names the columns. Times have no zone and count as UTC. Throws a {@link HistoryError} that names
 * line and column. Steps of jobs (`12.batch`) are skipped.
 */
export function parseSacct(text: string, { file, gpusPerNode }: { file: string; gpusPerNode: number }): ReadHistory {
  const [header = '', ...lines] = text.split(/\r?\n/);
  const columns = header.split('|');
  const missing = REQUIRED.filter((column) => !columns.includes(column));
  if (!columns.includes('AllocTRES') && !columns.includes('AllocNodes')) missing.push('AllocTRES' as never);
  if (missing.length > 0)
    throw new HistoryError(
      `${file}, line 1: there is no column ${missing.join(', ')}. Write the file with: ${SACCT_COMMAND}`,
    );
  const leftOut = new LeftOut();
  const jobs = lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const cells = line.split('|');
    const at = `${file}, line ${index + 2}`;
    if (cells.length !== columns.length)
      throw new HistoryError(
        `${at}: it has ${cells.length} columns, and line 1 has ${columns.length}. Separate columns by "|".`,
      );
    const job = jobOfRow(tableOf(columns, cells, at), { gpusPerNode, leftOut });
    return job === undefined ? [] : [job];
  });
  return { jobs, leftOut: leftOut.list() };
}

function tableOf(columns: readonly string[], cells: readonly string[], at: string): Table {
  return {
    has: (column) => columns.includes(column),
    cell: (column) => cells[columns.indexOf(column)]?.trim() ?? '',
    fail: (column, problem) => new HistoryError(`${at}, column ${column}: ${problem}`),
  };
}

function jobOfRow(
  row: Table,
  { gpusPerNode, leftOut }: { readonly gpusPerNode: number; readonly leftOut: LeftOut },
): HistoryJob | undefined {
  const id = row.cell('JobID');
  if (id.includes('.')) return undefined;
  const submitMs = timeIn(row, 'Submit');
  const startMs = timeIn(row, 'Start');
  const endMs = timeIn(row, 'End');
  if (submitMs === undefined) throw row.fail('Submit', `"${row.cell('Submit')}" is not a time; each job has one`);
  if (startMs === undefined) return skipped(leftOut, 'that never started');
  if (startMs < submitMs) throw row.fail('Start', `${row.cell('Start')} is before Submit ${row.cell('Submit')}`);
  if (endMs !== undefined && endMs < startMs)
    throw row.fail('End', `${row.cell('End')} is before Start ${row.cell('Start')}`);
  if (endMs === startMs) return skipped(leftOut, 'that ended in the second of their start');
  const gpus = gpusOf(row, gpusPerNode);
  if (gpus === 0) return skipped(leftOut, 'without GPUs');
  const nodes = wholeIn(row, 'AllocNodes');
  const pods = podsOf(gpus, { nodes: nodes === 0 ? undefined : nodes, gpusPerNode });
  if (pods === undefined)
    throw row.fail(
      row.has('AllocTRES') ? 'AllocTRES' : 'AllocNodes',
      `${gpus} GPUs on ${nodes} nodes are more than ${gpusPerNode} a node; give the GPUs of a node by --gpus-per-node`,
    );
  const limitMs = limitIn(row);
  return {
    id,
    namespace: TENANT_COLUMNS.map((column) => row.cell(column)).find((name) => name !== '') ?? 'all',
    ...pods,
    submitMs,
    startMs,
    ...(endMs === undefined ? {} : { endMs }),
    ...(limitMs === undefined ? {} : { predicted: { runMs: limitMs, latestMs: limitMs } }),
  };
}

function skipped(leftOut: LeftOut, why: string): undefined {
  leftOut.add(why);
  return undefined;
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/;
const NO_TIME: ReadonlySet<string> = new Set(['', 'Unknown', 'None', 'N/A']);

/** undefined: the job has no such time. */
function timeIn(row: Table, column: string): number | undefined {
  const text = row.cell(column);
  if (NO_TIME.has(text)) return undefined;
  const ms = TIME.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(ms))
    throw row.fail(
      column,
      `"${text}" is not a time such as 2026-01-31T12:00:00; unset SLURM_TIME_FORMAT and run sacct again`,
    );
  return ms;
}

function wholeIn(row: Table, column: string): number | undefined {
  const text = row.cell(column);
  if (text === '') return undefined;
  if (!/^\d{1,7}$/.test(text)) throw row.fail(column, `"${text}" is not a whole number`);
  return Number(text);
}

/** Of `billing=8,gres/gpu=16,gres/gpu:h100=16,node=2` the untyped count, else the sum of the typed ones. Without the column: all GPUs of the nodes. */
function gpusOf(row: Table, gpusPerNode: number): number {
  if (!row.has('AllocTRES')) return (wholeIn(row, 'AllocNodes') ?? 0) * gpusPerNode;
  const counts = [...row.cell('AllocTRES').matchAll(/(?:^|,)gres\/gpu(:[^=,]*)?=([^,]*)/g)].map(
    ([, type, count = '']) => {
      if (!/^\d{1,7}$/.test(count)) throw row.fail('AllocTRES', `"${count}" is not a number of GPUs`);
      return { isTyped: type !== undefined, gpus: Number(count) };
    },
  );
  const untyped = counts.find(({ isTyped }) => !isTyped);
  return untyped?.gpus ?? counts.reduce((sum, { gpus }) => sum + gpus, 0);
}

/** `7-00:00:00`, `12:00:00` or `30:00` (minutes and seconds) in milliseconds; words such as UNLIMITED: no limit. */
function limitIn(row: Table): number | undefined {
  const text = row.cell('Timelimit');
  if (text === '' || /^[A-Za-z_]+$/.test(text)) return undefined;
  const parts = /^(?:(\d{1,4})-)?(?:(\d{1,4}):)?(\d{1,4}):(\d{2})$/.exec(text);
  if (parts === null) throw row.fail('Timelimit', `"${text}" is not a limit such as 1-12:00:00`);
  const [days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0));
  return ((((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60 + (seconds ?? 0)) * 1_000;
}
