import { API_GROUP_VERSION, JobCreate } from '@coxswain/api-types';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { CliError } from '../cli-error.ts';

/** What goes before the file. */
export interface JobOverrides {
  readonly name?: string | undefined;
  /** In place of the file's layout: the planner chooses one. */
  readonly gpus?: number | undefined;
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
    throw new CliError(`Cannot read ${path}: ${(error as Error).message}`);
  }
  return parseJob(text, { source: path, ...overrides });
}

/** The job in a text; error messages name it by `source`. */
export function parseJob(text: string, options: JobOverrides & { readonly source: string }): JobCreate {
  const [document, ...more] = parseAllDocuments(text);
  if (more.length > 0)
    throw new CliError(`${options.source} holds ${more.length + 1} documents; submit one job at a time.`);
  const wrong = document !== undefined && 'errors' in document ? document.errors[0] : undefined;
  if (wrong !== undefined) throw new CliError(`${options.source} is neither YAML nor JSON: ${wrong.message}`);
  const body = toBody(document === undefined ? undefined : (document.toJS() as unknown), options.source);
  const parsed = JobCreate.safeParse({
    ...body,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.gpus === undefined
      ? {}
      : { spec: { ...(body['spec'] as object), layout: 'auto', gpus: options.gpus } }),
  });
  if (parsed.success) return parsed.data;
  throw new CliError(`${options.source} is not a valid job:\n${z.prettifyError(parsed.error)}`);
}

function toBody(document: unknown, source: string): Readonly<Record<string, unknown>> {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new CliError(`${source} contains no job; expected a TrainingJob manifest or {name, spec}.`);
  if (!('kind' in document)) return { ...document };
  const { apiVersion, kind, metadata, spec } = document as {
    apiVersion?: unknown;
    kind: unknown;
    metadata?: { name?: unknown; namespace?: unknown; labels?: unknown };
    spec?: unknown;
  };
  if (kind !== 'TrainingJob' || apiVersion !== API_GROUP_VERSION) {
    throw new CliError(
      `${source} is a ${String(apiVersion)} ${String(kind)}; expected ${API_GROUP_VERSION} TrainingJob.`,
    );
  }
  return {
    name: metadata?.name,
    ...(metadata?.namespace === undefined ? {} : { namespace: metadata.namespace }),
    ...(metadata?.labels === undefined ? {} : { labels: metadata.labels }),
    spec,
  };
}
