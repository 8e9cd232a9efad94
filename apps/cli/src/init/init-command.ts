import { engineNamed } from '@coxswain/layout';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Asker } from '../session/asker.ts';
import { CliError } from '../cli-error.ts';
import { ENGINES, initJob, type Answers } from './init-job.ts';
import { TINY_MODEL } from './init-model.ts';
import { INIT_QUESTIONS, type InitQuestion, type Sofar } from './init-questions.ts';
import type { WrittenJob } from '../job-import/written-job.ts';
import { jobYaml } from '../job-files/job-yaml.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { refuseExisting, writeNewFile } from '../files/write-file.ts';

interface InitOptions {
  readonly engine?: string;
  readonly model?: string;
  readonly gpus?: string;
  readonly image?: string;
  readonly data?: string;
  readonly checkpoints?: string;
  readonly name?: string;
  readonly steps?: number;
  readonly globalBatch?: number;
  readonly seq?: number;
  readonly out?: string;
  readonly force?: true;
  readonly yes?: true;
}

const STANDARD_OUTPUT = '-';

/** `coxswain init`: a first job file, from a few answers. */
export function addInitCommand(program: Command, session: Session): void {
  program
    .command('init [program...]')
    .description('write a job file; asks for what is not given; works offline')
    .addOption(
      new Option('--engine <name>', 'engine that trains the job').choices(ENGINES).argParser((text: string) => {
        const named = engineNamed(text);
        const engine = ENGINES.find((one) => one === named);
        if (engine === undefined) throw new InvalidArgumentError(`Allowed choices are ${ENGINES.join(', ')}.`);
        return engine;
      }),
    )
    .option(
      '--model <name|file>',
      'a preset (see `coxswain presets models`) or a config.json; engine reference trains a GPT of its sizes',
    )
    .option('--gpus <count>', 'GPUs of the job')
    .option('--image <image>', 'container image')
    .option('--data <claim/path>', 'PersistentVolumeClaim with the data, and the path in it')
    .option('--checkpoints <claim>', 'PersistentVolumeClaim for checkpoints; CLAIM/PATH for a directory in it')
    .option('--name <name>', 'name of the job')
    .option('--steps <count>', 'steps to train (default: 1000)', wholeNumber)
    .option('--global-batch <samples>', 'samples per step (default: 8, or the next multiple of the GPUs)', wholeNumber)
    .option('--seq <tokens>', 'tokens per sample (default: 2048; 128 for tiny)', wholeNumber)
    .option('--out <file>', 'output file (default: NAME.yaml); - is standard output')
    .option('--force', 'overwrite the file if it exists')
    .option('-y, --yes', 'ask nothing: use defaults for what is not given')
    .addHelpText('after', EXAMPLES)
    .action(async (words: readonly string[], options: InitOptions) => {
      if (options.out !== undefined && options.force !== true) refuseExisting(options.out);
      const given = words.length === 0 ? options : { ...options, program: words };
      const answers = await answersFor(given, session);
      const { steps, globalBatch, seq, out = `${answers.name}.yaml` } = options;
      refuseStrange(answers, options);
      const { job, head } = initJob({ ...answers, steps, globalBatch, seq });
      const yaml = jobYaml(
        job,
        `${head}\nWritten by coxswain init; every field that there is: kubectl explain trainingjob.spec`,
      );
      if (out === STANDARD_OUTPUT) return session.print(yaml.trimEnd());
      writeNewFile(out, yaml, options);
      session.print(nextSteps({ job, answers, out }));
    });
}

type GivenOptions = InitOptions & { readonly program?: readonly string[] };

/** Options first; then what is asked, or the defaults. */
async function answersFor(options: GivenOptions, session: Session): Promise<Answers> {
  const given = givenAnswers(options);
  if (options.yes !== true && session.openAsker !== undefined) return askedAnswers(given, session.openAsker(), session);
  const isTaken = options.yes === true;
  let sofar: Sofar = given;
  const missing: InitQuestion[] = [];
  for (const question of INIT_QUESTIONS) {
    if (!isOpen(question, sofar)) continue;
    const fallback = question.fallback(sofar);
    // Later questions depend on earlier answers: a missing answer is reported with what its default would lead to.
    if (fallback === undefined || !isTaken) missing.push(question);
    if (fallback !== undefined) sofar = { ...sofar, [question.key]: question.read(fallback, sofar) };
  }
  if (missing.length === 0) return sofar as Answers;
  throw new CliError(missingText(missing, sofar, isTaken));
}

function givenAnswers(options: GivenOptions): Sofar {
  let sofar: Sofar = {};
  for (const { key, flag, read } of INIT_QUESTIONS) {
    const value = options[key as keyof GivenOptions];
    if (value === undefined) continue;
    try {
      sofar = { ...sofar, [key]: Array.isArray(value) ? value : read(String(value), sofar) };
    } catch (error) {
      throw error instanceof CliError ? new CliError(`${flag.split(' ')[0] ?? ''}: ${error.message}`) : error;
    }
  }
  return sofar;
}

function isOpen({ key, isNeeded }: InitQuestion, sofar: Sofar): boolean {
  return sofar[key] === undefined && isNeeded(sofar);
}

async function askedAnswers(given: Sofar, asker: Asker, session: Session): Promise<Answers> {
  let sofar = given;
  try {
    for (const question of INIT_QUESTIONS) {
      if (!isOpen(question, sofar)) continue;
      if (question.hint !== undefined) session.printError(question.hint());
      sofar = { ...sofar, [question.key]: await askUntilValid(question, { sofar, asker }, session) };
    }
  } finally {
    asker.close();
  }
  return sofar as Answers;
}

async function askUntilValid(
  { text, fallback, choices, read }: InitQuestion,
  { sofar, asker }: { readonly sofar: Sofar; readonly asker: Asker },
  session: Session,
): Promise<Answers[keyof Answers]> {
  for (;;) {
    const answer = await asker.ask({ text, fallback: fallback(sofar), choices: choices?.() });
    if (answer === undefined) throw new CliError('\nNothing was written.', INTERRUPTED);
    if (answer === '') continue;
    try {
      return read(answer, sofar);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      session.printError(error.message);
    }
  }
}

const INTERRUPTED = 130;

function missingText(missing: readonly InitQuestion[], sofar: Sofar, isTaken: boolean): string {
  const width = Math.max(...missing.map(({ flag }) => flag.length));
  const lines = missing.map(({ flag, text, fallback }) => {
    const usual = isTaken ? undefined : fallback(sofar);
    return `  ${flag.padEnd(width)}  ${text}${usual === undefined ? '' : ` (${usual})`}`;
  });
  const why = isTaken ? 'There is no default for' : 'This is no terminal, so no question can be asked. Give';
  const orYes = isTaken ? '' : '\nor --yes, which takes what stands in brackets.';
  return `${why}\n${lines.join('\n')}${orYes}`;
}

/** Options about training have no effect without a model. */
function refuseStrange({ engine, model }: Answers, options: InitOptions): void {
  if (engine === 'reference' || model !== undefined) return;
  const strange = (['steps', 'globalBatch', 'seq'] as const).find((key) => options[key] !== undefined);
  if (strange !== undefined)
    throw new CliError(
      `--${strange === 'globalBatch' ? 'global-batch' : strange} describes how a model is trained: also give --model, or pass the value to the program as an argument after --.`,
    );
}

function nextSteps({
  job,
  answers,
  out,
}: {
  readonly job: WrittenJob;
  readonly answers: Answers;
  readonly out: string;
}): string {
  const { data, checkpoint, training, model } = job.spec;
  const claims = [data?.claimName, checkpoint?.claimName].filter((claim) => claim !== undefined);
  const isPlanned = training !== undefined && model !== undefined && answers.model !== TINY_MODEL;
  const commands: readonly (readonly [string, string])[] = [
    ...(isPlanned
      ? [
          [
            `coxswain plan --model ${answers.model ?? ''} --gpu h100 --gpus ${answers.gpus} --global-batch ${training.globalBatchSize} --seq ${model.sequenceLength}`,
            'whether it fits, and how fast it is',
          ] as const,
        ]
      : []),
    [`coxswain submit -f ${out} --watch`, 'submit it, and follow it to its end'],
  ];
  return [
    `Wrote ${out}.`,
    ...(claims.length === 0
      ? []
      : [
          `It needs the PersistentVolumeClaims ${claims.join(' and ')} in its namespace; the quickstart creates corpus and checkpoints.`,
        ]),
    '',
    ...commands.map(([command, what]) => `  ${command}\n      ${what}`),
  ].join('\n');
}

const EXAMPLES = `
In a terminal it asks what is missing; elsewhere, what is missing is an error that names its option.

Examples:
  coxswain init
  coxswain init --yes
  coxswain init --model llama-3.1-8b --gpus 16 --out llama.yaml
  coxswain init --engine command --gpus 8 --image ghcr.io/me/train:1 -- python3 train.py --lr 1e-4
  coxswain init --engine megatron-lm --model llama-3.1-70b --gpus 64 --image ghcr.io/me/megatron-lm:1
  coxswain init --engine command --model ./config.json --gpus 8 --image ghcr.io/me/train:1 -- python3 train.py
  coxswain init --yes --out - | coxswain submit -f -`;
