import type { KubeClient } from '@coxswain/kube';
import type { Database } from '@coxswain/persistence';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthGuard } from './auth/auth.guard.ts';
import { Authenticator } from './auth/authenticator.ts';
import { WhoAmIController } from './projects/whoami.controller.ts';
import type { Config } from './config/config.ts';
import { EventStreamService } from './streams/event-stream.service.ts';
import type { LiveJobs } from './streams/live-jobs.ts';
import type { OpenStreams } from './streams/open-streams.ts';
import { GraphqlEngine } from './graphql/graphql-engine.ts';
import { GraphqlController } from './graphql/graphql.controller.ts';
import { HealthController } from './health/health.controller.ts';
import type { Readiness } from './health/readiness.ts';
import type { PageTokens } from './http/page-token.ts';
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
  PLANNING,
  READINESS,
  type WallClock,
} from './infrastructure/tokens.ts';
import { JobHistoryController } from './jobs/job-history.controller.ts';
import { JobHistoryService } from './jobs/job-history.service.ts';
import { JobLogsService } from './streams/job-logs.service.ts';
import { JobStreamsController } from './streams/job-streams.controller.ts';
import { JobsController } from './jobs/jobs.controller.ts';
import { JobsService } from './jobs/jobs.service.ts';
import { LayoutsController } from './layouts/layouts.controller.ts';
import { LayoutsService } from './layouts/layouts.service.ts';
import { PlansController } from './plans/plans.controller.ts';
import { PlansService } from './plans/plans.service.ts';
import type { PlanningThread } from './plans/planning-thread.ts';
import { ApiTokensService } from './projects/api-tokens.service.ts';
import { ProjectsController } from './projects/projects.controller.ts';
import { ProjectsService } from './projects/projects.service.ts';

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
  readonly planning: PlanningThread;
}

/** Every controller; the OpenAPI document and the test of authentication read this list. */
export const CONTROLLERS: readonly Type[] = [
  WhoAmIController,
  ProjectsController,
  JobsController,
  JobHistoryController,
  JobStreamsController,
  LayoutsController,
  PlansController,
  GraphqlController,
  HealthController,
];

const SERVICES: readonly Type[] = [
  Authenticator,
  ProjectsService,
  ApiTokensService,
  JobsService,
  JobHistoryService,
  JobLogsService,
  EventStreamService,
  LayoutsService,
  PlansService,
  GraphqlEngine,
];

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
      [PLANNING, infrastructure.planning],
    ] as const;
    return {
      module: AppModule,
      controllers: [...CONTROLLERS],
      providers: [
        ...values.map(([provide, useValue]) => ({ provide, useValue })),
        ...SERVICES,
        { provide: APP_GUARD, useClass: AuthGuard },
      ],
    };
  }
}
