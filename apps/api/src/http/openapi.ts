import 'reflect-metadata';
import { Problem } from '@coxswain/api-types';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { z } from 'zod';

const ANSWERS = 'coxswain:answers';

/** What a route answers when all goes well. */
export interface Answer {
  readonly status: number;
  readonly summary: string;
  /** Absent: no JSON body. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
}

/** Declares a route's answer for the OpenAPI document. A test refuses routes without it. */
export function Answers(answer: Answer): MethodDecorator {
  return (_target, _key, descriptor) => {
    Reflect.defineMetadata(ANSWERS, answer, descriptor.value as object);
  };
}

/** A route as its decorators declare it. */
export interface DeclaredRoute {
  readonly method: string;
  /** As OpenAPI writes it: `/v1/projects/{project}`. */
  readonly path: string;
  readonly name: string;
  readonly answer: Answer | undefined;
  readonly parameters: readonly { readonly in: 'path' | 'query'; readonly name: string; readonly schema?: z.ZodType }[];
  readonly body: z.ZodType | undefined;
}

/** Every route of the controllers, in order of declaration. */
export function declaredRoutes(controllers: readonly Type[]): readonly DeclaredRoute[] {
  return controllers.flatMap((controller) => {
    const prototype = controller.prototype as Record<string, unknown>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = name === 'constructor' ? undefined : prototype[name];
      if (typeof handler !== 'function' || !Reflect.hasMetadata(METHOD_METADATA, handler)) return [];
      return [routeOf(controller, name, handler)];
    });
  });
}

/** The OpenAPI 3.1 document of the controllers: the same zod types that validate requests, so that it cannot say something else. */
export function openApiDocument(controllers: readonly Type[]): Readonly<Record<string, unknown>> {
  const registry = new Map<string, unknown>();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of declaredRoutes(controllers)) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, registry) };
  }
  const problem = schemaOf(Problem, { io: 'output', registry });
  return {
    openapi: '3.1.0',
    info: { title: 'Coxswain', version: '1.0.0', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    paths,
    components: {
      schemas: Object.fromEntries([...registry].sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: {
        Problem: {
          description: 'What is wrong (RFC 9457)',
          content: { 'application/problem+json': { schema: problem } },
        },
      },
      securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'cxs_<prefix>_<secret>' } },
    },
    security: [{ token: [] }],
  };
}

interface RouteArgument {
  readonly data?: unknown;
  readonly schema?: z.ZodType;
}

function routeOf(controller: Type, name: string, handler: object): DeclaredRoute {
  const path = [Reflect.getMetadata(PATH_METADATA, controller), Reflect.getMetadata(PATH_METADATA, handler)]
    .map((part: unknown) => String(part ?? '').replace(/^\/+|\/+$/g, ''))
    .filter((part) => part !== '')
    .join('/');
  const args = Object.entries(
    (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<string, RouteArgument>,
  );
  const bodyArgument = args.find(([key]) => key.startsWith(`${BODY}:`));
  const queryArgument = args.find(([key]) => key.startsWith(`${QUERY}:`));
  const queryShape = queryArgument?.[1].schema instanceof z.ZodObject ? queryArgument[1].schema.shape : {};
  const names = [...`/${path}`.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');
  return {
    method: RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] ?? 'GET',
    path: `/${path}`.replace(/:(\w+)/g, '{$1}'),
    name: `${controller.name.replace(/Controller$/, '')}_${name}`,
    answer: Reflect.getMetadata(ANSWERS, handler) as Answer | undefined,
    parameters: [
      ...names.map((parameter) => ({ in: 'path' as const, name: parameter })),
      ...Object.entries(queryShape).map(([key, schema]) => ({
        in: 'query' as const,
        name: key,
        schema: schema as z.ZodType,
      })),
    ],
    body: bodyArgument?.[1].schema,
  };
}

/** RouteParamtypes of Nest, which it does not export: the key of an argument begins with it. */
const BODY = 3;
const QUERY = 4;

function operationOf(route: DeclaredRoute, registry: Map<string, unknown>): Record<string, unknown> {
  const { answer } = route;
  const content =
    answer?.schema === undefined
      ? answer?.contentType === undefined
        ? undefined
        : { [answer.contentType]: { schema: { type: 'string' } } }
      : { 'application/json': { schema: schemaOf(answer.schema, { io: 'output', registry }) } };
  return {
    operationId: route.name,
    summary: answer?.summary ?? '',
    parameters: route.parameters.map((parameter) => ({
      in: parameter.in,
      name: parameter.name,
      required: parameter.in === 'path',
      schema:
        parameter.schema === undefined ? { type: 'string' } : schemaOf(parameter.schema, { io: 'input', registry }),
    })),
    ...(route.body === undefined
      ? {}
      : {
          requestBody: { content: { 'application/json': { schema: schemaOf(route.body, { io: 'input', registry }) } } },
        }),
    responses: {
      [String(answer?.status ?? 200)]: {
        description: answer?.summary ?? '',
        ...(content === undefined ? {} : { content }),
      },
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

/**
 * The JSON schema of a type. Named types go to the registry and are referred to; those that differ between what may be sent and what is
 * answered (defaults) get the suffix `Input` in requests.
 */
function schemaOf(
  schema: z.ZodType,
  options: { readonly io: 'input' | 'output'; readonly registry: Map<string, unknown> },
): unknown {
  const { io, registry } = options;
  const suffix = io === 'input' ? 'Input' : '';
  const json = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    reused: 'inline',
    unrepresentable: 'any',
  }) as Record<string, unknown>;
  const { $schema: _dialect, $defs, ...own } = json;
  const rename = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rename);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) => {
        if (key.startsWith('x-kubernetes-')) return [];
        if (key === '$ref' && typeof inner === 'string') {
          return [
            [key, inner.replace(/^#\/\$defs\/(.*)$/, (_all, name: string) => `#/components/schemas/${name}${suffix}`)],
          ];
        }
        return [[key, rename(inner)]];
      }),
    );
  };
  for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, unknown>)) {
    registry.set(`${name}${suffix}`, rename(definition));
  }
  // A named type is itself a reference by now.
  return rename(own);
}
