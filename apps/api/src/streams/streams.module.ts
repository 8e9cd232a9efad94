import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.ts';
import { JobsModule } from '../jobs/jobs.module.ts';
import { EventStreamService } from './event-stream.service.ts';
import { KeptLogsService } from './kept-logs.service.ts';
import { JobLogsService } from './job-logs.service.ts';
import { JobStreamsController } from './job-streams.controller.ts';

/** Answers that go on for as long as somebody reads: a job's events and logs. */
@Module({
  imports: [AuthModule, JobsModule],
  controllers: [JobStreamsController],
  providers: [EventStreamService, JobLogsService, KeptLogsService],
})
export class StreamsModule {}
