import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import helmet from '@fastify/helmet';
import fastifyStatic from '@fastify/static';
import { CODE_MEDIA_TYPE } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { Logger, Metrics } from '@coxswain/telemetry';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { AppModule, FEATURE_RESOLVERS, type Infrastructure } from './app.module.ts';
import { AuthGuard, callerOf, ownerOf } from './auth/auth.guard.ts';
import { originOf } from './auth/request-origin.ts';
import { GraphqlEngine } from './graphql/graphql-engine.ts';
import type { RootResolvers } from './graphql/root-resolvers.ts';
import { readBodiesOfGuests } from './http/guest-bodies.ts';
import { cacheControlOfFile, controlCaching } from './http/caching.ts';
import { boundConnections } from './http/connections.ts';
import { MAX_BODY_BYTES, parseJsonBody } from './http/json-body.ts';
import { answerUnroutable, type NoteFailure, ProblemFilter } from './http/problem.filter.ts';
import { serveReference } from './http/reference-page.ts';
import { cpuOf, meterRequests } from './http/request-metering.ts';
import { cutSlowReaders, UNREAD_MS } from './http/slow-readers.ts';
import { shareOwnerOf } from './http/share-owner.ts';
import { answerUnreadable } from './http/unreadable-requests.ts';
import { boundUnsentAnswers, UNSENT_BYTES, UnsentAnswers } from './http/unsent-answers.ts';
import { validationPipe } from './http/validation.ts';
import { ProjectLimits } from './limits/project-limits.ts';

/** A route as the router has it; `path` as the OpenAPI document writes it. */
export interface ServedRoute {
  readonly method: string;
  readonly path: string;
}

/** The HTTP side of a process. */
export interface HttpServer {
  readonly app: NestFastifyApplication;
  /** Every route that is registered, HEAD beside GET included; complete once the server listens. */
  readonly routes: readonly ServedRoute[];
}

/** Builds the HTTP side: routes, limits, headers, problem documents, dashboard. It does not listen yet. */
export async function createHttpServer(infrastructure: Infrastructure): Promise<HttpServer> {
  const { config, logger, metrics, denials } = infrastructure;
  const dashboard = dashboardDirectory(config.dashboardDirectory);
  const adapter = new FastifyAdapter({
    bodyLimit: MAX_BODY_BYTES,
    connectionTimeout: 0,
    requestTimeout: 30_000,
    keepAliveTimeout: 15_000,
    forceCloseConnections: true,
    genReqId: () => randomUUID(),
    trustProxy: config.trustedProxies.length === 0 ? false : [...config.trustedProxies],
    frameworkErrors: answerUnroutable,
    clientErrorHandler: answerUnreadable,
    routerOptions: { maxParamLength: 300, ignoreTrailingSlash: true },
  });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.over(infrastructure), adapter, {
    logger: nestLogger(logger),
    bodyParser: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
  fastify.server.headersTimeout = 10_000;
  boundConnections(fastify.server, { most: config.maxConnections, ownerOf, metrics });
  const routes = recordRoutes(fastify);
  meterRequests(fastify, app.get(ProjectLimits));
  nameRequests(fastify);
  acceptJson(fastify);
  acceptArchives(fastify);
  await fastify.register(helmet, { contentSecurityPolicy: { directives: CONTENT_SECURITY_POLICY }, hsts: false });
  const guard = app.get(AuthGuard);
  readBodiesOfGuests(fastify, {
    enter: (request, reply) => guard.enter(request, reply, { goesOn: false }),
    limits: app.get(ProjectLimits),
    roomBytes: config.replicaLimits.bodiesMib * 1_048_576,
  });
  const resolvers = FEATURE_RESOLVERS.map((feature) => app.get<RootResolvers>(feature));
  app.get(GraphqlEngine).start(resolvers);
  measureRequests(fastify, metrics);
  controlCaching(fastify);
  cutSlowReaders(fastify, { unreadMs: UNREAD_MS });
  measureUnsentAnswers(fastify, { metrics, limits: app.get(ProjectLimits) });
  serveReference(fastify);
  if (dashboard !== undefined) {
    await fastify.register(fastifyStatic, {
      root: dashboard,
      wildcard: false,
      index: ['index.html'],
      cacheControl: false,
      setHeaders: (reply, path) => void reply.header('cache-control', cacheControlOfFile(path)),
    });
  }
  app.useGlobalPipes(validationPipe());
  const note: NoteFailure = (error, request) =>
    denials.note(error, {
      principal: callerOf(request),
      origin: originOf(request),
      object: request.url.split('?')[0] ?? '',
    });
  app.useGlobalFilters(new ProblemFilter(logger, dashboard, note));
  return { app, routes };
}

function recordRoutes(fastify: FastifyInstance): readonly ServedRoute[] {
  const routes: ServedRoute[] = [];
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one, path: url.replace(/:(\w+)/g, '{$1}') });
  });
  return routes;
}

/** An answer says the id under which its request is recorded: in the audit, and in the log where it failed. */
function nameRequests(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    done();
  });
}

/** Scripts and styles come from the dashboard's own files; React sets inline styles. */
const CONTENT_SECURITY_POLICY = {
  defaultSrc: ["'self'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  connectSrc: ["'self'"],
  objectSrc: ["'none'"],
  frameAncestors: ["'none'"],
  baseUri: ["'self'"],
  formAction: ["'self'"],
  // The API is also served over plain HTTP on loopback, where an upgrade would break the page.
  upgradeInsecureRequests: null,
};

const CODE_ROUTE = '/v1/projects/:project/code/:sha256';
/** What an upload takes, whatever its length: two parts. */
const UPLOAD_MEMORY_BYTES = 10 << 20;

/** JSON is the only body there is, beside archives of code; another content type is refused with 415 by Fastify itself. */
function acceptJson(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: MAX_BODY_BYTES },
    (request, text, done) => {
      cpuOf(request)?.resume();
      try {
        done(null, parseJsonBody(text as string));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

/** Bodies of one route are read as a stream, so that a large one takes no more memory than the parts in which it goes on. */
function acceptArchives(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', (route) => {
    if (route.url === CODE_ROUTE) route.bodyLimit = UPLOAD_MEMORY_BYTES;
  });
  fastify.addContentTypeParser(CODE_MEDIA_TYPE, (request, payload, done) => {
    if (request.routeOptions.url === CODE_ROUTE) done(null, payload);
    else
      done(new DomainError('INVALID_REQUEST', `the body of this address is application/json, not ${CODE_MEDIA_TYPE}`));
  });
}

function measureUnsentAnswers(
  fastify: FastifyInstance,
  { metrics, limits }: { readonly metrics: Metrics; readonly limits: ProjectLimits },
): void {
  const unsent = new UnsentAnswers(UNSENT_BYTES);
  metrics.gauge({
    name: 'coxswain_api_unsent_answer_bytes',
    help: 'Bytes of answers that wait for their readers.',
    collect: () => unsent.bytes,
  });
  boundUnsentAnswers(fastify, { ownerOf: (request) => shareOwnerOf(request, limits), unsent });
}

function measureRequests(fastify: FastifyInstance, metrics: Metrics): void {
  const seconds = metrics.histogram({
    name: 'coxswain_api_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    seconds.observe({ method: request.method, route, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
    done();
  });
}

/** Where the built dashboard is: as configured, or in the workspace beside this program; undefined when it was not built. */
function dashboardDirectory(configured: string | undefined): string | undefined {
  const directory = configured ?? resolve(import.meta.dirname, '../../dashboard/dist');
  return existsSync(resolve(directory, 'index.html')) ? directory : undefined;
}

function nestLogger(logger: Logger): LoggerService {
  const context = (rest: readonly unknown[]): { readonly context: unknown } => ({ context: rest.at(-1) });
  return {
    log: (message: unknown, ...rest: unknown[]) => logger.debug(context(rest), String(message)),
    warn: (message: unknown, ...rest: unknown[]) => logger.warn(context(rest), String(message)),
    error: (message: unknown, ...rest: unknown[]) => logger.error(context(rest), String(message)),
    debug: () => undefined,
    verbose: () => undefined,
  };
}
