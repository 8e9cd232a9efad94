import {
  type HealthVerdict,
  MAX_TRACE_LINE_CHARACTERS,
  readHeader,
  readRecord,
  type TraceHeader,
  unknownRank,
  watchHealth,
} from '@coxswain/health';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { jsonText } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { addClassifyCommand } from './classify-command.ts';
import { linesOf } from './trace-lines.ts';

/** Adds `health replay`, which runs the detectors over a recorded trace offline, and `health classify`. */
export function addHealthCommands(program: Command, session: Session): void {
  const health = program
    .command('health')
    .description('find the rank that holds a job up, from a recorded trace; or why a rank ended, from its log');
  addClassifyCommand(health, session);
  health
    .command('replay')
    .argument('<file>', 'trace file: a header, then one record per line; - is standard input')
    .description('run the detectors over a recorded trace, and print each finding')
    .option('--json', 'verdicts as JSON lines')
    .addHelpText('after', EXAMPLE)
    .action(async (file: string, { json }: { readonly json?: true }) => {
      const isJson = json === true || session.outputFormat() === 'json';
      for await (const verdict of verdictsOf(file)) {
        session.print(isJson ? jsonText(verdict) : inWords(verdict));
      }
    });
}

const EXAMPLE = `
Traces are described in docs/reference/health.md.

Example:
  coxswain health replay examples/health/stopped-rank.jsonl`;

/** Reads line by line, so that memory does not grow with the trace. Each further header starts a new run. */
async function* verdictsOf(file: string): AsyncGenerator<HealthVerdict> {
  let header: TraceHeader | undefined;
  let watch: ReturnType<typeof watchHealth> | undefined;
  for await (const { number, text } of linesOf(file, MAX_TRACE_LINE_CHARACTERS)) {
    if (text.trim() === '') continue;
    const wrong = (message: string): CliError => new CliError(`${file}, line ${number}: ${message}`);
    if (header === undefined || text.slice(0, 64).includes('"header"')) {
      const first = readHeader(text);
      if (first.kind === 'wrong') throw wrong(first.message);
      header = first.value;
      watch = watchHealth(header);
      continue;
    }
    const record = readRecord(text);
    if (record.kind === 'wrong') throw wrong(record.message);
    const stranger = unknownRank(header, record.value);
    if (stranger !== undefined) throw wrong(`Rank ${stranger} is not in the layout of the header.`);
    yield* watch?.observe(record.value) ?? [];
  }
  if (header === undefined) throw new CliError(`${file} is empty; a trace starts with a header.`);
}

/** `  725.0 s  evict  hang      Others wait for rank 3, ... Node a.` */
function inWords({ atMs, action, kind, message, node }: HealthVerdict): string {
  const where = node === undefined ? '' : ` Node ${node}.`;
  return `${(atMs / 1000).toFixed(1).padStart(9)} s  ${action.padEnd(6)}  ${kind.padEnd(17)}  ${message}${where}`;
}
