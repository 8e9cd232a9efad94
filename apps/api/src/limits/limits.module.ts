import { Global, Module } from '@nestjs/common';
import { AnswerTurns } from './answer-turns.ts';
import { ProjectLimits } from './project-limits.ts';

/** What one project may use of the API. The guard of every route asks it, and whatever makes objects. */
@Global()
@Module({ providers: [ProjectLimits, AnswerTurns], exports: [ProjectLimits, AnswerTurns] })
export class LimitsModule {}
