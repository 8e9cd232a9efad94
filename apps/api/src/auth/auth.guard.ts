import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.ts';
import { CONFIG } from '../infrastructure/tokens.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { claimRequest, resumeRequest } from '../limits/request-cpu.ts';
import { Authenticator } from './authenticator.ts';
import { credentialOf, requireOwnPage } from './credential.ts';
import type { Principal } from './principal.ts';
import { originOf } from './request-origin.ts';
import { isStopRoute } from './stops.ts';

const PUBLIC = 'coxswain:public';

/** Marks a route that needs no token. Everything else does. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(PUBLIC, true);

const GOES_ON = 'coxswain:goes-on';

/** Marks a route whose answer goes on for as long as somebody reads; it takes no place among the requests at a time. */
export const GoesOn = (): MethodDecorator & ClassDecorator => SetMetadata(GOES_ON, true);

const principals = new WeakMap<object, Principal>();
const owners = new WeakMap<object, string>();

/**
 * Authenticates every request that is not public, and limits the requests of each project. Services decide what the principal may do. A request with
 * a body was authenticated before its body was read (`enter`); the guard handles the others.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  readonly #authenticator: Authenticator;
  readonly #reflector: Reflector;
  readonly #limits: ProjectLimits;
  readonly #publicUrl: string | undefined;

  constructor(
    @Inject(Authenticator) authenticator: Authenticator,
    @Inject(Reflector) reflector: Reflector,
    @Inject(ProjectLimits) limits: ProjectLimits,
    @Inject(CONFIG) config: Pick<Config, 'signIn'>,
  ) {
    this.#publicUrl = config.signIn?.publicUrl;
    this.#authenticator = authenticator;
    this.#reflector = reflector;
    this.#limits = limits;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const marked = (mark: string): boolean =>
      this.#reflector.getAllAndOverride<boolean>(mark, [context.getHandler(), context.getClass()]) === true;
    if (marked(PUBLIC)) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (callerOf(request) !== undefined) return true;
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    await this.enter(request, reply, { goesOn: marked(GOES_ON) });
    return true;
  }

  /** Lets a request in, or throws why not. */
  async enter(request: FastifyRequest, reply: FastifyReply, { goesOn }: { readonly goesOn: boolean }): Promise<void> {
    const credential = credentialOf(request.headers);
    if (credential?.by === 'cookie') requireOwnPage(request, this.#publicUrl);
    const principal = await this.#authenticator.authenticate(credential);
    resumeRequest();
    principals.set(request, { ...principal, origin: originOf(request) });
    const project = projectNamedBy(request);
    owners.set(request.raw.socket, this.#limits.ownerOf(principal, project));
    claimRequest((ms) => this.#limits.chargeCpu(principal, project, ms));
    const leave = this.#limits.admit(principal, {
      goesOn,
      project,
      writes: mayChange(request) ? 1 : 0,
      isStop: isStopRoute(request.method, request.routeOptions?.url ?? ''),
    });
    const { raw } = reply;
    // Whether it was answered or the asker went.
    raw.once('finish', leave).once('close', leave);
    // Who went while the token was looked up says nothing more, and would keep his place for ever.
    if (raw.destroyed) leave();
  }
}

/** Whether the request may change something. A GraphQL request is a POST also if it only reads: the mutations in it are counted when it is known. */
function mayChange({ method, url }: FastifyRequest): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method) && !/^\/graphql\b/.test(url);
}

/** The project that the path of a request names, if it does. */
export function projectNamedBy({ params }: FastifyRequest): string | undefined {
  return ((params ?? {}) as { readonly project?: string }).project;
}

/** Who asks, once the guard has let the request in. */
export function callerOf(request: object): Principal | undefined {
  return principals.get(request);
}

/** Whose share that connection is of, by the request that was let in last on it: a project's, or that of a principal of several. */
export function ownerOf(connection: object): string | undefined {
  return owners.get(connection);
}

/** The principal that the guard found; using it on a public route is a mistake of ours. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Principal => {
  const principal = callerOf(context.switchToHttp().getRequest<object>());
  if (principal === undefined) throw new Error('@Caller() on a route without authentication');
  return principal;
});
