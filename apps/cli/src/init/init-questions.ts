import { ENGINES_WITHOUT_PROGRAM, ObjectName, TrainingJobSpec } from '@coxswain/api-types';
import { engineNamed } from '@coxswain/layout';
import { CliError } from '../cli-error.ts';
import { ENGINES, type Answers } from './init-job.ts';
import { jobModel, modelNames, modelWords, TINY_MODEL } from './init-model.ts';
import { shellCommands } from '../job-import/shell-words.ts';

/** Answers so far. */
export type Sofar = { readonly [Key in keyof Answers]?: Answers[Key] };

/** One thing that `coxswain init` has to know. */
export interface InitQuestion {
  readonly key: keyof Answers;
  /** Where it can be given on the command line. */
  readonly flag: string;
  /** What is asked at a terminal. */
  readonly text: string;
  /** More about it, printed before it is asked. */
  readonly hint?: () => string;
  readonly choices?: () => readonly string[];
  readonly isNeeded: (sofar: Sofar) => boolean;
  /** What `--yes` and an empty answer mean; undefined where there is none. */
  readonly fallback: (sofar: Sofar) => string | undefined;
  /** Parses the answer; throws a {@link CliError} that names what is wrong with it. */
  readonly read: (text: string, sofar: Sofar) => Answers[keyof Answers];
}

const always = (): boolean => true;
const ofReference = ({ engine }: Sofar): boolean => engine === 'reference';
const hasProgram = ({ engine }: Sofar): boolean => engine !== undefined && ENGINES_WITHOUT_PROGRAM.includes(engine);
/** Engines that are given the model by the job. */
const isGivenModel = ({ engine }: Sofar): boolean => engine !== 'command' && engine !== 'custom';

/** In the order in which they are asked: later ones have defaults that depend on earlier ones. */
export const INIT_QUESTIONS: readonly InitQuestion[] = [
  {
    key: 'engine',
    flag: '--engine NAME',
    text: 'Engine',
    hint: () =>
      `reference trains a GPT of Coxswain’s own; command starts any program, once per GPU; the others are given model and training by the job: ${ENGINES.join(', ')}.`,
    choices: () => ENGINES,
    isNeeded: always,
    fallback: () => 'reference',
    read: oneOfEngines,
  },
  {
    key: 'model',
    flag: '--model NAME|FILE',
    text: 'Model',
    hint: () => `Sizes of a model by name, or a config.json. Tab completes:\n${wrapped(modelNames())}`,
    choices: modelNames,
    isNeeded: isGivenModel,
    fallback: ({ engine }) => (engine === 'reference' ? TINY_MODEL : undefined),
    read: (text, { engine }) => {
      if (engine === 'reference' || engine === undefined) jobModel(text);
      else modelWords(text);
      return text;
    },
  },
  {
    key: 'program',
    flag: '-- PROGRAM ARGUMENTS…',
    text: 'Program of one rank',
    hint: () => 'It is started once per GPU, with RANK, WORLD_SIZE and LOCAL_RANK: python3 train.py, not torchrun.',
    isNeeded: hasProgram,
    fallback: () => undefined,
    read: programWords,
  },
  {
    key: 'gpus',
    flag: '--gpus N',
    text: 'GPUs',
    isNeeded: always,
    fallback: () => '1',
    read: gpuCount,
  },
  {
    key: 'image',
    flag: '--image IMAGE',
    text: 'Container image',
    isNeeded: always,
    fallback: ({ engine }) => (engine === 'reference' ? 'coxswain/engine-reference:dev' : undefined),
    read: (text) => text,
  },
  {
    key: 'data',
    flag: '--data CLAIM/PATH',
    text: 'Claim with the data, and the path in it',
    isNeeded: ofReference,
    fallback: () => 'corpus/logbook.txt',
    read: claim,
  },
  {
    key: 'checkpoints',
    flag: '--checkpoints CLAIM',
    text: 'Claim for checkpoints',
    isNeeded: ofReference,
    fallback: () => 'checkpoints',
    read: claim,
  },
  {
    key: 'name',
    flag: '--name NAME',
    text: 'Name of the job',
    isNeeded: always,
    fallback: defaultName,
    read: objectName,
  },
];

function oneOfEngines(text: string): Answers['engine'] {
  const named = engineNamed(text);
  const found = ENGINES.find((engine) => engine === named);
  if (found === undefined) throw new CliError(`"${text}" is not one of ${ENGINES.join(', ')}.`);
  return found;
}

function gpuCount(text: string): number {
  const read = TrainingJobSpec.shape.gpus.safeParse(/^\d{1,9}$/.test(text) ? Number(text) : undefined);
  if (!read.success || read.data === undefined)
    throw new CliError(`"${text}" is not a number of GPUs from 1 to 32768.`);
  return read.data;
}

function programWords(text: string): readonly string[] {
  const commands = shellCommands(text);
  const [command, ...more] = commands ?? [];
  if (command === undefined || more.length > 0 || command.words.some(({ isLiteral }) => !isLiteral))
    throw new CliError("Give one program with its arguments; for more, bash -c '…'.");
  return command.words.map((word) => word.text);
}

function claim(text: string): string {
  const [name = ''] = text.split('/');
  if (!ObjectName.safeParse(name).success)
    throw new CliError(`"${name}" is not the name of a PersistentVolumeClaim: lower-case letters, digits and "-".`);
  return text;
}

function objectName(text: string): string {
  const read = ObjectName.safeParse(text);
  if (!read.success) throw new CliError(`"${text}" is not a valid name: ${read.error.issues[0]?.message ?? ''}.`);
  return text;
}

function defaultName({ model, program }: Sofar): string {
  const script = program?.slice(1).find((word) => !word.startsWith('-')) ?? program?.[0];
  const base = script ?? model;
  const name = base
    ?.replace(/^.*\//, '')
    .replace(/\.(?:py|sh|json|ya?ml)$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  return name === undefined || name === '' ? 'job' : name;
}

/** Names in lines of at most 100 characters. */
function wrapped(names: readonly string[]): string {
  return names
    .reduce<string[]>((lines, name) => {
      const last = lines.at(-1);
      if (last === undefined || last.length + name.length > 98) return [...lines, `  ${name}`];
      return [...lines.slice(0, -1), `${last}  ${name}`];
    }, [])
    .join('\n');
}
