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
import type { Session } from '../session/session.ts';
import { linesOf } from './trace-lines.ts';

/** What detectors make of what ranks told; no server is asked. */
export function addHealthCommands(program: Command, session: Session): void {
  const health = program.command('health').description('who holds a job up, by what its ranks told');
  health
    .command('replay')
    .argument('<file>', 'trace: a header, then one record a line; - is standard input')
    .description('run the detectors over a recorded trace, and print what they find as they find it')
    .option('--json', 'verdicts as JSON lines')
    .addHelpText('after', EXAMPLE)
    .action(async (file: string, { json }: { readonly json?: true }) => {
      const isJson = json === true || session.outputFormat() === 'json';
      for await (const verdict of verdictsOf(file)) {
        session.print(isJson ? JSON.stringify(verdict) : inWords(verdict));
      }
    });
}

const EXAMPLE = `
Traces are described in docs/reference/health.md.

Example:
  coxswain health replay examples/health/stopped-rank.jsonl`;

/** Line by line, so that a trace of any length takes the same memory. Each further header begins a new run, of which nothing is known yet. */
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
    if (stranger !== undefined) throw wrong(`Rank ${stranger} is none of the layout that the header says.`);
    yield* watch?.observe(record.value) ?? [];
  }
  if (header === undefined) throw new CliError(`${file} is empty; a trace begins with its header.`);
}

/** `  725.0 s  evict  hang      Others wait for rank 3, ... Node a.` */
function inWords({ atMs, action, kind, message, node }: HealthVerdict): string {
  const where = node === undefined ? '' : ` Node ${node}.`;
  return `${(atMs / 1000).toFixed(1).padStart(9)} s  ${action.padEnd(6)}  ${kind.padEnd(17)}  ${message}${where}`;
}
