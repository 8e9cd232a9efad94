import type { KubeClient } from '@coxswain/kube';
import type { Database, TenantDatabase } from '@coxswain/persistence';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { Config } from '../config/config.ts';
import { Issuer } from '../identity/issuer.ts';
import { TokenReviews } from '../identity/token-reviews.ts';
import {
  CLOCK,
  CLUSTER,
  type Cluster,
  CONFIG,
  KUBE,
  LOGGER,
  METRICS,
  SIGN_IN_DATABASE,
  TENANT_DATABASE,
  type WallClock,
} from '../infrastructure/tokens.ts';
import { AuthGuard } from './auth.guard.ts';
import { Authenticator } from './authenticator.ts';
import { GroupReadings } from './group-readings.ts';
import { ServiceAccounts } from './service-accounts.ts';
import { TokenLookup } from './token-lookup.ts';

/** Who asks: the guard of every route, the authenticator for those who look again while an answer goes on, and the issuer of accounts, or null. */
@Module({
  providers: [
    {
      provide: TokenLookup,
      useFactory: (database: TenantDatabase, cluster: Cluster, { signIn }: Config) =>
        new TokenLookup(database, { clusterId: cluster.id, idleMinutes: signIn?.idleMinutes ?? 0 }),
      inject: [TENANT_DATABASE, CLUSTER, CONFIG],
    },
    {
      provide: Issuer,
      useFactory: ({ signIn }: Config, clock: WallClock) =>
        signIn === undefined ? null : new Issuer(signIn, () => clock.now().getTime()),
      inject: [CONFIG, CLOCK],
    },
    {
      provide: GroupReadings,
      useFactory: (database: Database, clock: WallClock, issuer: Issuer | null) =>
        issuer === null ? null : new GroupReadings(database, issuer, clock),
      inject: [SIGN_IN_DATABASE, CLOCK, Issuer],
    },
    {
      provide: ServiceAccounts,
      // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
      useFactory: (
        { serviceAccountAudience: audience }: Config,
        kube: KubeClient,
        metrics: Metrics,
        logger: Logger,
        clock: WallClock,
        database: TenantDatabase,
        { id: clusterId }: Cluster,
      ) => {
        if (audience === undefined) return null;
        const nowMs = (): number => clock.now().getTime();
        const reviews = new TokenReviews({ kube, audience, nowMs, metrics, logger });
        return new ServiceAccounts({ reviews, database, clusterId, nowMs });
      },
      inject: [CONFIG, KUBE, METRICS, LOGGER, CLOCK, TENANT_DATABASE, CLUSTER],
    },
    Authenticator,
    AuthGuard,
    { provide: APP_GUARD, useExisting: AuthGuard },
  ],
  exports: [Authenticator, AuthGuard, Issuer],
})
export class AuthModule {}
