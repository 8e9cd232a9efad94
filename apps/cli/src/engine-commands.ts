import type { EngineRendering } from '@coxswain/api-types';
import { isDomainError } from '@coxswain/domain-error';
import { renderRequest, engineList } from '@coxswain/engines';
import type { Command } from 'commander';
import { chmodSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CliError } from './cli-error.ts';
import { enginesText, renderingText } from './engine-tables.ts';
import { render } from './output.ts';
import { type RenderOptions, readRendering } from './render-request.ts';
import { runScript } from './run-script.ts';
import type { Session } from './session.ts';
import { wholeNumber } from './whole-number.ts';
import { writeNewFile } from './write-file.ts';

interface JsonOption {
  readonly json?: true;
}

interface OutOptions extends RenderOptions, JsonOption {
  readonly out?: string;
  readonly force?: true;
}

/** Commands about engines: which there are, and what each is told; no server is asked. */
export function addEngineCommands(program: Command, session: Session): void {
  program
    .command('engines')
    .description('engines that train jobs: releases, who starts them, what each can be told; no server is asked')
    .option('--json', 'the same as --output json')
    .addHelpText('after', ENGINES_EXAMPLES)
    .action((options: JsonOption) => show(session, options, engineList(), enginesText));

  program
    .command('render')
    .description(
      'what is run for a layout: arguments, files and environment of its engine, or why it cannot (exit code 1); no server is asked',
    )
    .option(
      '--layout <file>',
      'a layout document as in examples/layouts, a layout alone, or a plan; - reads standard input',
    )
    .option('--role <name>', 'which role, where the file holds a job of several')
    .option('--engine <name[@release]>', 'as `coxswain engines` lists them (default: what the file says)')
    .option('--model <name|file>', 'preset, Hugging Face config.json, or a model shape in YAML or JSON')
    .option('--seq <tokens>', 'tokens per sample', wholeNumber)
    .option('--global-batch <samples>', 'samples per step', wholeNumber)
    .option('--micro-batch <samples>', 'samples per pass', wholeNumber)
    .option('--job <file>', 'a TrainingJob, for what the layout does not say: training, data, arguments')
    .option('--placement <file>', 'a Placement as kubectl prints it: its layout, and the networks of its nodes')
    .option('--out <directory>', 'also write the files there, and run.sh')
    .option('--force', 'replace what is there')
    .option('--json', 'the same as --output json')
    .addHelpText('after', RENDER_EXAMPLES)
    .action((options: OutOptions) => inPlainWords(() => renderCommand(session, options)));
}

function renderCommand(session: Session, options: OutOptions): void {
  const { request, notes } = readRendering(options);
  const rendering = withNotes(renderRequest(request), notes);
  const { engine, program } = rendering;
  show(session, options, answerOf(rendering), () => renderingText(rendering));
  if (program === null) session.setExitCode(1);
  else if (options.out !== undefined) writeProgram(options.out, engine, program, options.force === true);
}

function withNotes(rendering: EngineRendering, notes: readonly string[]): EngineRendering {
  const { program } = rendering;
  return program === null ? rendering : { ...rendering, program: { ...program, notes: [...notes, ...program.notes] } };
}

/** For programs: what is run, without a layer around it, or the refusal. */
function answerOf({ engine, program, refusal }: EngineRendering): object {
  if (program === null) return { engine, refusal };
  const env = Object.fromEntries(program.env.map(({ name, value }) => [name, value]));
  return { engine, ...program, env };
}

function writeProgram(
  directory: string,
  engine: string,
  program: NonNullable<EngineRendering['program']>,
  force: boolean,
): void {
  const files = [...program.files, { path: 'run.sh', text: runScript(engine, program) }];
  for (const { path, text } of files) {
    const target = join(directory, path);
    try {
      mkdirSync(dirname(target), { recursive: true });
    } catch (error) {
      throw new CliError(`Cannot write ${target}: ${(error as Error).message}`);
    }
    writeNewFile(target, text, { force });
  }
  chmodSync(join(directory, 'run.sh'), 0o755);
}

function show<T>(session: Session, { json }: JsonOption, data: T, table: (data: T) => string): void {
  session.print(render(data, json === true ? 'json' : session.outputFormat(), table));
}

/** What the libraries refuse is the user's to mend. */
function inPlainWords(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (isDomainError(error)) throw new CliError(error.message);
    throw error;
  }
}

const ENGINES_EXAMPLES = `
Examples:
  coxswain engines
  coxswain engines --json | jq -r '.items[] | select(.startsJobs) | .name'`;

const RENDER_EXAMPLES = `
What nobody says is assumed, and told among the notes: batch, steps, data, checkpoints.
$(NAME) stands for a variable of the rank, which its launcher puts there; $$ is a dollar sign.

Examples:
  coxswain render --layout examples/layouts/02-ptd-p.yaml
  coxswain render --layout examples/layouts/10-torchtitan.yaml --engine torchtitan --out rendered
  coxswain render --layout layout.yaml --engine megatron-lm --model llama-3.1-8b --seq 8192 --json | jq -r '.argv[]'
  coxswain render --job examples/jobs/tiny-gpt.yaml
  kubectl get placement tiny-gpt-1 -o yaml | coxswain render --placement - --job examples/jobs/tiny-gpt.yaml

Exit code 1: the engine refuses; the answer says the rule, the field, and what to do instead.`;
