import {
  type HistoryJob,
  HistoryError,
  parseCoxswainJobs,
  parseSacct,
  QUEUE_RULE_NAMES,
  QUEUE_RULES,
  type QueueRuleName,
  type ReadHistory,
  replayHistory,
  type ReplayReport,
} from '@coxswain/simulation';
import { type Command, InvalidArgumentError } from 'commander';
import { readFileSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { CliError } from '../cli-error.ts';
import { render } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { type ReplayAnswer, replayText } from './replay-tables.ts';

interface ReplayOptions {
  readonly nodes?: number;
  readonly gpusPerNode: number;
  readonly rules: readonly QueueRuleName[];
  readonly json?: true;
}

/** `coxswain simulate queue`: how long the jobs of a cluster's own history would have waited under other scheduling rules. */
export function addReplayCommand(simulate: Command, session: Session): void {
  simulate
    .command('queue <file...>')
    .description("replay a cluster's own history under each scheduling rule; works offline")
    .option('--nodes <count>', 'nodes of the cluster (default: as many as the history used at once)', whole(1, 10_000))
    .option('--gpus-per-node <count>', 'GPUs of a node', whole(1, 16), 8)
    .option('--rules <names>', `rules to try: ${QUEUE_RULE_NAMES.join(',')}`, ruleNames, QUEUE_RULE_NAMES)
    .option('--json', 'the same as --output json')
    .addHelpText('after', EXAMPLES)
    .action(async (files: readonly string[], { json, ...options }: ReplayOptions) => {
      const answer = await replayed(files, options, session);
      // The command above has the option too, and takes it first.
      const isJson = json === true || simulate.opts<{ readonly json?: true }>().json === true;
      session.print(render(answer, isJson ? 'json' : session.outputFormat(), replayText));
    });
}

const EXAMPLES = `
Files are the output of sacct --parsable2, or jobs of Coxswain as JSON. How to write them: docs/tasks/try-scheduling-rules.md.

Examples:
  coxswain simulate queue sacct.txt --nodes 64
  coxswain simulate queue jobs.json --rules coxswain,fifo,easy-exact`;

async function replayed(
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
    throw new CliError(`Cannot read ${file}: ${(error as Error).message}`);
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

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,6}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`"${text}" is not a whole number from ${least} to ${most}.`);
  };
}

function ruleNames(text: string): readonly QueueRuleName[] {
  return text.split(',').map((name) => {
    const known = QUEUE_RULE_NAMES.find((one) => one === name);
    if (known !== undefined) return known;
    const all = QUEUE_RULE_NAMES.map((one) => `${one} (${QUEUE_RULES[one].title})`).join(', ');
    throw new InvalidArgumentError(`"${name}" is not a rule. The rules are ${all}.`);
  });
}
