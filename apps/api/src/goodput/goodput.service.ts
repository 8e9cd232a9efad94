import type { JobGoodput } from '@coxswain/api-types';
import { jobGoodput, recordedHistory } from '@coxswain/goodput';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { CLOCK, CLUSTER, type Cluster, type WallClock } from '../infrastructure/tokens.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { readRecordedJob } from './recorded-job.ts';
import { recommendedSaves } from './recommended-saves.ts';

/** Where the GPU-seconds of jobs went. The right to read a job includes it. */
@Injectable()
export class GoodputService {
  readonly #cluster: Cluster;
  readonly #jobs: JobsService;
  readonly #clock: WallClock;

  constructor(
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(JobsService) jobs: JobsService,
    @Inject(CLOCK) clock: WallClock,
  ) {
    this.#cluster = cluster;
    this.#jobs = jobs;
    this.#clock = clock;
  }

  async ofJob(principal: Principal, address: JobAddress): Promise<JobGoodput> {
    const now = this.#clock.now();
    const { job, attemptsLeftOut } = await this.#jobs.readingMany(principal, address, (sql, row) =>
      readRecordedJob(sql, { cluster: this.#cluster, row, now }),
    );
    return {
      ...jobGoodput(recordedHistory(job), attemptsLeftOut),
      recommendedSaves: recommendedSaves(job.attempts),
    };
  }
}
