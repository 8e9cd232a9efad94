import { Module } from '@nestjs/common';
import { DocumentController } from './document.controller.ts';

/** What the API says of itself. */
@Module({ controllers: [DocumentController] })
export class DocumentModule {}
