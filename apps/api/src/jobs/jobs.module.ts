import { Module } from '@nestjs/common';
import { JobHistoryController } from './job-history.controller.ts';
import { JobHistoryService } from './job-history.service.ts';
import { JobResolvers } from './job.resolvers.ts';
import { JobsController } from './jobs.controller.ts';
import { JobsService } from './jobs.service.ts';

/** Jobs: what people ask for, and what became of it. */
@Module({
  controllers: [JobsController, JobHistoryController],
  providers: [JobsService, JobHistoryService, JobResolvers],
  exports: [JobsService, JobHistoryService, JobResolvers],
})
export class JobsModule {}
