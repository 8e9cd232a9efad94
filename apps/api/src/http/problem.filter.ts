import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { PoolBusyError } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LimitExceeded } from '../limits/limit-exceeded.ts';
import { toProblem } from './problem.ts';

/** Called with every failure, whatever the answer is. */
export type NoteFailure = (error: unknown, request: FastifyRequest) => void;

/** Answers every failure as problem+json (RFC 9457), logs our own once, and hands the dashboard to browsers that ask for one of its pages. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #logger: Logger;
  readonly #dashboard: string | undefined;
  readonly #note: NoteFailure;

  constructor(logger: Logger, dashboardDirectory: string | undefined, note: NoteFailure) {
    this.#logger = logger;
    this.#note = note;
    const index = dashboardDirectory === undefined ? undefined : join(dashboardDirectory, 'index.html');
    this.#dashboard = index !== undefined && existsSync(index) ? readFileSync(index, 'utf8') : undefined;
  }

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    this.#note(error, request);
    const path = request.url?.split('?')[0];
    const problem = toProblem(MOVED.test(path ?? '') ? plansMoved() : error, path);
    if (problem.status === 500) this.#logger.error({ requestId: request.id, err: safe(error) }, 'request failed');
    if (reply.raw.headersSent) {
      reply.raw.end();
      return;
    }
    if (problem.status === 404 && this.#dashboard !== undefined && isPage(request)) {
      void reply.status(200).type('text/html; charset=utf-8').send(this.#dashboard);
      return;
    }
    if (problem.status === 503 || problem.status === 429) {
      void reply.header('retry-after', String(retryAfterOf(error)));
    }
    if (problem.status === 401) void reply.header('www-authenticate', 'Bearer realm="coxswain"');
    sendProblem(reply, problem);
  }
}

/** Whole seconds. */
function retryAfterOf(error: unknown): number {
  return error instanceof LimitExceeded || error instanceof PoolBusyError ? error.retryAfterSeconds : 1;
}

/** Answers what the router finds wrong with an address, before there is a route with a filter. */
export function answerUnroutable(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  // No hook runs for what has no route.
  const headers = { 'cache-control': 'no-store', 'x-request-id': request.id };
  sendProblem(reply.headers(headers), toProblem(error, request.url.split('?')[0]));
}

function sendProblem(reply: FastifyReply, problem: Problem): void {
  void reply
    .status(problem.status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(JSON.stringify(problem));
}

/** Where plans were when they named no project; no route is there now. */
const MOVED = /^\/v1\/plans(\/|$)/;

function plansMoved(): DomainError {
  return new DomainError(
    'NOT_FOUND',
    'plans belong to projects: use /v1/projects/{project}/plans, and /v1/projects/-/plans for those of every project (administrators)',
  );
}

/** A browser that opens an address of the dashboard, as against a program that mistypes one of ours. */
function isPage(request: FastifyRequest): boolean {
  const wantsHtml = String(request.headers.accept ?? '').includes('text/html');
  return (
    request.method === 'GET' && wantsHtml && !/^\/(v1|graphql|assets|healthz|readyz|metrics|openapi)/.test(request.url)
  );
}

function safe(error: unknown): { readonly name: string; readonly message: string; readonly stack: string | undefined } {
  if (!(error instanceof Error)) return { name: typeof error, message: String(error), stack: undefined };
  return { name: error.name, message: error.message, stack: error.stack };
}
