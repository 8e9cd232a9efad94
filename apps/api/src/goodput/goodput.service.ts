import type { JobGoodput, PriceList } from '@coxswain/api-types';
import { costSoFar, jobGoodput, recordedHistory } from '@coxswain/goodput';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import type { Config } from '../config/config.ts';
import { CLOCK, CLUSTER, type Cluster, CONFIG, type WallClock } from '../infrastructure/tokens.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { readRecordedJob } from './recorded-job.ts';
import { recommendedSaves } from './recommended-saves.ts';

/** Where the GPU-seconds of jobs went. The right to read a job includes it. */
@Injectable()
export class GoodputService {
  readonly #cluster: Cluster;
  readonly #jobs: JobsService;
  readonly #clock: WallClock;
  readonly #prices: PriceList | undefined;

  constructor(
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(JobsService) jobs: JobsService,
    @Inject(CLOCK) clock: WallClock,
    @Inject(CONFIG) config: Config,
  ) {
    this.#cluster = cluster;
    this.#jobs = jobs;
    this.#clock = clock;
    this.#prices = config.prices;
  }

  async ofJob(principal: Principal, address: JobAddress): Promise<JobGoodput> {
    const now = this.#clock.now();
    const { job, attemptsLeftOut, gpuType } = await this.#jobs.readingMany(principal, address, async (sql, row) => ({
      ...(await readRecordedJob(sql, { cluster: this.#cluster, row, now })),
      gpuType: row.status.plan?.gpuType,
    }));
    const goodput = jobGoodput(recordedHistory(job), attemptsLeftOut);
    const prices = this.#prices;
    return {
      ...goodput,
      cost: prices === undefined ? null : costSoFar(goodput, { gpuType, prices }),
      recommendedSaves: recommendedSaves(job.attempts),
    };
  }
}
