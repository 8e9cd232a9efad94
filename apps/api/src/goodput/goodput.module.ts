import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { GoodputController } from './goodput.controller.ts';
import { GoodputResolvers } from './goodput.resolvers.ts';
import { GoodputService } from './goodput.service.ts';

/** Where the GPU-seconds of jobs went. */
@Module({
  imports: [JobsModule],
  controllers: [GoodputController],
  providers: [GoodputService, GoodputResolvers],
  exports: [GoodputResolvers],
})
export class GoodputModule {}
