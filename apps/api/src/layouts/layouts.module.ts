import { Module } from '@nestjs/common';
import { LayoutResolvers } from './layout.resolvers.ts';
import { LayoutsController } from './layouts.controller.ts';
import { LayoutsService } from './layouts.service.ts';

/** Layouts that projects keep. */
@Module({
  controllers: [LayoutsController],
  providers: [LayoutsService, LayoutResolvers],
  exports: [LayoutResolvers],
})
export class LayoutsModule {}
