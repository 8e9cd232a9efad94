import type { KubeClient } from '@coxswain/kube';
import type { Database, TenantDatabase } from '@coxswain/persistence';
import type { PlannerLanes } from '@coxswain/planner-process';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import { AuditModule } from './audit/audit.module.ts';
import { AuditResolvers } from './audit/audit.resolvers.ts';
import { AuthModule } from './auth/auth.module.ts';
import type { Denials } from './auth/denials.ts';
import { CheckpointsModule } from './checkpoints/checkpoints.module.ts';
import { AdoptionResolvers } from './checkpoints/adoption.resolvers.ts';
import { CheckpointsResolvers } from './checkpoints/checkpoints.resolvers.ts';
import { CodeModule } from './code/code.module.ts';
import type { Config } from './config/config.ts';
import { FabricModule } from './fabric/fabric.module.ts';
import { FabricResolvers } from './fabric/fabric.resolvers.ts';
import { GoodputModule } from './goodput/goodput.module.ts';
import { GoodputResolvers } from './goodput/goodput.resolvers.ts';
import { IncidentsModule } from './incidents/incidents.module.ts';
import { IncidentsResolvers } from './incidents/incidents.resolvers.ts';
import { GraphqlModule } from './graphql/graphql.module.ts';
import type { RootResolvers } from './graphql/root-resolvers.ts';
import { IdempotencyKeyGuard } from './http/idempotency-key.guard.ts';
import { HealthModule } from './health/health.module.ts';
import type { Readiness } from './health/readiness.ts';
import { DocumentModule } from './http/document.module.ts';
import { openApiDocument } from './http/openapi-document.ts';
import type { PageTokens } from './http/page-token.ts';
import { InfrastructureModule } from './infrastructure/infrastructure.module.ts';
import {
  API_DOCUMENT,
  CLOCK,
  CLUSTER,
  type Cluster,
  CONFIG,
  DENIALS,
  KUBE,
  FAN_OUT,
  LOGGER,
  METRICS,
  PAGE_TOKENS,
  PLANNER,
  QUEUE_RECORDS,
  READINESS,
  SIGN_IN_DATABASE,
  SIGN_IN_KEY,
  STOPPING,
  TENANT_DATABASE,
  type WallClock,
  WEBHOOK_KEY,
} from './infrastructure/tokens.ts';
import { JobRelationResolvers } from './jobs/job-relation.resolvers.ts';
import { JobResolvers } from './jobs/job.resolvers.ts';
import { JobsModule } from './jobs/jobs.module.ts';
import { LayoutResolvers } from './layouts/layout.resolvers.ts';
import { LayoutsModule } from './layouts/layouts.module.ts';
import { PlanResolvers } from './plans/plan.resolvers.ts';
import { PlansModule } from './plans/plans.module.ts';
import { ObservedJobsModule } from './observed/observed-jobs.module.ts';
import { QueueModule } from './queue/queue.module.ts';
import { QueueRecords } from './queue/queue-records.ts';
import { QueueResolvers } from './queue/queue.resolvers.ts';
import { RenderingResolvers } from './renderings/rendering.resolvers.ts';
import { RenderingsModule } from './renderings/renderings.module.ts';
import { ProjectResolvers } from './projects/project.resolvers.ts';
import { ProjectsModule } from './projects/projects.module.ts';
import { GroupRoleResolvers } from './sign-in/group-role.resolvers.ts';
import { SignInModule } from './sign-in/sign-in.module.ts';
import { LimitsModule } from './limits/limits.module.ts';
import type { JobFanOut } from './streams/job-fan-out.ts';
import type { LiveJobs } from './streams/live-jobs.ts';
import { StacksModule } from './stacks/stacks.module.ts';
import { StacksResolvers } from './stacks/stacks.resolvers.ts';
import { StreamsModule } from './streams/streams.module.ts';
import { WebhooksModule } from './webhooks/webhooks.module.ts';
import { WebhooksResolvers } from './webhooks/webhooks.resolvers.ts';

/** What exists before Nest does: connections, clock, secrets. */
export interface Infrastructure {
  readonly config: Config;
  /** Of what goes on by itself. No part that answers requests is given it. */
  readonly database: Database;
  readonly tenantDatabase: TenantDatabase;
  readonly cluster: Cluster;
  readonly kube: KubeClient;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: WallClock;
  readonly pageTokens: PageTokens;
  /** Seals what browsers bring back from the issuer. */
  readonly signInKey: Uint8Array;
  /** Seals the secrets that messages to endpoints are signed with. */
  readonly webhookKey: Uint8Array;
  readonly readiness: Readiness;
  readonly liveJobs: LiveJobs;
  readonly fanOut: JobFanOut;
  readonly stopping: AbortController;
  readonly denials: Denials;
  readonly planner: PlannerLanes;
}

/** Whatever has routes. A new feature is one more module here, and its resolvers below. */
const FEATURES: readonly Type[] = [
  ProjectsModule,
  SignInModule,
  JobsModule,
  CheckpointsModule,
  CodeModule,
  StreamsModule,
  LayoutsModule,
  PlansModule,
  RenderingsModule,
  FabricModule,
  GoodputModule,
  ObservedJobsModule,
  QueueModule,
  IncidentsModule,
  StacksModule,
  WebhooksModule,
  AuditModule,
  GraphqlModule,
  HealthModule,
  DocumentModule,
];

/** What each feature adds to GraphQL. */
export const FEATURE_RESOLVERS: readonly Type<RootResolvers>[] = [
  ProjectResolvers,
  GroupRoleResolvers,
  JobResolvers,
  JobRelationResolvers,
  CheckpointsResolvers,
  AdoptionResolvers,
  LayoutResolvers,
  PlanResolvers,
  RenderingResolvers,
  FabricResolvers,
  GoodputResolvers,
  QueueResolvers,
  IncidentsResolvers,
  StacksResolvers,
  WebhooksResolvers,
  AuditResolvers,
];

/** Every controller; the OpenAPI document and the test of authentication read this list. */
export const CONTROLLERS: readonly Type[] = FEATURES.flatMap(
  (feature) => Reflect.getMetadata(MODULE_METADATA.CONTROLLERS, feature) as Type[],
);

/** Root module of every process role. It binds the infrastructure that main.ts has built to the injection tokens. */
@Module({})
export class AppModule {
  static over(infrastructure: Infrastructure): DynamicModule {
    const values = [
      [CONFIG, infrastructure.config],
      [TENANT_DATABASE, infrastructure.tenantDatabase],
      [CLUSTER, infrastructure.cluster],
      [KUBE, infrastructure.kube],
      [LOGGER, infrastructure.logger],
      [METRICS, infrastructure.metrics],
      [CLOCK, infrastructure.clock],
      [PAGE_TOKENS, infrastructure.pageTokens],
      [SIGN_IN_DATABASE, infrastructure.database.shareOf('sign-in')],
      [QUEUE_RECORDS, new QueueRecords(infrastructure.database.shareOf('queue'), infrastructure.cluster)],
      [SIGN_IN_KEY, infrastructure.signInKey],
      [WEBHOOK_KEY, infrastructure.webhookKey],
      [READINESS, infrastructure.readiness],
      [FAN_OUT, infrastructure.fanOut],
      [STOPPING, infrastructure.stopping.signal],
      [DENIALS, infrastructure.denials],
      [PLANNER, infrastructure.planner],
      [API_DOCUMENT, openApiDocument(CONTROLLERS)],
    ] as const;
    return {
      module: AppModule,
      imports: [InfrastructureModule.over(values), LimitsModule, AuthModule, ...FEATURES],
      providers: [{ provide: APP_GUARD, useClass: IdempotencyKeyGuard }],
    };
  }
}
