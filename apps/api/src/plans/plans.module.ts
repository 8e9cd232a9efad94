import { Module } from '@nestjs/common';
import { PlanResolvers } from './plan.resolvers.ts';
import { PlansController } from './plans.controller.ts';
import { PlansService } from './plans.service.ts';
import { ProjectPlanner } from './project-planner.ts';

/** What if: plans that nobody runs, and how far predictions were from measurements. */
@Module({
  controllers: [PlansController],
  providers: [ProjectPlanner, PlansService, PlanResolvers],
  exports: [PlanResolvers, ProjectPlanner],
})
export class PlansModule {}
