import type { EngineRendering } from '@coxswain/api-types';
import { isDomainError } from '@coxswain/domain-error';
import { renderRequest, engineList } from '@coxswain/engines';
import type { Command } from 'commander';
import { chmodSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';
import { enginesText, renderingText } from './engine-tables.ts';
import { render } from '../output/output.ts';
import { type RenderOptions, readRendering } from './render-request.ts';
import { runScript } from './run-script.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { writeNewFile } from '../files/write-file.ts';

interface JsonOption {
  readonly json?: true;
}

interface OutOptions extends RenderOptions, JsonOption {
  readonly out?: string;
  readonly force?: true;
}

/** Adds the commands `engines` and `render`, which work offline. */
export function addEngineCommands(program: Command, session: Session): void {
  program
    .command('engines')
    .description(
      'list the engines that train jobs: releases, how they are started, and supported options; works offline',
    )
    .option('--json', 'the same as --output json')
    .addHelpText('after', ENGINES_EXAMPLES)
    .action((options: JsonOption) => show(session, options, engineList(), enginesText));

  program
    .command('render')
    .description(
      'print what an engine runs for a layout: arguments, files and environment, or why it cannot (exit code 1); works offline',
    )
    .option('--layout <file>', 'layout document as in examples/layouts, a bare layout, or a plan; - is standard input')
    .option('--role <name>', 'role to use, if the file describes a job with several roles')
    .option('--engine <name[@release]>', 'engine as `coxswain engines` lists it (default: from the file)')
    .option('--model <name|file>', 'preset, Hugging Face config.json, or a model shape in YAML or JSON')
    .option('--seq <tokens>', 'tokens per sample', wholeNumber)
    .option('--global-batch <samples>', 'samples per step', wholeNumber)
    .option('--micro-batch <samples>', 'samples per pass', wholeNumber)
    .option('--job <file>', 'TrainingJob with what the layout file lacks: training, data, arguments')
    .option('--placement <file>', 'Placement as kubectl prints it: supplies the layout and the networks of its nodes')
    .option(
      '--engine-file <file>',
      'configuration of the engine, such as ds_config.json or train.toml; its values become engine.options',
    )
    .option('--out <directory>', 'also write the files and run.sh to this directory')
    .option('--force', 'overwrite existing files')
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
      throw fileError('write', target, error);
    }
    writeNewFile(target, text, { force });
  }
  chmodSync(join(directory, 'run.sh'), 0o755);
}

function show<T>(session: Session, { json }: JsonOption, data: T, table: (data: T) => string): void {
  session.print(render(data, json === true ? 'json' : session.outputFormat(), table));
}

/** Rejections of the libraries are for the user to fix. */
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
Missing values are assumed, and listed among the notes: batch, steps, data, checkpoints.
$(NAME) stands for a variable of the rank, which its launcher puts there; $$ is a dollar sign.

Examples:
  coxswain render --layout examples/layouts/02-ptd-p.yaml
  coxswain render --layout examples/layouts/10-torchtitan.yaml --engine torchtitan --out rendered
  coxswain render --layout layout.yaml --engine megatron-lm --model llama-3.1-8b --seq 8192 --json | jq -r '.argv[]'
  coxswain render --job examples/jobs/tiny-gpt.yaml
  kubectl get placement tiny-gpt-1 -o yaml | coxswain render --placement - --job examples/jobs/tiny-gpt.yaml

Exit code 1: the engine does not support the layout; the output names the rule, the field, and what to do instead.`;
