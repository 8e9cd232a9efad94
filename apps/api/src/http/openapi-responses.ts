import type { DomainErrorCode } from '@coxswain/domain-error';
import { z } from 'zod';
import { ruleOfRoute } from '../auth/access-rules.ts';
import type { DescribedHeader } from './described-parameter.ts';
import { ETAG } from './etag.ts';
import type { Answer, DeclaredRoute, StreamedEvent } from './openapi.ts';
import { type SchemaRegistry, schemaOf } from './openapi-schema.ts';
import { STATUS_BY_CODE, TITLES } from './problem.ts';

type Content = Readonly<Record<string, { readonly schema: unknown }>>;

interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Content;
}

const RETRY_AFTER: DescribedHeader = {
  name: 'Retry-After',
  description: 'After how many seconds it is worth asking again.',
  schema: z.int().min(1),
};
const WWW_AUTHENTICATE: DescribedHeader = {
  name: 'WWW-Authenticate',
  description: 'How to say who asks (RFC 6750).',
  schema: z.string(),
};
const CACHE_CONTROL: DescribedHeader = {
  name: 'Cache-Control',
  description: 'Who may keep this answer, and for how long.',
  schema: z.string(),
};
const REQUEST_ID: DescribedHeader = {
  name: 'X-Request-Id',
  description: 'Under which id the request is recorded: in the audit, and in the log where it failed.',
  schema: z.string(),
};
/** Headers of every answer. */
const OF_EVERY: readonly DescribedHeader[] = [CACHE_CONTROL, REQUEST_ID];
const VARY: DescribedHeader = {
  name: 'Vary',
  description: 'By which headers of the request an answer that is kept may be used again.',
  schema: z.string(),
};
/** Headers that every refusal of a status has (`problem.filter.ts`). */
const HEADERS_BY_STATUS: Readonly<Record<string, readonly DescribedHeader[]>> = {
  401: [WWW_AUTHENTICATE],
  429: [RETRY_AFTER],
  503: [RETRY_AFTER],
};

/** Every answer that the route can give, by status. A status that is not there is a fault of ours. */
export function responsesOf(route: DeclaredRoute, registry: SchemaRegistry): Readonly<Record<string, Response>> {
  const { answer } = route;
  const ofSuccess = [...OF_EVERY, ...(isTagged(route) ? tagsOf(route) : []), ...(answer?.headers ?? [])];
  const responses: Record<string, Response> = {
    [String(answer?.status ?? 200)]: {
      description: answer?.summary ?? '',
      ...headersOf(ofSuccess, registry),
      ...contentOf(answer, registry),
    },
  };
  if (isTagged(route)) {
    const headers = headersOf([...OF_EVERY, ...tagsOf(route)], registry);
    responses['304'] = { description: 'The asker has this answer already (If-None-Match).', ...headers };
  }
  const codesByStatus = Map.groupBy(refusalsOf(route), (code) => STATUS_BY_CODE[code]);
  for (const [status, codes] of codesByStatus) {
    responses[status] = {
      description: codes.map((code) => `${code}: ${TITLES[code]}.`).join(' '),
      ...headersOf([...OF_EVERY, ...(HEADERS_BY_STATUS[status] ?? [])], registry),
      content: { 'application/problem+json': { schema: problemOf(status, codes) } },
    };
  }
  for (const other of answer?.others ?? []) {
    const schema = other.schema === undefined ? { type: 'string' } : schemaOf(other.schema, { io: 'output', registry });
    const beside = responses[other.status];
    responses[other.status] = {
      ...beside,
      ...headersOf([...OF_EVERY], registry),
      description: [beside?.description, other.description].filter((text) => text !== undefined).join(' '),
      content: { ...beside?.content, [other.contentType]: { schema } },
    };
  }
  return responses;
}

/** Whether the answer has a tag, by which it is kept and asked for again (`caching.ts`). */
export function isTagged({ method, path, answer }: DeclaredRoute): boolean {
  return method === 'GET' && answer?.schema !== undefined && (path.startsWith('/v1/') || path === '/openapi.json');
}

function tagsOf(route: DeclaredRoute): readonly DescribedHeader[] {
  return ruleOfRoute(route) === 'public' ? [ETAG] : [ETAG, VARY];
}

/** What follows from how the route is declared, and what it says beside that. */
export function refusalsOf(route: DeclaredRoute): readonly DomainErrorCode[] {
  const { method, path, answer, parameters, headers, refusals, body } = route;
  const rule = ruleOfRoute(route);
  const isPublic = rule === 'public';
  const isNamed = path.includes('{') || parameters.some(({ name }) => name === 'project');
  const hasBody = method !== 'GET';
  const isChecked = hasBody || body !== undefined || parameters.length > 0 || headers.length > 0;
  const found: readonly (readonly [boolean, DomainErrorCode])[] = [
    [isChecked, 'INVALID_REQUEST'],
    [!isPublic, 'UNAUTHENTICATED'],
    // By role, or of a person whose groups have none any more, or of a page that is not ours.
    [!isPublic, 'FORBIDDEN'],
    [isNamed, 'NOT_FOUND'],
    [hasBody, 'TOO_LARGE'],
    [isTagged(route), 'PRECONDITION_FAILED'],
    // Bodies of strangers have a share too.
    [!isPublic || hasBody, 'RATE_LIMITED'],
    [!isPublic, 'UNAVAILABLE'],
  ];
  const implied = found.flatMap(([holds, code]) => (holds ? [code] : []));
  return [...new Set([...implied, ...refusals, ...(answer?.refusals ?? [])])];
}

function problemOf(status: number, codes: readonly DomainErrorCode[]): Record<string, unknown> {
  const narrower = { type: 'object', properties: { status: { const: status }, code: { enum: codes } } };
  return { allOf: [{ $ref: '#/components/schemas/Problem' }, narrower] };
}

function headersOf(headers: readonly DescribedHeader[], registry: SchemaRegistry): Pick<Response, 'headers'> {
  if (headers.length === 0) return {};
  return {
    headers: Object.fromEntries(
      headers.map(({ name, description, schema }) => [
        name,
        { description, required: true, schema: schemaOf(schema, { io: 'output', registry }) },
      ]),
    ),
  };
}

function contentOf(answer: Answer | undefined, registry: SchemaRegistry): { readonly content?: Content } {
  if (answer === undefined) return {};
  const { schema, contentType, events } = answer;
  if (schema !== undefined) {
    return {
      content: { [contentType ?? 'application/json']: { schema: schemaOf(schema, { io: 'output', registry }) } },
    };
  }
  if (contentType === undefined) return {};
  if (events === undefined) return { content: { [contentType]: { schema: { type: 'string' } } } };
  return { content: { [contentType]: { schema: streamOf(events, registry) } } };
}

/** OpenAPI 3.1 has no word for the events of a stream: they are described in text, and in a field of ours by name and schema. */
function streamOf(events: Readonly<Record<string, StreamedEvent>>, registry: SchemaRegistry): Record<string, unknown> {
  const lines = Object.entries(events).map(([name, { description }]) => `\`${name}\`: ${description}`);
  return {
    type: 'string',
    description: `Server-sent events, whose data is JSON. ${lines.join(' ')}`,
    'x-coxswain-events': Object.fromEntries(
      Object.entries(events).map(([name, { schema }]) => [name, schemaOf(schema, { io: 'output', registry })]),
    ),
  };
}
