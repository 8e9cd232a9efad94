import { Global, Module } from '@nestjs/common';
import { ProjectLimits } from './project-limits.ts';

/** What one project may use of the API. The guard of every route asks it, and whatever makes objects. */
@Global()
@Module({ providers: [ProjectLimits], exports: [ProjectLimits] })
export class LimitsModule {}
