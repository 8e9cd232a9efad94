import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { IncidentsController } from './incidents.controller.ts';
import { IncidentsResolvers } from './incidents.resolvers.ts';
import { IncidentsService } from './incidents.service.ts';

/** What went wrong with jobs, what was done about it, and what came of it. */
@Module({
  imports: [JobsModule],
  controllers: [IncidentsController],
  providers: [IncidentsService, IncidentsResolvers],
  exports: [IncidentsResolvers],
})
export class IncidentsModule {}
