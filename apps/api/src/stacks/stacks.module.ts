import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { StacksController } from './stacks.controller.ts';
import { StacksResolvers } from './stacks.resolvers.ts';
import { StacksService } from './stacks.service.ts';

/** Current stack traces of a job's ranks. */
@Module({
  imports: [JobsModule],
  controllers: [StacksController],
  providers: [StacksService, StacksResolvers],
  exports: [StacksResolvers],
})
export class StacksModule {}
