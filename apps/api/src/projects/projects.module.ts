import { Module } from '@nestjs/common';
import { ApiTokensService } from './api-tokens.service.ts';
import { ProjectResolvers } from './project.resolvers.ts';
import { ProjectsController } from './projects.controller.ts';
import { ProjectsService } from './projects.service.ts';
import { WhoAmIController } from './whoami.controller.ts';

/** Projects, the namespaces they own, and their API tokens. */
@Module({
  controllers: [WhoAmIController, ProjectsController],
  providers: [ProjectsService, ApiTokensService, ProjectResolvers],
  exports: [ProjectResolvers],
})
export class ProjectsModule {}
