import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.ts';
import { CodeController } from './code.controller.ts';
import { CodeService } from './code.service.ts';

/** Archives of code that jobs run without an image of their own. */
@Module({ imports: [JobsModule], controllers: [CodeController], providers: [CodeService] })
export class CodeModule {}
