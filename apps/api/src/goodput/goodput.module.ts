import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { CostsController } from './costs.controller.ts';
import { CostsService } from './costs.service.ts';
import { GoodputController } from './goodput.controller.ts';
import { GoodputResolvers } from './goodput.resolvers.ts';
import { GoodputService } from './goodput.service.ts';

/** Where the GPU-seconds of jobs went, and what they cost. */
@Module({
  imports: [JobsModule],
  controllers: [GoodputController, CostsController],
  providers: [GoodputService, CostsService, GoodputResolvers],
  exports: [GoodputResolvers],
})
export class GoodputModule {}
