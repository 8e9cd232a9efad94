/** The text of a job that is not submitted yet. The YAML is the one place that holds it; the form reads and edits single fields of it. */
import { misspeltManifestFields, requestOfManifest } from '@coxswain/api-types';
import { Document, isCollection, LineCounter, parseAllDocuments, parseDocument } from 'yaml';
import type { FieldProblem } from './field-problems.ts';

/** What a text says. */
export interface Draft {
  /** Body of the request, not checked yet; undefined: the text is no job. */
  readonly request: Readonly<Record<string, unknown>> | undefined;
  /** What is wrong with the text itself. */
  readonly problems: readonly FieldProblem[];
}

/** Lines are as long as their values: a command that is wrapped is hard to read. */
const WRITING = { lineWidth: 0 } as const;

export function readDraft(text: string): Draft {
  const lines = new LineCounter();
  const [document, ...more] = parseAllDocuments(text, { lineCounter: lines });
  if (more.length > 0) return unreadable(`There are ${more.length + 1} documents. Submit one job at a time.`);
  if (document === undefined || !('errors' in document)) return unreadable('The YAML is empty.');
  const [wrong] = document.errors;
  if (wrong !== undefined) {
    const { line } = lines.linePos(wrong.pos[0]);
    const [why = ''] = wrong.message.split(/ at line \d+, column \d+|\n/, 1);
    return unreadable(`Line ${line} is not YAML: ${why}. The form can be used again once the YAML can be read.`);
  }
  const value = valueOf(document);
  const found = requestOfManifest(value);
  if (found.request === undefined) return unreadable(`The YAML ${found.problem}`);
  const misspelt = misspeltManifestFields(value).map(({ where, sentence }) => problemOf(where, sentence));
  return { request: found.request, problems: misspelt };
}

/** The value of the document; undefined if its aliases refer to nothing, or to too much. */
function valueOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    return undefined;
  }
}

function unreadable(rule: string): Draft {
  return { request: undefined, problems: [problemOf('', rule)] };
}

function problemOf(field: string, rule: string): FieldProblem {
  return { field, value: undefined, rule, change: null, effect: 'NeedsChange' };
}

/** The text with that field of the request; undefined removes the field, and each map that is then empty. Comments stay. */
export function withField(text: string, field: string, value: unknown): string {
  const document = parseDocument(text);
  const path = documentPath(document, field);
  if (value === undefined) removeIn(document, path);
  else setIn(document, path, value);
  return document.toString(WRITING);
}

/** Where the value of a field is in the text, or else the nearest field around it. Undefined: nowhere. */
export function rangeOf(text: string, field: string): readonly [start: number, end: number] | undefined {
  const document = parseDocument(text);
  const path = documentPath(document, field);
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isCollection(node) || (typeof node === 'object' && node !== null)) {
      const { range } = node as { range?: readonly number[] | null };
      if (range?.[0] !== undefined && range[1] !== undefined) return [range[0], range[1]];
    }
  }
  return undefined;
}

/** The value of a field of the request; undefined: it has none. */
export function valueIn(request: unknown, field: string): unknown {
  return keysOf(field).reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Readonly<Record<string | number, unknown>>)[key]
        : undefined,
    request,
  );
}

/** A request as the text of a TrainingJob, which `kubectl apply` takes too. */
export function draftText(apiVersion: string, request: Readonly<Record<string, unknown>>): string {
  const { spec, ...metadata } = request;
  return new Document({ apiVersion, kind: 'TrainingJob', metadata, spec }).toString(WRITING);
}

function keysOf(field: string): readonly string[] {
  return field === '' ? [] : field.split('.');
}

/** In a manifest, name, namespace and labels are in its metadata. */
function documentPath(document: Document, field: string): readonly (string | number)[] {
  const keys = keysOf(field).map((key) => (/^\d+$/.test(key) ? Number(key) : key));
  return document.has('kind') && keys[0] !== 'spec' && keys.length > 0 ? ['metadata', ...keys] : keys;
}

function setIn(document: Document, path: readonly (string | number)[], value: unknown): void {
  // A key without a value, such as `spec:`, holds null, and nothing can be put into that.
  for (let length = 0; length < path.length; length++) {
    const around = document.getIn(path.slice(0, length), true);
    if (around === undefined || isCollection(around)) continue;
    if (length === 0) document.contents = document.createNode({}) as never;
    else document.deleteIn(path.slice(0, length));
  }
  document.setIn(path, value);
}

function removeIn(document: Document, path: readonly (string | number)[]): void {
  if (path.length === 0 || !document.hasIn(path)) return;
  document.deleteIn(path);
  const parent = path.slice(0, -1);
  const around = parent.length === 0 ? undefined : document.getIn(parent, true);
  if (isCollection(around) && around.items.length === 0) removeIn(document, parent);
}
