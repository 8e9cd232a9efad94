import type { Sql } from '@coxswain/persistence';
import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthGuard } from './auth.guard.ts';
import { DATABASE } from '../infrastructure/tokens.ts';
import { Authenticator } from './authenticator.ts';
import { TokenLookup } from './token-lookup.ts';

/** Who asks: the guard of every route, and the authenticator for those who look again while an answer goes on. */
@Module({
  providers: [
    { provide: TokenLookup, useFactory: (database: Sql) => new TokenLookup(database), inject: [DATABASE] },
    Authenticator,
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
  exports: [Authenticator],
})
export class AuthModule {}
