import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Authenticator } from './authenticator.ts';
import type { Principal } from './principal.ts';

const PUBLIC = 'coxswain:public';

/** Marks a route that needs no token. Everything else does. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(PUBLIC, true);

const principals = new WeakMap<object, Principal>();

/** Authenticates every request that is not public. What the principal may do is decided in the services. */
@Injectable()
export class AuthGuard implements CanActivate {
  readonly #authenticator: Authenticator;
  readonly #reflector: Reflector;

  constructor(@Inject(Authenticator) authenticator: Authenticator, @Inject(Reflector) reflector: Reflector) {
    this.#authenticator = authenticator;
    this.#reflector = reflector;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.#reflector.getAllAndOverride<boolean>(PUBLIC, [context.getHandler(), context.getClass()]) === true)
      return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    principals.set(request, await this.#authenticator.authenticate(request.headers.authorization));
    return true;
  }
}

/** The principal that the guard found; using it on a public route is a mistake of ours. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Principal => {
  const principal = principals.get(context.switchToHttp().getRequest<object>());
  if (principal === undefined) throw new Error('@Caller() on a route without authentication');
  return principal;
});
