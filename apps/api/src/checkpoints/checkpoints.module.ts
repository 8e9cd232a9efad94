import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { CheckpointsController } from './checkpoints.controller.ts';
import { CheckpointsResolvers } from './checkpoints.resolvers.ts';
import { CheckpointsService } from './checkpoints.service.ts';

/** Checkpoints that jobs saved. */
@Module({
  imports: [JobsModule],
  controllers: [CheckpointsController],
  providers: [CheckpointsService, CheckpointsResolvers],
  exports: [CheckpointsResolvers],
})
export class CheckpointsModule {}
