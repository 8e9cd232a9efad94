import { ApiClient, ApiProblem, ApiUnreachable } from '@coxswain/api-client';
import { safeText } from '@coxswain/safe-text';
import { Command, CommanderError, Option } from 'commander';
import { basename } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CliError } from './cli-error.ts';
import { terminalAsker } from './session/asker.ts';
import { addAuditCommand } from './projects/audit-command.ts';
import { addActingCommands } from './jobs/acting-commands.ts';
import { addCompletionCommand } from './completion/completion-command.ts';
import { addCheckpointCommands } from './checkpoints/checkpoint-commands.ts';
import { addCalibrateCommand } from './calibrate/calibrate-command.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { addEngineCommands } from './engines/engine-commands.ts';
import { addFabricCommands } from './fabric/fabric-commands.ts';
import { addHealthCommands } from './health/health-commands.ts';
import { addExportCommand } from './import/export-command.ts';
import { addImportCommand } from './import/import-command.ts';
import { addInitCommand } from './init/init-command.ts';
import { addLayoutCommands } from './layouts/layout-commands.ts';
import { addPlannerCommands } from './plan/planner-commands.ts';
import { addPlaceCommand } from './place/place-command.ts';
import { addPlansCommands } from './plan/plans-commands.ts';
import { addProjectCommands } from './projects/project-commands.ts';
import { addQueueCommand } from './jobs/queue-command.ts';
import { addReadingCommands } from './jobs/reading-commands.ts';
import type { CliContext, Session } from './session/session.ts';
import { OUTPUT_FORMATS, render, type OutputFormat } from './output/output.ts';
import { addExplainCommand } from './jobs/explain-command.ts';
import { addGoodputCommand } from './jobs/goodput-command.ts';
import { addIncidentsCommand } from './jobs/incidents-command.ts';
import { addGroupCommands } from './projects/group-commands.ts';
import { addStacksCommand } from './jobs/stacks-command.ts';
import { addSimulateCommand } from './simulate/simulate-command.ts';
import { addSignInCommands } from './sign-in/sign-in-commands.ts';
import { openBrowser } from './sign-in/open-browser.ts';
import { addTokenCommands } from './sign-in/token-commands.ts';
import { addWebhookCommands } from './projects/webhook-commands.ts';
import { openProject } from './session/project-jobs.ts';
import { VERSION } from './version.ts';
import {
  credentialsPath,
  resolveServer,
  resolveSettings,
  type Settings,
  type SettingsFlags,
} from './session/settings.ts';

type Globals = SettingsFlags & { readonly output: OutputFormat };

/**
 * Runs one command line. Resolves to the exit code: 0 done; 1 refused or wrong; 2 server out of reach; 3 a watched job did not complete; 4 no layout
 * fits, or the layout is illegal; 130 interrupted by Ctrl-C.
 */
export async function main(argv: readonly string[], processOrTest: CliContext = processContext()): Promise<number> {
  const context = printingSafeText(processOrTest);
  let exitCode = 0;
  const program = cli(context, (code) => (exitCode = code));
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (context.signal.aborted) return 130;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    if (error instanceof CliError) {
      context.printError(error.message);
      return error.exitCode;
    }
    if (error instanceof ApiProblem || error instanceof ApiUnreachable) {
      context.printError(error.message);
      return error instanceof ApiProblem ? 1 : 2;
    }
    throw error;
  }
}

/**
 * Pods, servers and files of others write much of what is printed. It is cleaned also if it goes to a file or a pipe, because a terminal shows it later.
 * Documents (JSON, YAML) escape what is unsafe, so they pass unchanged.
 */
function printingSafeText(context: CliContext): CliContext {
  return {
    ...context,
    print: (line) => context.print(safeText(line)),
    printError: (line) => context.printError(safeText(line)),
  };
}

const HELP_FOOTER = `
Flags go before COXSWAIN_* variables, those before the configuration file, and that before coxswain login:
  server: https://coxswain.example.com
  tokenFile: /home/me/.coxswain-token

Exit codes: 0 done, 1 refused or wrong, 2 server out of reach, 3 a watched job did not complete, 4 no layout fits, 130 Ctrl-C.`;

function processContext(): CliContext {
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  // `coxswain logs JOB | head` closes the pipe when it has enough: that is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return {
    // kubectl finds plugins by the names of their programs.
    ...(basename(process.argv[1] ?? '') === 'kubectl-coxswain' ? { programName: 'kubectl coxswain' } : {}),
    env: process.env,
    now: () => new Date(),
    print: (line) => console.log(line),
    printError: (line) => console.error(line),
    openBrowser,
    ...(process.stdin.isTTY && process.stderr.isTTY
      ? { openAsker: () => terminalAsker(process.stdin, process.stderr) }
      : {}),
    stdout: process.stdout,
    // A terminal reports 0 columns while its width is not known.
    widthColumns: process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined,
    pause: (durationMs, until) =>
      setTimeout(durationMs, undefined, {
        signal: until === undefined ? abort.signal : AbortSignal.any([abort.signal, until]),
      }).catch(() => undefined),
    signal: abort.signal,
  };
}

/** Gives it the options that every command takes. */
function options(program: Command): Command {
  return program
    .option('--server <url>', 'address of the API (COXSWAIN_SERVER)')
    .option('--token-file <file>', 'file with the API token (COXSWAIN_TOKEN_FILE, or the token in COXSWAIN_TOKEN)')
    .option('--project <name>', 'project (COXSWAIN_PROJECT; default: the one the token belongs to)')
    .option('--config <file>', 'configuration file (COXSWAIN_CONFIG; default: ~/.config/coxswain/config.yaml)')
    .addOption(new Option('-o, --output <format>', 'what to print').choices(OUTPUT_FORMATS).default('table'));
}

function cli(context: CliContext, setExitCode: (code: number) => void): Command {
  const program = options(new Command(context.programName ?? 'coxswain'))
    .description('Trains large models on Kubernetes: submit jobs, watch them, bring them back.')
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
      writeErr: (text) => context.printError(text.trimEnd()),
    })
    .addHelpText('after', HELP_FOOTER)
    .showHelpAfterError('(add --help for what the command takes)');
  const settings = (): Settings => resolveSettings(program.opts<Globals>(), context.env, context.now());
  const connect = (): ApiClient => new ApiClient({ ...settings(), signal: context.signal });
  const session: Session = {
    ...context,
    setExitCode,
    connect,
    open: () => openProject(connect(), settings()),
    signInPlace: () => {
      const flags = program.opts<Globals>();
      const { server } = resolveServer(flags, context.env);
      const withToken = (token: string | undefined): ApiClient =>
        new ApiClient({ server, token, signal: context.signal });
      const path = credentialsPath(flags, context.env);
      return { server, credentialsPath: path, api: withToken(undefined), withToken };
    },
    outputFormat: () => program.opts<Globals>().output,
    show: (data, table) => context.print(render(data, program.opts<Globals>().output, table)),
  };
  addCommands(program, session);
  program.commandsGroup('Shell:').helpCommand('help [command]', 'show the help of a command');
  addCompletionCommand(program, session, () => addCommands(options(new Command('coxswain')), session));
  return program;
}

/** All commands, in the groups in which help lists them. */
function addCommands(program: Command, session: Session): Command {
  program.commandsGroup('Jobs:');
  addInitCommand(program, session);
  addImportCommand(program, session);
  addExportCommand(program, session);
  addReadingCommands(program, session);
  addQueueCommand(program, session);
  addExplainCommand(program, session);
  addGoodputCommand(program, session);
  addIncidentsCommand(program, session);
  addStacksCommand(program, session);
  addActingCommands(program, session);
  program.commandsGroup('Layouts and plans:');
  addLayoutCommands(program, session);
  addEngineCommands(program, session);
  addPlannerCommands(program, session);
  addCalibrateCommand(program, session);
  addPlaceCommand(program, session);
  addSimulateCommand(program, session);
  addPlansCommands(program, session);
  program.commandsGroup('Checkpoints:');
  addCheckpointCommands(program, session);
  program.commandsGroup('Clusters:');
  addFabricCommands(program, session);
  addHealthCommands(program, session);
  addDoctorCommand(program, session);
  program.commandsGroup('Projects and access:');
  addProjectCommands(program, session);
  addTokenCommands(program, session);
  addWebhookCommands(program, session);
  addAuditCommand(program, session);
  addSignInCommands(program, session);
  addGroupCommands(program, session);
  return program;
}
