import type { FailurePresetName, ResponseName, SimulationQuestion } from '@coxswain/simulation';
import { FAILURES, RESPONSES } from '@coxswain/simulation/presets';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { render } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { addReplayCommand } from './replay-command.ts';
import { simulationText } from './simulate-tables.ts';
import { addStandbyCommand } from './standby-command.ts';

interface SimulateOptions {
  readonly gpus: number;
  readonly days: number;
  readonly failures: FailurePresetName;
  readonly response: ResponseName;
  readonly spares?: number;
  readonly standbys?: number;
  readonly saveEvery?: number;
  readonly saveStall?: number;
  readonly detectCrash?: number;
  readonly detectHang?: number;
  readonly seeds: number;
  readonly seed: number;
  readonly everyNode?: true;
  readonly json?: true;
}

/** `coxswain simulate`: what days on so many GPUs would be like, failures and all. */
export function addSimulateCommand(program: Command, session: Session): void {
  const simulateCommand = program
    .command('simulate')
    .description('simulate days of training on many GPUs with failures; works offline')
    .option('--gpus <count>', 'GPUs of the job, 8 per node, at most 100,000', within('GPUs', 8, 100_000), 16_384)
    .option('--days <days>', 'simulated days', within('days', 1, 365), 1)
    .addOption(
      new Option('--failures <preset>', 'failure rates to use').choices(Object.keys(FAILURES)).default('llama3'),
    )
    .addOption(
      new Option('--response <preset>', 'how fast faults are detected and handled; target: what Coxswain aims for')
        .choices(Object.keys(RESPONSES))
        .default('target'),
    )
    .option('--spares <nodes>', 'spare nodes (default: enough on 99 of 100 days)', within('spare nodes', 0, 10_000))
    .option('--standbys <nodes>', 'spare nodes that the job holds as standbys (default: 0)', within('standbys', 0, 64))
    .option('--save-every <seconds>', 'training time between two checkpoints', within('seconds', 1, 86_400))
    .option('--save-stall <seconds>', 'how long a save blocks training', within('seconds', 0.001, 3_600))
    .option('--detect-crash <seconds>', 'median time to detect a crash', within('seconds', 0.1, 86_400))
    .option('--detect-hang <seconds>', 'median time to detect a hang', within('seconds', 0.1, 86_400))
    .option('--seeds <count>', 'number of runs to average', within('runs', 1, 100), 3)
    .option('--seed <number>', 'seed of the first run', within('the seed', 0, 999_999_999), 1)
    .option('--every-node', 'model each node and its switches instead of a few that stand for all; slow')
    .option('--json', 'the same as --output json')
    .addHelpText('after', EXAMPLES)
    .action(async ({ json, ...options }: SimulateOptions) => {
      const { runSimulation } = await import('./run-simulation.ts');
      const report = await runSimulation(questionOf(options), session);
      session.print(render(report, json === true ? 'json' : session.outputFormat(), simulationText));
    });
  addReplayCommand(simulateCommand, session);
  addStandbyCommand(simulateCommand, session);
}

const EXAMPLES = `
What is drawn, what is run and how well it agrees with published runs: docs/reference/simulation.md.

Examples:
  coxswain simulate --gpus 16384 --days 54
  coxswain simulate --gpus 1024 --days 30 --spares 0 --save-every 1800 --save-stall 30`;

function questionOf(options: Omit<SimulateOptions, 'json'>): SimulationQuestion {
  const { gpus, days, failures, response, seeds, seed } = options;
  const { gpusPerNode } = FAILURES[failures];
  if (gpus % gpusPerNode !== 0 || !Number.isInteger(gpus)) {
    const nearest = Math.max(1, Math.round(gpus / gpusPerNode)) * gpusPerNode;
    throw new CliError(`--gpus ${gpus} is not a whole number of nodes with ${gpusPerNode} GPUs; give ${nearest}.`);
  }
  return {
    gpus,
    days,
    failures,
    response,
    seeds: Math.floor(seeds),
    firstSeed: Math.floor(seed),
    everyNode: options.everyNode ?? false,
    ...(options.spares === undefined ? {} : { spareNodes: Math.floor(options.spares) }),
    ...(options.standbys === undefined ? {} : { standbys: Math.floor(options.standbys) }),
    ...(options.saveEvery === undefined ? {} : { checkpointIntervalSeconds: options.saveEvery }),
    ...(options.saveStall === undefined ? {} : { checkpointStallSeconds: options.saveStall }),
    ...(options.detectCrash === undefined ? {} : { detectCrashSeconds: options.detectCrash }),
    ...(options.detectHang === undefined ? {} : { detectHangSeconds: options.detectHang }),
  };
}

function within(what: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,9}([.][0-9]{1,6})?$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`"${text}" is not between ${least} and ${most} ${what}.`);
  };
}
