import { Module } from '@nestjs/common';
import { FabricModule } from '../fabric/fabric.module.ts';
import { PlansModule } from '../plans/plans.module.ts';
import { CheckCalls } from './check-calls.ts';
import { CheckPlan } from './check-plan.ts';
import { JobCheckService } from './job-check.service.ts';
import { JobHistoryController } from './job-history.controller.ts';
import { JobHistoryService } from './job-history.service.ts';
import { JobRelationResolvers } from './job-relation.resolvers.ts';
import { JobResolvers } from './job.resolvers.ts';
import { JobsController } from './jobs.controller.ts';
import { JobsService } from './jobs.service.ts';
import { RelatedRows } from './related-rows.ts';

/** Jobs: what people ask for, and what became of it. */
@Module({
  imports: [FabricModule, PlansModule],
  controllers: [JobsController, JobHistoryController],
  providers: [
    JobsService,
    CheckCalls,
    CheckPlan,
    JobCheckService,
    JobHistoryService,
    RelatedRows,
    JobResolvers,
    JobRelationResolvers,
  ],
  exports: [CheckCalls, JobsService, JobHistoryService, RelatedRows, JobResolvers, JobRelationResolvers],
})
export class JobsModule {}
