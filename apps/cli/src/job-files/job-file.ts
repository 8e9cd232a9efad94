import { JobCreate, misspeltManifestFields, requestOfManifest } from '@coxswain/api-types';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';
import { isPython, PYTHON_INSTEAD } from '../files/kind-of-text.ts';
import { withEngineFile } from '../files/engine-file.ts';
import { problemsIn } from '../output/problems-in.ts';

/** What goes before the file. */
export interface JobOverrides {
  readonly name?: string | undefined;
  /** In place of the file's layout: the planner chooses one. */
  readonly gpus?: number | undefined;
  readonly priorityClass?: string | undefined;
  /** Seconds. */
  readonly maxRuntime?: number | undefined;
  /** The engine's own configuration file, whose options join those of the job. */
  readonly engineFile?: string | undefined;
}

/**
 * A job from a YAML or JSON file (`-` is standard input): either the TrainingJob manifest that `kubectl apply` takes, or the body of
 * `POST …/jobs`. Fields are checked here with the API's own schema, so that mistakes are named before anything is sent.
 */
export function readJobFile(path: string, overrides: JobOverrides = {}): JobCreate {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw fileError('read', path, error);
  }
  return parseJob(text, { source: path, ...overrides });
}

/** The job in a text; error messages name it by `source`. */
export function parseJob(text: string, options: JobOverrides & { readonly source: string }): JobCreate {
  refusePrograms(text, options.source);
  const [document, ...more] = parseAllDocuments(text);
  if (more.length > 0)
    throw new CliError(`${options.source} holds ${more.length + 1} documents; submit one job at a time.`);
  const wrong = document !== undefined && 'errors' in document ? document.errors[0] : undefined;
  if (wrong !== undefined) throw new CliError(`${options.source} is neither YAML nor JSON: ${wrong.message}`);
  const body = toBody(document === undefined ? undefined : (document.toJS() as unknown), options.source);
  const asked = {
    ...body,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...withSpec(body, {
      ...(options.gpus === undefined ? {} : { layout: 'auto', gpus: options.gpus }),
      ...(options.priorityClass === undefined ? {} : { priorityClassName: options.priorityClass }),
      ...(options.maxRuntime === undefined ? {} : { maxRuntimeSeconds: options.maxRuntime }),
    }),
  };
  const misspelt = misspeltMetadata(document === undefined ? undefined : document.toJS());
  const job = validJob(asked, options.source, misspelt);
  if (options.engineFile === undefined) return job;
  const { spec } = job;
  return validJob(
    { ...job, spec: { ...spec, engine: withEngineFile(spec.engine, options.engineFile) } },
    options.source,
  );
}

/** Errors of YAML would say nothing about a script or a program. */
function refusePrograms(text: string, source: string): void {
  if (isPython(text)) throw new CliError(`${source} is a program in Python, not a job. ${PYTHON_INSTEAD}`);
  if (text.startsWith('#!'))
    throw new CliError(
      `${source} is a script, not a job. coxswain import ${source} --out job.yaml makes a job of a batch script of Slurm, or of a script around torchrun.`,
    );
}

/** The spec with these fields; nothing if there are none, because the file may have no spec. */
function withSpec(body: Readonly<Record<string, unknown>>, fields: object): { readonly spec?: object } {
  return Object.keys(fields).length === 0 ? {} : { spec: { ...(body['spec'] as object), ...fields } };
}

function validJob(asked: unknown, source: string, misspelt: readonly string[] = []): JobCreate {
  const parsed = JobCreate.safeParse(asked, { reportInput: true });
  if (parsed.success && misspelt.length === 0) return parsed.data;
  const problems = problemsIn(parsed.error, { schema: JobCreate, whole: 'the job' });
  throw new CliError(`${source} is not a valid job:\n${[...misspelt, ...problems].join('\n')}`);
}

/** Misspelt fields of a manifest outside of its spec, a paragraph each. */
function misspeltMetadata(document: unknown): readonly string[] {
  return misspeltManifestFields(document).map(
    ({ where, sentence }) => `✖ ${sentence}\n  → at ${where === '' ? 'the manifest' : where}`,
  );
}

function toBody(document: unknown, source: string): Readonly<Record<string, unknown>> {
  const found = requestOfManifest(document);
  if (found.request === undefined) throw new CliError(`${source} ${found.problem}`);
  return found.request;
}
