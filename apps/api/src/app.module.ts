import type { KubeClient } from '@coxswain/kube';
import type { Database } from '@coxswain/persistence';
import type { PlannerThread } from '@coxswain/planner-thread';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import { AuthModule } from './auth/auth.module.ts';
import type { Config } from './config/config.ts';
import { GraphqlModule } from './graphql/graphql.module.ts';
import type { RootResolvers } from './graphql/root-resolvers.ts';
import { HealthModule } from './health/health.module.ts';
import type { Readiness } from './health/readiness.ts';
import type { PageTokens } from './http/page-token.ts';
import { InfrastructureModule } from './infrastructure/infrastructure.module.ts';
import {
  CLOCK,
  CLUSTER,
  type Cluster,
  CONFIG,
  DATABASE,
  KUBE,
  LIVE_JOBS,
  LOGGER,
  METRICS,
  OPEN_STREAMS,
  PAGE_TOKENS,
  PLANNER,
  READINESS,
  type WallClock,
} from './infrastructure/tokens.ts';
import { JobResolvers } from './jobs/job.resolvers.ts';
import { JobsModule } from './jobs/jobs.module.ts';
import { LayoutResolvers } from './layouts/layout.resolvers.ts';
import { LayoutsModule } from './layouts/layouts.module.ts';
import { PlanResolvers } from './plans/plan.resolvers.ts';
import { PlansModule } from './plans/plans.module.ts';
import { ProjectResolvers } from './projects/project.resolvers.ts';
import { ProjectsModule } from './projects/projects.module.ts';
import { LimitsModule } from './limits/limits.module.ts';
import type { LiveJobs } from './streams/live-jobs.ts';
import type { OpenStreams } from './streams/open-streams.ts';
import { StreamsModule } from './streams/streams.module.ts';

/** What exists before Nest does: connections, clock, secrets. */
export interface Infrastructure {
  readonly config: Config;
  readonly database: Database;
  readonly cluster: Cluster;
  readonly kube: KubeClient;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: WallClock;
  readonly pageTokens: PageTokens;
  readonly readiness: Readiness;
  readonly liveJobs: LiveJobs;
  readonly openStreams: OpenStreams;
  readonly planner: PlannerThread;
}

/** Whatever has routes. A new feature is one more module here, and its resolvers below. */
const FEATURES: readonly Type[] = [
  ProjectsModule,
  JobsModule,
  StreamsModule,
  LayoutsModule,
  PlansModule,
  GraphqlModule,
  HealthModule,
];

/** What each feature adds to GraphQL. */
export const FEATURE_RESOLVERS: readonly Type<RootResolvers>[] = [
  ProjectResolvers,
  JobResolvers,
  LayoutResolvers,
  PlanResolvers,
];

/** Every controller; the OpenAPI document and the test of authentication read this list. */
export const CONTROLLERS: readonly Type[] = FEATURES.flatMap(
  (feature) => Reflect.getMetadata(MODULE_METADATA.CONTROLLERS, feature) as Type[],
);

@Module({})
export class AppModule {
  static over(infrastructure: Infrastructure): DynamicModule {
    const values = [
      [CONFIG, infrastructure.config],
      [DATABASE, infrastructure.database],
      [CLUSTER, infrastructure.cluster],
      [KUBE, infrastructure.kube],
      [LOGGER, infrastructure.logger],
      [METRICS, infrastructure.metrics],
      [CLOCK, infrastructure.clock],
      [PAGE_TOKENS, infrastructure.pageTokens],
      [READINESS, infrastructure.readiness],
      [LIVE_JOBS, infrastructure.liveJobs],
      [OPEN_STREAMS, infrastructure.openStreams],
      [PLANNER, infrastructure.planner],
    ] as const;
    return { module: AppModule, imports: [InfrastructureModule.over(values), LimitsModule, AuthModule, ...FEATURES] };
  }
}
