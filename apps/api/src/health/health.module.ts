import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.ts';

/** What Kubernetes and Prometheus ask. */
@Module({ controllers: [HealthController] })
export class HealthModule {}
