import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { RenderingResolvers } from './rendering.resolvers.ts';
import { RenderingsController } from './renderings.controller.ts';
import { RenderingsService } from './renderings.service.ts';

/** What is run: of jobs, and of layouts that somebody asks about. */
@Module({
  imports: [JobsModule],
  controllers: [RenderingsController],
  providers: [RenderingsService, RenderingResolvers],
  exports: [RenderingResolvers],
})
export class RenderingsModule {}
