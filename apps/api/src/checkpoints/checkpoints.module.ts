import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { CheckpointCatalogueService } from './checkpoint-catalogue.service.ts';
import { CheckpointCommandsService } from './checkpoint-commands.service.ts';
import { AdoptionController } from './adoption.controller.ts';
import { AdoptionResolvers } from './adoption.resolvers.ts';
import { AdoptionService } from './adoption.service.ts';
import { CheckpointsController } from './checkpoints.controller.ts';
import { CheckpointsResolvers } from './checkpoints.resolvers.ts';
import { CheckpointsService } from './checkpoints.service.ts';
import { ProjectCheckpointsController } from './project-checkpoints.controller.ts';

/** Checkpoints that jobs saved. */
@Module({
  imports: [JobsModule],
  controllers: [CheckpointsController, ProjectCheckpointsController, AdoptionController],
  providers: [
    CheckpointsService,
    CheckpointCatalogueService,
    CheckpointCommandsService,
    CheckpointsResolvers,
    AdoptionService,
    AdoptionResolvers,
  ],
  exports: [CheckpointsResolvers, AdoptionResolvers],
})
export class CheckpointsModule {}
