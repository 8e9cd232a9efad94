import { parseArgs } from 'node:util';

/** Options of `npm run quickstart`. */
export interface QuickstartOptions {
  readonly help: boolean;
  readonly keep: boolean;
  readonly killRank: boolean;
  /** One of each failure instead. */
  readonly chaos: boolean;
  /** Port of API and dashboard; 0 takes a free one. */
  readonly port: number;
  readonly directory: string | undefined;
}

/** Text of `npm run quickstart -- --help`. */
export const HELP = `npm run quickstart -- [options]

Sets everything up: its own Node 24, Kubernetes programs, PyTorch. Starts Coxswain on this machine: PostgreSQL, a real
Kubernetes control plane with four local nodes, API, operator, dashboard. Then trains a small GPT on four ranks. One rank is
killed on purpose; the gang restarts from its checkpoint and finishes, or the quickstart ends with exit code 1. The first line
says how long it takes: several minutes of downloads and builds the first time, about a minute after that.

  --keep             leave everything running after the job is done, until Ctrl-C
  --chaos            show one of each failure instead (about six minutes): a rank killed, a rank that hangs, a node switched
                     off, and a second node switched off with no spare. Then the job continues with half of its GPUs until
                     both nodes are back. Prints what was detected, what was blamed, what was done and what it cost.
  --no-kill          let the job run undisturbed
  --port PORT        port of API and dashboard on 127.0.0.1 (default: a free one)
  --directory DIR    keep data and logs in DIR and use them again in the next run
                     (default: a temporary directory that is removed at the end)
  --help             print this

Nothing of it needs a GPU: the four nodes and their GPUs are simulated, the processes, the training and the checkpoints are
real. Ctrl-C at any time stops everything that was started.
`;

/** Throws an error with a sentence for the user when an option is unknown or its value wrong. */
export function parseOptions(argv: readonly string[]): QuickstartOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      keep: { type: 'boolean', default: false },
      chaos: { type: 'boolean', default: false },
      'no-kill': { type: 'boolean', default: false },
      port: { type: 'string', default: '0' },
      directory: { type: 'string' },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port ${values.port} is not a port; give a number from 1 to 65535`);
  const { help, keep, chaos, directory } = values;
  if (chaos && values['no-kill']) throw new Error('--chaos and --no-kill contradict each other; leave one out');
  return { help, keep, killRank: !values['no-kill'], chaos, port, directory };
}
