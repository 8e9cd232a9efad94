import { Module } from '@nestjs/common';
import { FabricModule } from '../fabric/fabric.module.ts';
import { GpuCountsService } from '../fabric/gpu-counts.service.ts';
import { SeenNodes } from '../fabric/seen-nodes.ts';
import { CLOCK, QUEUE_RECORDS, type WallClock } from '../infrastructure/tokens.ts';
import { JobsModule } from '../jobs/jobs.module.ts';
import { QueueController } from './queue.controller.ts';
import type { QueueRecords } from './queue-records.ts';
import { QueueResolvers } from './queue.resolvers.ts';
import { QueueService } from './queue.service.ts';
import { QueueSnapshots } from './queue-snapshots.ts';

/** Whose turn it is, and when jobs that wait are expected to start. */
@Module({
  imports: [FabricModule, JobsModule],
  controllers: [QueueController],
  providers: [
    {
      provide: QueueSnapshots,
      inject: [QUEUE_RECORDS, SeenNodes, GpuCountsService, CLOCK],
      useFactory: (records: QueueRecords, nodes: SeenNodes, counts: GpuCountsService, clock: WallClock) =>
        new QueueSnapshots({ records, nodes, counts, clock }),
    },
    QueueService,
    QueueResolvers,
  ],
  exports: [QueueResolvers],
})
export class QueueModule {}
