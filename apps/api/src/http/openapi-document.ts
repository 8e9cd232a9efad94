import { Problem, ROLES } from '@coxswain/api-types';
import type { Type } from '@nestjs/common';
import { z } from 'zod';
import { permitted, ruleOfRoute } from '../auth/access-rules.ts';
import { PAGE_HEADER, SESSION_COOKIE } from '../auth/credential.ts';
import { ROLE_ACTIONS } from '../auth/roles.ts';
import type { DescribedHeader } from './described-parameter.ts';
import { IF_MATCH, IF_NONE_MATCH } from './etag.ts';
import { type Answer, type DeclaredParameter, type DeclaredRoute, declaredRoutes } from './openapi.ts';
import { isTagged, responsesOf } from './openapi-responses.ts';
import { type SchemaRegistry, schemaOf } from './openapi-schema.ts';

/** The OpenAPI 3.1 document of the controllers: the same zod types that validate requests, so that it cannot say something else. */
export function openApiDocument(controllers: readonly Type[]): Readonly<Record<string, unknown>> {
  const registry: SchemaRegistry = new Map();
  const routes = declaredRoutes(controllers);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, registry) };
  }
  schemaOf(Problem, { io: 'output', registry });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Coxswain',
      version: '1.0.0',
      description:
        'Training jobs, their history, layouts and plans. What goes wrong is answered as problem details (RFC 9457). Three of these answers come before an operation is chosen: 400 for what is not HTTP, 408 for a request that arrives too slowly, and 431 if address and headers have more than 16 KiB.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'Where this document was read.' }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries([...registry].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'cxs_<prefix>_<secret>',
          description: `An API token, or what \`coxswain login\` was given. Each operation names the roles that may ask for it: ${describedRoles()}.`,
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description: `The page’s, of a person who signed in at /v1/sign-in/start. What changes something must come from the page’s origin with the header ${PAGE_HEADER}: 1.`,
        },
      },
    },
    security: bySomebody([[]]),
  };
}

/** A condition of reading stands for each answer that has a tag, whatever else is read. */
function headersReadBy(route: DeclaredRoute): readonly DescribedHeader[] {
  const headers = isTagged(route) ? [IF_NONE_MATCH, IF_MATCH, ...route.headers] : route.headers;
  return headers.filter((header, index) => headers.indexOf(header) === index);
}

function describedRoles(): string {
  return Object.entries(ROLE_ACTIONS)
    .map(([role, actions]) => `${role} (${actions.join(', ')})`)
    .join('; ');
}

function operationOf(route: DeclaredRoute, registry: SchemaRegistry): Record<string, unknown> {
  const { answer } = route;
  return {
    operationId: route.name,
    summary: answer?.summary ?? '',
    tags: [tagOf(route)],
    security: securityOf(route),
    parameters: [
      ...route.parameters.map((parameter) => parameterOf(parameter, registry)),
      ...headersReadBy(route).map(({ name, description, schema }) => ({
        in: 'header',
        name,
        required: false,
        description,
        schema: schemaOf(schema, { io: 'input', registry }),
      })),
    ],
    ...(route.body === undefined ? {} : { requestBody: requestBodyOf(route.body, registry) }),
    ...(answer?.body === undefined ? {} : { requestBody: bytesOf(answer.body) }),
    responses: responsesOf(route, registry),
  };
}

/** What the operation is about: the last word of its path that names a collection of a project, or the first of all. */
function tagOf({ path }: DeclaredRoute): string {
  const words = path.split('/').filter((word) => word !== '' && word !== 'v1');
  const isOfProject = words[0] === 'projects' && words[1] === '{project}' && words[2] !== undefined;
  return (isOfProject ? words[2] : words[0]) ?? 'other';
}

/** The roles that may, one beside the other: any of them is enough. Some may do it only to what they made. */
function securityOf(route: DeclaredRoute): readonly Readonly<Record<string, readonly string[]>>[] {
  const rule = ruleOfRoute(route);
  if (rule === 'public') return [];
  if (rule === undefined || rule === 'signedIn') return bySomebody([[]]);
  return bySomebody(ROLES.filter((role) => permitted(rule, role) !== 'none').map((role) => [role]));
}

/** By whichever credential. */
function bySomebody(roles: readonly (readonly string[])[]): readonly Readonly<Record<string, readonly string[]>>[] {
  return [...roles.map((token) => ({ token })), ...roles.map((session) => ({ session }))];
}

/** Parameters of paths are read as text; what is no name of anything is not found. */
const PATH_PARAMETERS: Readonly<Record<string, { readonly description: string; readonly schema: object }>> = {
  sha256: {
    description: 'SHA-256 of the archive.',
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$', examples: ['0123456789abcdef'.repeat(4)] },
  },
  project: {
    description: 'Name of the project. Cluster administrators read every project’s jobs under `-`.',
    schema: { type: 'string', minLength: 1, maxLength: 63, examples: ['research'] },
  },
};
const ID = { type: 'string', format: 'uuid', examples: ['3f1c2b9e-0000-4000-8000-000000000001'] };

function parameterOf(parameter: DeclaredParameter, registry: SchemaRegistry): Record<string, unknown> {
  const { in: place, name, schema } = parameter;
  if (place === 'path') {
    const known = PATH_PARAMETERS[name] ?? { description: 'As an answer of the API gave it.', schema: ID };
    return { in: place, name, required: true, ...known };
  }
  const described = schema === undefined ? undefined : z.globalRegistry.get(schema)?.description;
  return {
    in: place,
    name,
    required: false,
    ...(described === undefined ? {} : { description: described }),
    schema: schema === undefined ? { type: 'string' } : schemaOf(schema, { io: 'input', registry }),
  };
}

function bytesOf({ contentType, description }: NonNullable<Answer['body']>): Record<string, unknown> {
  return { required: true, description, content: { [contentType]: { schema: { type: 'string', format: 'binary' } } } };
}

function requestBodyOf(body: z.ZodType, registry: SchemaRegistry): Record<string, unknown> {
  const schema = schemaOf(body, { io: 'input', registry });
  const examples = examplesOf(body);
  return {
    required: !body.safeParse(undefined).success,
    content: {
      'application/json': {
        schema,
        ...(examples.length === 0
          ? {}
          : { examples: Object.fromEntries(examples.map((value, index) => [`example${index + 1}`, { value }])) }),
      },
    },
  };
}

/** As its type has them; those of types that change what they read are not in their JSON schema. */
function examplesOf(body: z.ZodType): readonly unknown[] {
  const { examples } = z.globalRegistry.get(body) ?? {};
  if (Array.isArray(examples)) return examples;
  return body instanceof z.ZodPrefault ? examplesOf(body.def.innerType as z.ZodType) : [];
}
