import { Module } from '@nestjs/common';
import { ObservedJobsController } from './observed-jobs.controller.ts';
import { ObservedJobsService } from './observed-jobs.service.ts';

/** Jobs of other controllers that the operator observes. */
@Module({ controllers: [ObservedJobsController], providers: [ObservedJobsService] })
export class ObservedJobsModule {}
