/** Replays a history. Only the command that replays loads this file, because the simulation loads the rules of the operator. */
import {
  type HistoryJob,
  HistoryError,
  parseCoxswainJobs,
  parseSacct,
  type QueueRuleName,
  type ReadHistory,
  replayHistory,
  type ReplayReport,
} from '@coxswain/simulation';
import { readFileSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';
import type { Session } from '../session/session.ts';
import type { ReplayAnswer } from './replay-tables.ts';

/** The cluster, and the rules that are tried. */
export interface ReplayOptions {
  readonly nodes?: number;
  readonly gpusPerNode: number;
  readonly rules: readonly QueueRuleName[];
}

/** Reads the files and replays their jobs under each rule. Throws a {@link CliError} if a file is unusable or the user interrupts. */
export async function runReplay(
  files: readonly string[],
  { nodes, gpusPerNode, rules }: ReplayOptions,
  session: Session,
): Promise<ReplayAnswer> {
  const histories = files.map((file) => readHistory(file, gpusPerNode));
  const jobs = histories.flatMap((history) => history.jobs);
  const leftOut = histories.flatMap((history) => history.leftOut);
  if (jobs.length === 0) throw new CliError(`${files.join(', ')}: no job ran on GPUs${reasons(leftOut)}.`);
  const steps = replayHistory({
    jobs,
    gpusPerNode,
    rules,
    stopwatch: () => performance.now(),
    ...(nodes === undefined ? {} : { nodes: enough(nodes, jobs) }),
  });
  return { jobs: jobs.length, leftOut, ...(await finished(steps, session)) };
}

/** A job with more pods than nodes would wait for ever. */
function enough(nodes: number, jobs: readonly HistoryJob[]): number {
  const largest = jobs.reduce((one, other) => (other.pods > one.pods ? other : one));
  if (largest.pods <= nodes) return nodes;
  throw new CliError(`--nodes ${nodes} is too few: job ${largest.id} ran on ${largest.pods} nodes.`);
}

function reasons(leftOut: ReadHistory['leftOut']): string {
  return leftOut.length === 0 ? '' : ` (${leftOut.map(({ count, why }) => `${count} ${why}`).join(', ')})`;
}

const MAX_HISTORY_BYTES = 256 * 2 ** 20;

function readHistory(file: string, gpusPerNode: number): ReadHistory {
  try {
    const { size } = statSync(file);
    if (size > MAX_HISTORY_BYTES)
      throw new CliError(`${file} has ${Math.round(size / 2 ** 20)} MiB; the maximum is 256 MiB. Give fewer days.`);
    const text = readFileSync(file, 'utf8');
    const isJson = /^\s*[[{]/.test(text);
    return isJson
      ? parseCoxswainJobs(documentOf(text, file), { file, gpusPerNode })
      : parseSacct(text, { file, gpusPerNode });
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (error instanceof HistoryError) throw new CliError(error.message);
    throw fileError('read', file, error);
  }
}

function documentOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${file} is not JSON: ${(error as Error).message}`);
  }
}

const QUIET_MS = 2_000;

/** Reports progress on standard error every two seconds, and lets Ctrl-C take effect. */
async function finished(steps: Generator<number, ReplayReport>, session: Session): Promise<ReplayReport> {
  let printedMs = session.now().getTime();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const nowMs = session.now().getTime();
    if (nowMs - printedMs >= QUIET_MS) {
      session.printError(`${Math.round(step.value * 100)} %`);
      printedMs = nowMs;
    }
    await setImmediate();
    if (session.signal.aborted) throw new CliError('interrupted', 130);
  }
}
