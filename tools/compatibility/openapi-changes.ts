import { SchemaComparison } from './schema-changes.ts';
import type { NamedSchemas, Schema } from './schema.ts';

/** What is compared of an OpenAPI document. */
export interface ComparedDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ComparedOperation>>>>;
  readonly components: { readonly schemas: NamedSchemas };
}

/** A route and method. */
export interface ComparedOperation {
  readonly operationId?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content>>;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

/** A sentence for each difference that breaks programs that call the API. */
export function openApiChanges(before: ComparedDocument, after: ComparedDocument): readonly string[] {
  const named = { before: before.components.schemas, after: after.components.schemas };
  const comparison = new SchemaComparison(named);
  const found = Object.entries(before.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, old]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const now = after.paths[path]?.[method];
      return now === undefined ? [`${name}: is gone`] : operationChanges(old, now, { name, comparison });
    }),
  );
  return [...new Set(found)];
}

interface Place {
  readonly name: string;
  readonly comparison: SchemaComparison;
}

function operationChanges(before: ComparedOperation, after: ComparedOperation, place: Place): readonly string[] {
  const { name } = place;
  const { operationId: old, requestBody } = before;
  return [
    // Names of functions in clients that are generated from the document.
    ...(old === after.operationId ? [] : [`${name}: operationId was ${old}, and is now ${after.operationId}`]),
    ...parameterChanges(before, after, place),
    ...(after.requestBody?.required === true && requestBody?.required !== true
      ? [`${name}: a body is required now`]
      : []),
    ...(requestBody === undefined
      ? []
      : contentChanges(requestBody, after.requestBody ?? {}, { ...place, name: `${name} body`, direction: 'written' })),
    ...Object.entries(before.responses).flatMap(([status, response]) => {
      const now = after.responses[status];
      const at = `${name} ${status}`;
      // An error that no longer comes breaks nothing.
      if (now === undefined) return status.startsWith('2') ? [`${at}: is gone`] : [];
      return contentChanges(response, now, { ...place, name: at, direction: 'read' });
    }),
  ];
}

function parameterChanges(before: ComparedOperation, after: ComparedOperation, place: Place): readonly string[] {
  const [old, now] = [before.parameters ?? [], after.parameters ?? []];
  const keyOf = (parameter: { readonly in: string; readonly name: string }): string =>
    `${parameter.in} ${parameter.name}`;
  const find = (list: typeof old, key: string): (typeof old)[number] | undefined =>
    list.find((one) => keyOf(one) === key);
  const kept = old.flatMap((parameter) => {
    const its = find(now, keyOf(parameter));
    const path = `${place.name} ${keyOf(parameter)}`;
    if (its === undefined) return [`${path}: is gone`];
    return place.comparison.changes(parameter.schema, its.schema, { path, direction: 'written' });
  });
  const required = now
    .filter((parameter) => parameter.required === true && find(old, keyOf(parameter))?.required !== true)
    .map((parameter) => `${place.name} ${keyOf(parameter)}: is required now`);
  return [...kept, ...required];
}

function contentChanges(
  before: Content,
  after: Content,
  { name, comparison, direction }: Place & { readonly direction: 'written' | 'read' },
): readonly string[] {
  return Object.entries(before.content ?? {}).flatMap(([type, { schema: old }]) => {
    const its = after.content?.[type];
    if (its === undefined) return [`${name}: ${type} is gone`];
    if (old === undefined || its.schema === undefined) return [];
    return comparison.changes(old, its.schema, { path: name, direction });
  });
}
