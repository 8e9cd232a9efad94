import { EventEmitter } from 'node:events';
import { createMetrics } from '@coxswain/telemetry';
import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { readConfig } from '../config/config.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { aMembership, aPrincipal } from '../testing/a-principal.ts';
import type { Principal } from './principal.ts';
import { AuthGuard, ownerOf } from './auth.guard.ts';
import type { Authenticator } from './authenticator.ts';

/** A project with room for one request at a time. */
function aGuard(principal: Principal = aPrincipal()): {
  ask: (answer: EventEmitter, socket?: object) => Promise<boolean>;
} {
  const config = readConfig({
    DATABASE_URL: 'postgresql://x@127.0.0.1/x',
    COXSWAIN_PROJECT_CONCURRENT_REQUESTS: '1',
  });
  const limits = new ProjectLimits(config, { now: () => new Date(0) }, createMetrics());
  const authenticator = { authenticate: () => Promise.resolve(principal) } as unknown as Authenticator;
  const guard = new AuthGuard(authenticator, new Reflector(), limits, config);
  const ask = (raw: EventEmitter, socket: object = {}): Promise<boolean> =>
    guard.canActivate({
      getHandler: () => ask,
      getClass: () => AuthGuard,
      switchToHttp: () => ({
        getRequest: () => ({ id: 'r', ip: '192.0.2.1', headers: {}, raw: { socket } }),
        getResponse: () => ({ raw }),
      }),
    } as unknown as ExecutionContext);
  return { ask };
}

describe('the place of a request among those at a time', () => {
  it.each(['finish', 'close'])('is free again after %s', async (event) => {
    const { ask } = aGuard();
    const first = new EventEmitter();
    await ask(first);
    await expect(ask(new EventEmitter())).rejects.toThrow('has 1 requests under way');
    first.emit(event);
    await expect(ask(new EventEmitter())).resolves.toBe(true);
  });

  it('is not taken by who went while the token was looked up', async () => {
    const { ask } = aGuard();
    await ask(Object.assign(new EventEmitter(), { destroyed: true }));
    await expect(ask(new EventEmitter())).resolves.toBe(true);
  });
});

describe('a connection', () => {
  it('is of the project of its principal, so that a project with many tokens has no more of them', async () => {
    const memberships = [aMembership({ id: 'a', name: 'a' })];
    const sockets = [{}, {}, {}];
    const principals = [
      aPrincipal({ id: 'one', memberships }),
      aPrincipal({ id: 'two', memberships }),
      aPrincipal({ id: 'three', memberships: [...memberships, aMembership({ id: 'b', name: 'b' })] }),
    ];
    for (const [index, principal] of principals.entries())
      await aGuard(principal).ask(new EventEmitter(), sockets[index]);
    expect(sockets.map((socket) => ownerOf(socket))).toEqual(['a', 'a', 'three']);
    expect(ownerOf({})).toBeUndefined();
  });
});
