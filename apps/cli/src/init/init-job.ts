import { ENGINE_NAMES, ENGINES_WITHOUT_PROGRAM, type TrainingJobSpecInput } from '@coxswain/api-types';
import { CliError } from '../cli-error.ts';
import { jobModel, modelWords, TINY_MODEL } from './init-model.ts';
import { importedEngine } from '../job-import/imported-engine.ts';
import type { WrittenJob } from '../job-import/written-job.ts';
import { problemsInJob } from '../job-import/problems-in-job.ts';

/** Engines for which `coxswain init` writes a job. */
export const ENGINES = ENGINE_NAMES;

/** What has been answered: by options, at the terminal, or by defaults. */
export interface Answers {
  readonly engine: (typeof ENGINES)[number];
  readonly name: string;
  readonly image: string;
  readonly gpus: number;
  /** A preset or a file. */
  readonly model?: string | undefined;
  /** Of engines whose program is the user's: program and arguments of one rank. */
  readonly program?: readonly string[] | undefined;
  /** `CLAIM` or `CLAIM/PATH`. */
  readonly data?: string | undefined;
  readonly checkpoints?: string | undefined;
  readonly steps?: number | undefined;
  readonly globalBatch?: number | undefined;
  readonly seq?: number | undefined;
}

const LEAST_BATCH = 8;
const STEPS = 1_000;

/** Builds the job from the answers; `head` describes it in a sentence. Throws a {@link CliError} that names field and rule. */
export function initJob(answers: Answers): { readonly job: WrittenJob; readonly head: string } {
  const { name, gpus } = answers;
  const { checkpoint, data } = claimsOf(answers);
  const resources = { ...data, ...checkpoint };
  const made = madeFor(answers);
  const job: WrittenJob = { name, spec: { ...made.spec, ...resources, restartPolicy: { maxRestarts: 3 } } };
  const problems = problemsInJob(job);
  if (problems !== undefined) throw new CliError(`The answers do not make a valid job:\n${problems}`);
  return { job, head: `${made.head} on ${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'}.` };
}

function madeFor(answers: Answers): Made {
  if (answers.engine === 'reference') return referenceJob(answers);
  // A program of the user's without a model: only its own words say how it divides its ranks.
  return isOfProgram(answers) ? commandJob(answers) : upstreamJob(answers);
}

function isOfProgram({ engine, model }: Answers): boolean {
  return engine === 'command' || (engine === 'custom' && model === undefined);
}

interface Made {
  readonly spec: TrainingJobSpecInput;
  readonly head: string;
}

function referenceJob({ model = TINY_MODEL, image, gpus, steps, globalBatch, seq }: Answers): Made {
  const { name, model: sizes } = jobModel(model, seq);
  return {
    head:
      name === TINY_MODEL
        ? 'A GPT so small that processors train it,'
        : `A GPT of the sizes of ${name}, from scratch and byte by byte,`,
    spec: {
      engine: { name: 'reference', image },
      model: sizes,
      training: {
        steps: steps ?? STEPS,
        globalBatchSize: globalBatch ?? batchFor(gpus),
        precision: name === TINY_MODEL ? 'fp32' : 'bf16',
      },
      gpus,
    },
  };
}

/** A batch that can be divided among all GPUs, whatever else divides them. */
function batchFor(gpus: number): number {
  return gpus * Math.ceil(LEAST_BATCH / gpus);
}

function commandJob({ engine, image, gpus, program = [], model, steps, globalBatch, seq }: Answers): Made {
  const isTrained = steps !== undefined || globalBatch !== undefined;
  const read = importedEngine({ words: program, variables: [], ranks: gpus, from: 'the program' });
  const [problem] = read.lines.filter(({ from }) => !from.startsWith('the program'));
  if (problem?.todo !== undefined && problem.to === 'layout' && !problem.from.includes('config'))
    throw new CliError(`${problem.from}: ${problem.why ?? ''}; ${problem.todo}.`);
  const { name, ...started } = read.engine;
  return {
    head: `${program.join(' ').replaceAll(/\s+/g, ' ').slice(0, 80)},`,
    spec: {
      engine: { name: engine === 'custom' ? engine : name, image, ...started },
      ...(model === undefined ? {} : { model: modelWords(model, seq).model }),
      ...(isTrained ? { training: { steps: steps ?? STEPS, globalBatchSize: globalBatch ?? batchFor(gpus) } } : {}),
      layout: read.layout,
    },
  };
}

/** An engine of another project: Coxswain gives it the model and the training, and the planner divides the GPUs. */
function upstreamJob({ engine, image, gpus, program = [], model = '', data, steps, globalBatch, seq }: Answers): Made {
  const { name, model: sizes } = modelWords(model, seq);
  return {
    head: `${name}, trained by ${engine},`,
    spec: {
      engine: { name: engine, image, ...(ENGINES_WITHOUT_PROGRAM.includes(engine) ? { command: [...program] } : {}) },
      model: sizes,
      training: { steps: steps ?? STEPS, globalBatchSize: globalBatch ?? batchFor(gpus) },
      ...(data === undefined ? { data: { format: 'mock' } } : {}),
      gpus,
    },
  };
}

function claimsOf({ data, checkpoints, engine }: Answers): {
  readonly data: Pick<TrainingJobSpecInput, 'data'>;
  readonly checkpoint: Pick<TrainingJobSpecInput, 'checkpoint'>;
} {
  const read = data === undefined ? undefined : claimOf(data);
  const saved = checkpoints === undefined ? undefined : claimOf(checkpoints);
  return {
    data: read === undefined ? {} : { data: { claimName: read.claimName, path: read.path } },
    checkpoint:
      saved === undefined
        ? {}
        : {
            checkpoint: {
              claimName: saved.claimName,
              ...(saved.path === '' ? {} : { path: saved.path }),
              ...(engine === 'reference' ? { everySteps: 100 } : {}),
            },
          },
  };
}

/** `corpus/books/a.txt`: claim and path inside it. */
function claimOf(text: string): { readonly claimName: string; readonly path: string } {
  const slash = text.indexOf('/');
  return slash < 0
    ? { claimName: text, path: '' }
    : { claimName: text.slice(0, slash), path: text.slice(slash + 1).replace(/\/+$/, '') };
}
