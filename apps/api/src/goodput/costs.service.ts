import type { CostList, CostRow, PriceList } from '@coxswain/api-types';
import { DomainError, isDomainError } from '@coxswain/domain-error';
import {
  costCsv,
  costRows,
  type HeldJob,
  heldInMonth,
  jobGoodput,
  monthOf,
  type Period,
  recordedHistory,
} from '@coxswain/goodput';
import type { TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { ALL_PROJECTS, inScope, projectIdOf } from '../auth/project-scope.ts';
import type { Config } from '../config/config.ts';
import { PageTokens } from '../http/page-token.ts';
import {
  CLOCK,
  CLUSTER,
  type Cluster,
  CONFIG,
  PAGE_TOKENS,
  TENANT_DATABASE,
  type WallClock,
} from '../infrastructure/tokens.ts';
import { desiredLabels } from '../jobs/job-row.ts';
import { JobsService } from '../jobs/jobs.service.ts';
import type { CostFileQuery, CostQuery } from './cost-queries.ts';
import { readRecordedJob } from './recorded-job.ts';

/** Most jobs of a page: the whole history of each is read. */
const MOST_JOBS_OF_PAGE = 100;
/** Most jobs of a file. */
const MOST_JOBS_OF_FILE = 500;

interface FoundJob {
  readonly id: string;
  readonly created_at_text: string;
}

/** What the jobs of a project cost. The right to read a job includes it. */
@Injectable()
export class CostsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #jobs: JobsService;
  readonly #pageTokens: PageTokens;
  readonly #clock: WallClock;
  readonly #prices: PriceList | undefined;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(JobsService) jobs: JobsService,
    @Inject(PAGE_TOKENS) pageTokens: PageTokens,
    @Inject(CLOCK) clock: WallClock,
    @Inject(CONFIG) config: Pick<Config, 'prices'>,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#jobs = jobs;
    this.#pageTokens = pageTokens;
    this.#clock = clock;
    this.#prices = config.prices;
  }

  /** Rows of the jobs that held GPUs in the month; a page has fewer than were asked for if some held none. */
  async ofMonth(principal: Principal, project: string, query: CostQuery): Promise<CostList> {
    const { pageSize, pageToken } = query;
    const month = this.#monthOf(query);
    const tokenScope = `costs/${project}/${month}`;
    const after = pageToken === undefined ? undefined : this.#pageTokens.read(tokenScope, pageToken);
    const most = Math.min(pageSize, MOST_JOBS_OF_PAGE);
    const period = periodOf(month);
    const found = await this.#jobsOf(principal, project, { period, after, most: most + 1 });
    const prices = this.#requirePrices();
    const page = found.slice(0, most);
    const items = [...(await this.#rowsOf(principal, project, { page, period, prices }))];
    const last = page.at(-1);
    const list = { currency: prices.currency, items };
    if (found.length <= most || last === undefined) return list;
    return { ...list, nextPageToken: this.#pageTokens.write(tokenScope, { key: last.created_at_text, id: last.id }) };
  }

  /** All rows of the month. */
  async csvOfMonth(principal: Principal, project: string, query: CostFileQuery): Promise<string> {
    const month = this.#monthOf(query);
    const period = periodOf(month);
    const page = await this.#jobsOf(principal, project, { period, after: undefined, most: MOST_JOBS_OF_FILE + 1 });
    const prices = this.#requirePrices();
    if (page.length > MOST_JOBS_OF_FILE) {
      throw new DomainError(
        'CONFLICT',
        `the project has more than ${MOST_JOBS_OF_FILE} jobs in ${month}; use coxswain costs --csv, or the pages of GET /v1/projects/${project}/costs`,
      );
    }
    return `${costCsv(await this.#rowsOf(principal, project, { page, period, prices }))}\n`;
  }

  #monthOf({ month }: CostFileQuery): string {
    return month ?? this.#clock.now().toISOString().slice(0, 7);
  }

  /** After the rights: a caller who may not read the project learns nothing of the installation. */
  #requirePrices(): PriceList {
    if (this.#prices !== undefined) return this.#prices;
    throw new DomainError(
      'CONFLICT',
      'this installation has no price list; an administrator sets api.prices of the chart (COXSWAIN_PRICES)',
    );
  }

  /** Jobs that may have held GPUs within the period, deleted ones too: oldest first. */
  #jobsOf(
    principal: Principal,
    project: string,
    {
      period,
      after,
      most,
    }: {
      readonly period: Period;
      readonly after: { readonly key: string; readonly id: string } | undefined;
      readonly most: number;
    },
  ): Promise<readonly FoundJob[]> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'job.read', work: 'list' } as const;
    return inScope(this.#database, question, async (sql, scope) => {
      const { rows } = await sql.query<FoundJob>(JOBS_WITHIN, [
        this.#cluster.id,
        projectIdOf(scope),
        new Date(period.fromMs).toISOString(),
        new Date(period.toMs).toISOString(),
        after?.key ?? null,
        after?.id ?? null,
        most,
      ]);
      return rows;
    });
  }

  /** One job after the other, each in a turn of its own: other requests go on during a month of a large project. */
  async #rowsOf(
    principal: Principal,
    project: string,
    {
      page,
      period,
      prices,
    }: { readonly page: readonly FoundJob[]; readonly period: Period; readonly prices: PriceList },
  ): Promise<readonly CostRow[]> {
    const held: HeldJob[] = [];
    const month = new Date(period.fromMs).toISOString().slice(0, 7);
    for (const { id } of page) held.push(...(await this.#heldBy(principal, { project, jobId: id }, month)));
    return costRows(held, { prices, period });
  }

  /** Empty: the job held nothing then, or is gone meanwhile. */
  async #heldBy(
    principal: Principal,
    address: { readonly project: string; readonly jobId: string },
    month: string,
  ): Promise<readonly HeldJob[]> {
    const { cluster, now } = { cluster: this.#cluster, now: this.#clock.now() };
    return this.#jobs
      .readingMany(principal, address, async (sql, row) => {
        const { job, attemptsLeftOut } = await readRecordedJob(sql, { cluster, row, now });
        const held = heldInMonth(jobGoodput(recordedHistory(job), attemptsLeftOut).months ?? [], month);
        if (held === undefined) return [];
        const { id, name, namespace, owner } = row;
        const facts = { labels: desiredLabels(row), gpuType: row.status.plan?.gpuType, held };
        const project = row.project_name ?? ALL_PROJECTS;
        return [{ id, name, namespace, cluster: cluster.name, project, owner, ...facts }];
      })
      .catch((error: unknown) => {
        if (isDomainError(error, 'NOT_FOUND')) return [];
        throw error;
      });
  }
}

function periodOf(month: string): Period {
  const period = monthOf(month);
  if (period === undefined) throw new DomainError('INVALID_REQUEST', 'month must be such as 2030-01');
  return period;
}

const JOBS_WITHIN = `
  SELECT j.id, j.created_at::text AS created_at_text FROM jobs j
   WHERE j.cluster_id = $1 AND ($2::uuid IS NULL OR j.project_id = $2) AND j.uid IS NOT NULL
     AND j.created_at < $4::timestamptz AND (j.finished_at IS NULL OR j.finished_at >= $3::timestamptz)
     AND ($5::timestamptz IS NULL OR (j.created_at, j.id) > ($5::timestamptz, $6::uuid))
   ORDER BY j.created_at, j.id LIMIT $7`;
