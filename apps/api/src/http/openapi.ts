import 'reflect-metadata';
import type { DomainErrorCode } from '@coxswain/domain-error';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { z } from 'zod';
import { type DescribedHeader, readBy } from './described-parameter.ts';

const ANSWERS = 'coxswain:answers';

/** One event of a stream of server-sent events. */
export interface StreamedEvent {
  readonly description: string;
  readonly schema: z.ZodType;
}

/** What a route answers. */
export interface Answer {
  readonly status: number;
  readonly summary: string;
  /** The `operationId` that clients know, if the handler has moved to another controller since. Absent: of controller and handler. */
  readonly operationId?: string;
  /** Absent: no JSON body. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
  /** A body of bytes, which the handler reads as a stream. Absent: JSON, if the handler has a body. */
  readonly body?: { readonly contentType: string; readonly description: string };
  /** Headers of this answer, beside those that every answer has. */
  readonly headers?: readonly DescribedHeader[];
  /** Headers that the handler reads from the request by itself. */
  readonly requestHeaders?: readonly DescribedHeader[];
  /** Ways in which this route refuses that do not follow from its parameters. */
  readonly refusals?: readonly DomainErrorCode[];
  /** Of an answer that goes on: its events by name. */
  readonly events?: Readonly<Record<string, StreamedEvent>>;
  /** Answers of other statuses that are no problem documents. */
  readonly others?: readonly OtherAnswer[];
}

/** An answer of another status, with a content of its own. */
export interface OtherAnswer {
  readonly status: number;
  readonly description: string;
  readonly contentType: string;
  /** Absent: text. */
  readonly schema?: z.ZodType;
}

/** Declares a route's answer for the OpenAPI document. A test refuses routes without it, and answers that it does not state. */
export function Answers(answer: Answer): MethodDecorator {
  return (_target, _key, descriptor) => {
    Reflect.defineMetadata(ANSWERS, answer, descriptor.value as object);
  };
}

/** A parameter of a path or a query. */
export interface DeclaredParameter {
  readonly in: 'path' | 'query';
  readonly name: string;
  readonly schema?: z.ZodType;
}

/** A route as its decorators declare it. */
export interface DeclaredRoute {
  readonly method: string;
  /** As OpenAPI writes it: `/v1/projects/{project}`. */
  readonly path: string;
  readonly name: string;
  readonly answer: Answer | undefined;
  readonly parameters: readonly DeclaredParameter[];
  readonly headers: readonly DescribedHeader[];
  /** Ways of refusing that its parameters bring. */
  readonly refusals: readonly DomainErrorCode[];
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

interface RouteArgument {
  readonly data?: unknown;
  readonly schema?: z.ZodType;
  readonly factory?: unknown;
}

function routeOf(controller: Type, name: string, handler: object): DeclaredRoute {
  const path = pathOf(controller, handler);
  const args = Object.entries(
    (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<string, RouteArgument>,
  );
  const argumentOf = (kind: number): RouteArgument | undefined => args.find(([key]) => key.startsWith(`${kind}:`))?.[1];
  const queryShape = argumentOf(QUERY)?.schema instanceof z.ZodObject ? argumentOf(QUERY)?.schema : undefined;
  const reads = args.flatMap(([, { factory }]) => readBy(factory) ?? []);
  const answer = Reflect.getMetadata(ANSWERS, handler) as Answer | undefined;
  return {
    method: RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number] ?? 'GET',
    path: path.replace(/:(\w+)/g, '{$1}'),
    name: answer?.operationId ?? `${controller.name.replace(/Controller$/, '')}_${name}`,
    answer,
    parameters: [
      ...[...path.matchAll(/:(\w+)/g)].map(([, parameter = '']) => ({ in: 'path' as const, name: parameter })),
      ...Object.entries((queryShape as z.ZodObject | undefined)?.shape ?? {}).map(([key, schema]) => ({
        in: 'query' as const,
        name: key,
        schema: schema as z.ZodType,
      })),
    ],
    headers: [...reads.flatMap(({ headers }) => headers), ...(answer?.requestHeaders ?? [])],
    refusals: reads.flatMap(({ refusals }) => refusals),
    body: argumentOf(BODY)?.schema,
  };
}

function pathOf(controller: Type, handler: object): string {
  const parts = [Reflect.getMetadata(PATH_METADATA, controller), Reflect.getMetadata(PATH_METADATA, handler)]
    .map((part: unknown) => String(part ?? '').replace(/^\/+|\/+$/g, ''))
    .filter((part) => part !== '');
  return `/${parts.join('/')}`;
}

/** RouteParamtypes of Nest, which Nest does not export. The metadata key of an argument begins with it. */
const BODY = 3;
const QUERY = 4;
