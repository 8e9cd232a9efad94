import { type KubeClient, systemClock } from '@coxswain/kube';
import { Module } from '@nestjs/common';
import { KUBE, STOPPING } from '../infrastructure/tokens.ts';
import { FabricController } from './fabric.controller.ts';
import { FabricHistoryService } from './fabric-history.service.ts';
import { FabricResolvers } from './fabric.resolvers.ts';
import { FabricService } from './fabric.service.ts';
import { GpuCountsController } from './gpu-counts.controller.ts';
import { GpuCountsService } from './gpu-counts.service.ts';
import { SeenNodes } from './seen-nodes.ts';
import { SeenPods } from './seen-pods.ts';

/** The network of the cluster, and who holds its GPUs. */
@Module({
  controllers: [FabricController, GpuCountsController],
  providers: [
    {
      provide: SeenNodes,
      inject: [KUBE, STOPPING],
      useFactory: (kube: KubeClient, stopping: AbortSignal) => new SeenNodes({ kube, stopping }),
    },
    {
      provide: SeenPods,
      inject: [KUBE],
      useFactory: (kube: KubeClient) => new SeenPods({ kube, clock: systemClock }),
    },
    FabricService,
    GpuCountsService,
    FabricHistoryService,
    FabricResolvers,
  ],
  exports: [SeenNodes, FabricResolvers, GpuCountsService],
})
export class FabricModule {}
