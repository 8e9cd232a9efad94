import type { Document, Operation, Parameter } from './openapi.ts';
import { docstring, type PythonTypes, snakeCase } from './python-types.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

interface Described {
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly operation: Operation;
}

/** A Python function per operation, that says which request to send; sending is the client's. */
export function pythonOperations({ paths }: Document, types: PythonTypes): string {
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => (methods[method] === undefined ? [] : [{ method, path, operation: methods[method] }])),
  );
  return described
    .filter(isForPrograms)
    .toSorted((a, b) => (functionName(a) < functionName(b) ? -1 : 1))
    .map((each) => operationText(each, types))
    .join('\n\n');
}

/** What a browser is led through and what probes ask are not for programs. */
function isForPrograms({ path, operation }: Described): boolean {
  const isRedirect = operation.responses['302'] !== undefined;
  return !isRedirect && path.startsWith('/v1/');
}

function functionName({ operation: { operationId } }: Described): string {
  return snakeCase(operationId);
}

function operationText({ method, path, operation }: Described, types: PythonTypes): string {
  const parameters = (operation.parameters ?? []).filter(
    ({ in: place, name }) => place !== 'header' || (name === 'If-Match' && method !== 'get'),
  );
  const named = operation.operationId.replaceAll(/_(.)/g, (_all, next: string) => next.toUpperCase());
  const body = operation.requestBody?.content?.['application/json']?.schema;
  const bytes = body === undefined ? Object.keys(operation.requestBody?.content ?? {})[0] : undefined;
  const answer = answerOf(operation, types, named);
  const paths = parameters.filter(({ in: place }) => place === 'path');
  const others = parameters.filter(({ in: place }) => place !== 'path');
  const isBodyRequired = operation.requestBody?.required === true;
  const signature = [
    ...paths.map(({ name }) => `${snakeCase(name)}: str`),
    ...(body === undefined
      ? []
      : [`body: ${typed(types.annotation(body, `${named}Body`))}${isBodyRequired ? '' : ' | None = None'}`]),
    ...(bytes === undefined ? [] : ['content: bytes']),
    ...(others.length === 0 ? [] : ['*']),
    ...others.map((parameter) => optional(parameter, types, named)),
  ];
  const query = others.filter(({ in: place }) => place === 'query');
  const isKeyed = (operation.parameters ?? []).some(({ name }) => name === 'Idempotency-Key');
  const fields = [
    `method=${JSON.stringify(method.toUpperCase())}`,
    `path=${pathText(path)}`,
    ...(query.length === 0
      ? []
      : [`query={${query.map(({ name }) => `${JSON.stringify(name)}: ${snakeCase(name)}`).join(', ')}}`]),
    ...(body === undefined ? [] : ['body=body']),
    ...(bytes === undefined ? [] : ['content=content', `content_type=${JSON.stringify(bytes)}`]),
    ...(others.some(({ name }) => name === 'If-Match') ? ['if_match=if_match'] : []),
    ...(isKeyed ? ['is_keyed=True'] : []),
    `answer=${JSON.stringify(answer.kind)}`,
  ];
  const description = [`${operation.summary}.`, ...parameterLines(others)].join('\n\n    ');
  return [
    `def ${functionName({ method, path, operation })}(`,
    ...signature.map((line) => `    ${line},`),
    `) -> Request[${answer.type}]:`,
    docstring(description.includes('\n') ? `${description}\n    ` : description, '    ').trimEnd(),
    '    return Request(',
    ...fields.map((field) => `        ${field},`),
    '    )',
    '',
  ].join('\n');
}

function parameterLines(parameters: readonly Parameter[]): readonly string[] {
  const lines = parameters.flatMap(({ name, description }) =>
    description === undefined ? [] : [`${snakeCase(name)}: ${description}`],
  );
  return lines.length === 0 ? [] : [lines.join('\n    ')];
}

function optional(parameter: Parameter, types: PythonTypes, named: string): string {
  const annotation = typed(types.annotation(parameter.schema, `${named}Parameter`));
  return `${snakeCase(parameter.name)}: ${annotation} | None = None`;
}

/** JSON, text, a stream of events, or nothing. */
function answerOf(
  { responses }: Operation,
  types: PythonTypes,
  named: string,
): { readonly kind: 'json' | 'text' | 'events' | 'none'; readonly type: string } {
  const content = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {};
  const json = content['application/json']?.schema;
  if (json !== undefined) return { kind: 'json', type: typed(types.annotation(json, `${named}Answer`)) };
  if (content['text/event-stream'] !== undefined) return { kind: 'events', type: 'str' };
  return Object.keys(content).length === 0 ? { kind: 'none', type: 'None' } : { kind: 'text', type: 'str' };
}

/** Names of generated types lie in a module of their own. */
function typed(annotation: string): string {
  return annotation.replaceAll(/"[^"]*"|\b[A-Z]\w*\b/g, (word) =>
    word.startsWith('"') || ['Any', 'Literal', 'None', 'NotRequired'].includes(word) ? word : `types.${word}`,
  );
}

function pathText(path: string): string {
  const isConstant = !path.includes('{');
  return isConstant
    ? JSON.stringify(path)
    : `f"${path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => `{quote(${snakeCase(name)})}`)}"`;
}
