import {
  effectiveSpec,
  type EngineList,
  type EngineRendering,
  isPlanOf,
  type JobRendering,
  type RenderingRequest,
  specOfEpoch,
  TrainingJobSpec,
} from '@coxswain/api-types';
import {
  answeredRendering,
  renderRequest,
  contextOfPlacement,
  engineList,
  judgedRendering,
  refusedRendering,
} from '@coxswain/engines';
import type { Sql, TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { inScope } from '../auth/project-scope.ts';
import { CLUSTER, type Cluster, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { desiredSpec, type JobRow } from '../jobs/job-row.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { recordedPlacement } from '../jobs/recorded-placement.ts';

/** What is run for a job or a layout. Computed when it is asked for, in milliseconds, and kept nowhere. */
@Injectable()
export class RenderingsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #jobs: JobsService;

  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(JobsService) jobs: JobsService,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#jobs = jobs;
  }

  engines(): EngineList {
    return engineList();
  }

  /** Needs the right to read layouts of the project. */
  async ask(principal: Principal, project: string, request: RenderingRequest): Promise<EngineRendering> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'layout.read' } as const;
    await inScope(this.#database, question, () => Promise.resolve());
    return renderRequest(request);
  }

  /** What its ranks run, or ran last; before they are placed, and while it holds, what would be started. */
  ofJob(principal: Principal, address: JobAddress): Promise<JobRendering> {
    return this.#jobs.reading(principal, address, (sql, row) => this.#ofRow(sql, row));
  }

  async #ofRow(sql: Sql, row: JobRow): Promise<JobRendering> {
    const parsed = TrainingJobSpec.safeParse(desiredSpec(row));
    if (!parsed.success) return unreadable(row, parsed.error.issues[0]?.message ?? '');
    const spec = parsed.data;
    const recorded = row.uid === null ? undefined : await recordedPlacement(sql, this.#cluster, row);
    if (recorded !== undefined && (recorded.attempt.stage !== 'Ended' || row.finished_at !== null)) {
      const { spec: placement } = recorded;
      const { epoch, layout } = placement;
      return { ...answeredRendering(specOfEpoch(spec, placement), contextOfPlacement(placement)), epoch, layout };
    }
    const { plan } = row.status;
    const whole = effectiveSpec(spec, plan);
    if (whole !== undefined) return { ...judgedRendering(whole), epoch: null, layout: whole.layout };
    const refusal = plan !== undefined && isPlanOf(plan, spec) ? plan.refusal : undefined;
    return { ...notPlanned(spec, refusal), epoch: null, layout: null };
  }
}

function notPlanned({ engine, gpus }: TrainingJobSpec, refusal: string | undefined): EngineRendering {
  return refusedRendering(engine.name, {
    rule: 'layout-is-chosen',
    field: 'layout',
    why: refusal ?? `the planner has not chosen a layout for ${gpus ?? 0} GPUs yet`,
    fallback:
      refusal === undefined ? 'ask again in a while, or give a layout' : 'change what it names, or give a layout',
  });
}

/** What an earlier version took and this one does not. */
function unreadable(row: JobRow, why: string): JobRendering {
  const { name } = row.spec.engine;
  const fallback = 'make another job with what it names changed';
  return {
    ...refusedRendering(name, { rule: 'job-is-valid', field: 'spec', why, fallback }),
    epoch: null,
    layout: null,
  };
}
