/** A job as people write it: the TrainingJob manifest that `kubectl apply` takes, or the body of `POST …/jobs`. */
import { nearestWord } from '@coxswain/layout';
import { API_GROUP_VERSION, isServedApiVersion } from './names.ts';

/** The body of a request, whose fields are not checked yet; or why the document is no job. */
export type ManifestRequest =
  { readonly request: Readonly<Record<string, unknown>> } | { readonly request: undefined; readonly problem: string };

/** The request that a document makes. `problem` continues a sentence that begins with the name of the document. */
export function requestOfManifest(document: unknown): ManifestRequest {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return refuse('contains no job; expected a TrainingJob manifest or {name, spec}.');
  if (!('kind' in document)) return { request: { ...document } };
  const { apiVersion, kind, metadata, spec } = document as {
    apiVersion?: unknown;
    kind: unknown;
    metadata?: { name?: unknown; namespace?: unknown; labels?: unknown } | null;
    spec?: unknown;
  };
  if (kind !== 'TrainingJob' || !isServedApiVersion(apiVersion))
    return refuse(`is a ${String(apiVersion)} ${String(kind)}; expected ${API_GROUP_VERSION} TrainingJob.`);
  const { name, namespace, labels } = metadata ?? {};
  return {
    request: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      spec,
    },
  };
}

function refuse(problem: string): ManifestRequest {
  return { request: undefined, problem };
}

/** Fields of a manifest that people write; kubectl adds others to what it prints. */
const WRITTEN = {
  '': ['apiVersion', 'kind', 'metadata', 'spec'],
  metadata: ['name', 'namespace', 'labels', 'annotations'],
};

/** A field of a manifest outside of its spec that is probably misspelt. */
export interface MisspeltField {
  /** Empty: the manifest itself. */
  readonly where: '' | 'metadata';
  readonly sentence: string;
}

/** Misspelt fields of a manifest outside of its spec. They have no schema of ours, so they would be ignored without a word. */
export function misspeltManifestFields(document: unknown): readonly MisspeltField[] {
  if (typeof document !== 'object' || document === null || !('kind' in document)) return [];
  const { metadata } = document as { metadata?: unknown };
  return (['', 'metadata'] as const).flatMap((where) => misspeltOf(where === '' ? document : metadata, where));
}

function misspeltOf(fields: unknown, where: MisspeltField['where']): readonly MisspeltField[] {
  if (typeof fields !== 'object' || fields === null) return [];
  const known = WRITTEN[where];
  return Object.keys(fields).flatMap((key) => {
    const meant = known.includes(key) ? undefined : nearestWord(known, key);
    if (meant === undefined || Object.hasOwn(fields, meant)) return [];
    return [{ where, sentence: `unknown field ${JSON.stringify(key)}; did you mean ${JSON.stringify(meant)}?` }];
  });
}
