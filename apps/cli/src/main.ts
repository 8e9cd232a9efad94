import { ApiProblem, ApiUnreachable } from '@coxswain/api-client';
import { Command, CommanderError, Option } from 'commander';
import { CliError } from './cli-error.ts';
import { addActingCommands } from './acting-commands.ts';
import { addReadingCommands } from './reading-commands.ts';
import type { CliContext, Session } from './session.ts';
import { OUTPUT_FORMATS, render, type OutputFormat } from './output.ts';
import { openProject } from './project-jobs.ts';
import { resolveSettings, type SettingsFlags } from './settings.ts';

type Globals = SettingsFlags & { readonly output: OutputFormat };

/** Runs one command line; resolves to the exit code: 0 done, 1 refused or wrong, 2 server out of reach, 3 a watched job failed. */
export async function main(argv: readonly string[], context: CliContext = processContext()): Promise<number> {
  let exitCode = 0;
  const program = cli(context, (code) => (exitCode = code));
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    if (error instanceof CliError) {
      context.printError(error.message);
      return error.exitCode;
    }
    if (error instanceof ApiProblem || error instanceof ApiUnreachable) {
      context.printError(error.message);
      return error instanceof ApiProblem ? 1 : 2;
    }
    if (context.signal.aborted) return 130;
    throw error;
  }
}

function processContext(): CliContext {
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  return {
    env: process.env,
    now: () => new Date(),
    print: (line) => console.log(line),
    printError: (line) => console.error(line),
    stdout: process.stdout,
    signal: abort.signal,
  };
}

function cli(context: CliContext, setExitCode: (code: number) => void): Command {
  const program = new Command('coxswain')
    .description('Trains large models on Kubernetes: submit jobs, watch them, bring them back.')
    .option('--server <url>', 'address of the API (COXSWAIN_SERVER)')
    .option('--token-file <file>', 'file with the API token (COXSWAIN_TOKEN holds the token itself)')
    .option('--project <name>', 'project (COXSWAIN_PROJECT; default: the one the token belongs to)')
    .option('--config <file>', 'configuration file (COXSWAIN_CONFIG; default: ~/.config/coxswain/config.yaml)')
    .addOption(new Option('-o, --output <format>', 'what to print').choices(OUTPUT_FORMATS).default('table'))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
      writeErr: (text) => context.printError(text.trimEnd()),
    })
    .showHelpAfterError('(add --help for what the command takes)');
  const session: Session = {
    ...context,
    setExitCode,
    open: () => openProject(resolveSettings(program.opts<Globals>(), context.env)),
    show: (data, table) => context.print(render(data, program.opts<Globals>().output, table)),
  };
  addReadingCommands(program, session);
  addActingCommands(program, session);
  return program;
}
