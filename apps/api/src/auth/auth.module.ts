import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthGuard } from './auth.guard.ts';
import { Authenticator } from './authenticator.ts';

/** Who asks: the guard of every route, and the authenticator for those who look again while an answer goes on. */
@Module({
  providers: [Authenticator, { provide: APP_GUARD, useClass: AuthGuard }],
  exports: [Authenticator],
})
export class AuthModule {}
