import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { CheckpointCatalogueService } from './checkpoint-catalogue.service.ts';
import { CheckpointCommandsService } from './checkpoint-commands.service.ts';
import { CheckpointsController } from './checkpoints.controller.ts';
import { CheckpointsResolvers } from './checkpoints.resolvers.ts';
import { CheckpointsService } from './checkpoints.service.ts';
import { ProjectCheckpointsController } from './project-checkpoints.controller.ts';

/** Checkpoints that jobs saved. */
@Module({
  imports: [JobsModule],
  controllers: [CheckpointsController, ProjectCheckpointsController],
  providers: [CheckpointsService, CheckpointCatalogueService, CheckpointCommandsService, CheckpointsResolvers],
  exports: [CheckpointsResolvers],
})
export class CheckpointsModule {}
