import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { StacksController } from './stacks.controller.ts';
import { StacksResolvers } from './stacks.resolvers.ts';
import { StacksService } from './stacks.service.ts';

/** In the middle of what the ranks of jobs are. */
@Module({
  imports: [JobsModule],
  controllers: [StacksController],
  providers: [StacksService, StacksResolvers],
  exports: [StacksResolvers],
})
export class StacksModule {}
