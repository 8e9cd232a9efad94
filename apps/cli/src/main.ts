import { ApiClient, ApiProblem, ApiUnreachable } from '@coxswain/api-client';
import { safeText } from '@coxswain/safe-text';
import { Command, CommanderError, Option } from 'commander';
import { basename } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CliError } from './cli-error.ts';
import { terminalAsker } from './session/asker.ts';
import { type CommandAdder, firstWord, loadCommands } from './commands.ts';
import { addCompletionCommand } from './completion/completion-command.ts';
import { insteadOf } from './familiar-words.ts';
import type { CliContext, Session } from './session/session.ts';
import { OUTPUT_FORMATS, render, type OutputFormat } from './output/output.ts';
import { COLOR_CHOICES, type ColorChoice, hasColor, paint, withColors } from './output/paint.ts';
import { openBrowser } from './sign-in/open-browser.ts';
import { openProject } from './session/project-jobs.ts';
import { VERSION } from './version.ts';
import {
  credentialsPath,
  resolveServer,
  resolveSettings,
  type Settings,
  type SettingsFlags,
} from './session/settings.ts';

type Globals = SettingsFlags & { readonly output: OutputFormat; readonly color: ColorChoice };

/**
 * Runs one command line. Resolves to the exit code: 0 done; 1 refused or wrong; 2 server out of reach; 3 a watched job did not complete; 4 no layout
 * fits, or the layout is illegal; 130 interrupted by Ctrl-C.
 */
export async function main(argv: readonly string[], processOrTest: CliContext = processContext()): Promise<number> {
  let exitCode = 0;
  const program = options(new Command(processOrTest.programName ?? 'coxswain'));
  const context = printingSafeText(processOrTest, () => program.opts<Globals>().color);
  try {
    const word = firstWord(argv, optionsWithValue(program));
    const instead = insteadOf(word);
    if (word !== undefined && instead !== undefined)
      throw new CliError(`There is no command "${word}". Instead: ${instead}. coxswain --help lists all commands.`);
    const addCommands = await loadCommands(word);
    complete(program, { context, addCommands, setExitCode: (code) => (exitCode = code) });
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (context.signal.aborted) return 130;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    if (error instanceof CliError) {
      context.printError(asError(error.message));
      return error.exitCode;
    }
    if (error instanceof ApiProblem || error instanceof ApiUnreachable) {
      context.printError(asError(error.message));
      return error instanceof ApiProblem ? 1 : 2;
    }
    throw error;
  }
}

/** The first line says what is wrong; what follows lists details. */
function asError(message: string): string {
  const [first = '', ...more] = message.split('\n');
  return [paint('bad', first), ...more].join('\n');
}

/**
 * Pods, servers and files of others write much of what is printed. It is cleaned also if it goes to a file or a pipe, because a terminal shows it later.
 * Documents (JSON, YAML) escape what is unsafe, so they pass unchanged. Colours of this program come after that.
 */
function printingSafeText(context: CliContext, choice: () => ColorChoice): CliContext {
  const { env, terminals } = context;
  const shown = (text: string, isTerminal = false): string =>
    withColors(safeText(text), hasColor(choice(), env, isTerminal));
  return {
    ...context,
    print: (line) => context.print(shown(line, terminals?.out)),
    printError: (line) => context.printError(shown(line, terminals?.err)),
  };
}

const HELP_FOOTER = `
An option takes precedence over a COXSWAIN_* variable, that over the configuration file, and that over coxswain login. The file:
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
    // `isTTY` is undefined of what is no terminal.
    terminals: { out: Boolean(process.stdout.isTTY), err: Boolean(process.stderr.isTTY) },
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
    .addOption(new Option('-o, --output <format>', 'what to print').choices(OUTPUT_FORMATS).default('table'))
    .addOption(
      new Option('--color <when>', 'colour in tables and messages; auto: in a terminal, unless NO_COLOR is set')
        .choices(COLOR_CHOICES)
        .default('auto'),
    );
}

function optionsWithValue(program: Command): ReadonlySet<string> {
  return new Set(program.options.flatMap(({ required, short, long }) => (required ? [short ?? '', long ?? ''] : [])));
}

interface Parts {
  readonly context: CliContext;
  readonly addCommands: CommandAdder;
  readonly setExitCode: (code: number) => void;
}

/** Gives the program its commands, and what they need. */
function complete(program: Command, { context, addCommands, setExitCode }: Parts): void {
  program
    .description('Trains large models on Kubernetes: submit jobs, watch them, bring them back.')
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
      writeErr: (text) => context.printError(text.trimEnd()),
      outputError: (text, write) => write(asError(text)),
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
}
