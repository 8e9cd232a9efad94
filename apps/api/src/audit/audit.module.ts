import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller.ts';
import { AuditResolvers } from './audit.resolvers.ts';
import { AuditService } from './audit.service.ts';

/** What was done and what was refused, for administrators. */
@Module({
  controllers: [AuditController],
  providers: [AuditService, AuditResolvers],
  exports: [AuditResolvers],
})
export class AuditModule {}
