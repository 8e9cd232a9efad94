import {
  ANNOTATIONS,
  type Checkpoint,
  type CheckpointPin,
  type CheckpointRecord,
  type CheckpointVerify,
  type CheckpointVerifyRequest,
  isAdopted,
  type VerificationLevel,
} from '@coxswain/api-types';
import { describeVerificationRequest, isAsClose, pendingVerification } from '@coxswain/checkpoint';
import { DomainError } from '@coxswain/domain-error';
import { type CallOptions, isConflict, isNotFound, isRefusal, type KubeClient, type KubeObject } from '@coxswain/kube';
import type { Sql, TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { recordAudit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import { inScope, projectIdOf, type ScopeQuestion } from '../auth/project-scope.ts';
import { requireAction } from '../auth/roles.ts';
import { checkpointPath, sentenceOf } from '../cluster/resources.ts';
import { CLOCK, CLUSTER, type Cluster, KUBE, TENANT_DATABASE, type WallClock } from '../infrastructure/tokens.ts';
import { CheckCalls } from '../jobs/check-calls.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { type CheckpointAddress, findCheckpoint } from './checkpoint-catalogue.service.ts';
import type { CatalogueRow } from './checkpoint-queries.ts';
import { toCheckpointRecord } from './checkpoint-record.ts';

type Annotations = Readonly<Record<string, string | null>>;
type CheckpointObject = Checkpoint & KubeObject;

/** One request about one checkpoint. */
interface Command {
  readonly action: 'checkpoint.verify' | 'checkpoint.pin' | 'checkpoint.unpin' | 'checkpoint.forget';
  readonly participle: string;
  /** Annotations to set (null: to remove) as the object stands; undefined: it is so already. */
  readonly decide: (present: CheckpointObject) => Annotations | undefined;
}

type Named = Pick<Command, 'action' | 'participle'>;
const FORGET: Named = { action: 'checkpoint.forget', participle: 'forgotten' };
/** Jobs that a refusal names. */
const MAX_NAMED_JOBS = 4;

/** Users' wishes about a checkpoint: annotations on its object, written at once, so that the answer says whether the cluster took them. */
@Injectable()
export class CheckpointCommandsService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #kube: Pick<KubeClient, 'get' | 'patch' | 'delete'>;
  readonly #limits: Pick<ProjectLimits, 'chargeChange'>;
  readonly #calls: CheckCalls;
  readonly #clock: WallClock;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(ProjectLimits) limits: ProjectLimits,
    @Inject(CheckCalls) calls: CheckCalls,
    @Inject(CLOCK) clock: WallClock,
  ) {
    this.#database = database;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#limits = limits;
    this.#calls = calls;
    this.#clock = clock;
  }

  /**
   * Asks for a verification. While one that is at least as close is awaited, asking again changes nothing. The status keeps the closest verification, so one
   * that is less close than that would never be seen: the level of the request is raised to it.
   */
  async verify(
    principal: Principal,
    address: CheckpointAddress,
    { level }: CheckpointVerify,
  ): Promise<CheckpointVerifyRequest> {
    const since = this.#clock.now().toISOString();
    const { row, object } = await this.#command(principal, address, {
      action: 'checkpoint.verify',
      participle: 'verified',
      decide: (present) => {
        const pending = pendingVerification(present);
        if (pending !== undefined && isAsClose(pending.level, level)) return undefined;
        return { [ANNOTATIONS.verify]: describeVerificationRequest({ level: levelFor(present, level), since }) };
      },
    });
    const request = pendingVerification(object) ?? { level, since };
    return { level: request.level, requestedAt: request.since ?? null, checkpoint: recordOf(row, object) };
  }

  /** Keeps it from retention. A pinned one gets the new reason. */
  async pin(principal: Principal, address: CheckpointAddress, { reason }: CheckpointPin): Promise<CheckpointRecord> {
    const { row, object } = await this.#command(principal, address, {
      action: 'checkpoint.pin',
      participle: 'pinned',
      decide: (present) => (annotation(present) === reason ? undefined : { [ANNOTATIONS.pin]: reason }),
    });
    return recordOf(row, object);
  }

  /** Lets retention have it again. */
  async unpin(principal: Principal, address: CheckpointAddress): Promise<CheckpointRecord> {
    const { row, object } = await this.#command(principal, address, {
      action: 'checkpoint.unpin',
      participle: 'unpinned',
      decide: (present) => (annotation(present) === undefined ? undefined : { [ANNOTATIONS.pin]: null }),
    });
    return recordOf(row, object);
  }

  /** Deletes the object of an adopted checkpoint. Its files stay. The admission policy lets the API delete no other. */
  async forget(principal: Principal, address: CheckpointAddress): Promise<void> {
    this.#limits.chargeChange(principal, address.project);
    const row = await this.#changeable(principal, address, FORGET);
    await this.#requireForgettable(principal, address, row);
    await this.#record(principal, address, { row, action: FORGET.action });
    await this.#calls
      .ask(principal, address.project, (call) => this.#kube.delete(checkpointPath(row), { ...call, uid: row.uid }))
      .catch((error: unknown) => {
        throw refusalOf(error, row, FORGET);
      });
  }

  async #requireForgettable(principal: Principal, address: CheckpointAddress, row: CatalogueRow): Promise<void> {
    const { name, spec } = row;
    if (!isAdopted({ spec }) || spec.convertedFrom !== undefined)
      throw new DomainError(
        'CONFLICT',
        `Checkpoint ${name} was not adopted: Coxswain wrote its files, and forgetting it would leave them without a record; a retention policy deletes both`,
      );
    const jobs = await inScope(this.#database, this.#question(principal, address), (sql) => this.#users(sql, row));
    if (jobs.length > 0)
      throw new DomainError(
        'CONFLICT',
        `Checkpoint ${name} is in use: spec.resumeFrom of ${jobs.join(', ')} names it; wait for the end of the job, or cancel it`,
      );
  }

  /** Names of jobs that have not ended and are to resume from it. A job of the cluster names only checkpoints of its namespace. */
  async #users(sql: Sql, { namespace, name }: CatalogueRow): Promise<readonly string[]> {
    const found = await sql.query<{ name: string }>(
      `SELECT name FROM jobs
        WHERE cluster_id = $1 AND namespace = $2 AND deleted_at IS NULL AND finished_at IS NULL
          AND (spec->'resumeFrom'->>'from' = $3 OR desired_resume_from->>'from' = $3)
        ORDER BY name LIMIT ${MAX_NAMED_JOBS}`,
      [this.#cluster.id, namespace, name],
    );
    return found.rows.map((job) => `job ${job.name}`);
  }

  /** The cluster is asked between transactions, because each holds a connection. What is not recorded is not written. */
  async #command(
    principal: Principal,
    address: CheckpointAddress,
    command: Command,
  ): Promise<{ readonly row: CatalogueRow; readonly object: CheckpointObject }> {
    this.#limits.chargeChange(principal, address.project);
    const row = await this.#changeable(principal, address, command);
    const path = checkpointPath(row);
    const ask = <T>(work: (call: CallOptions) => Promise<T>): Promise<T> =>
      this.#calls.ask(principal, address.project, work).catch((error: unknown) => {
        throw refusalOf(error, row, command);
      });
    const present = await ask((call) => this.#kube.get<CheckpointObject>(path, call));
    if (present.metadata.uid !== row.uid) throw gone(row, command);
    const annotations = command.decide(present);
    if (annotations === undefined) return { row, object: present };
    await this.#record(principal, address, { row, action: command.action });
    const body = { metadata: { uid: row.uid, annotations } };
    return {
      row,
      object: await ask((call) => this.#kube.patch<CheckpointObject>(path, body, { ...call, type: 'merge' })),
    };
  }

  /** The row, if the caller may stop its job. */
  #changeable(principal: Principal, address: CheckpointAddress, command: Named): Promise<CatalogueRow> {
    return inScope(this.#database, this.#question(principal, address), async (sql, scope) => {
      const row = await findCheckpoint(sql, this.#cluster, { address, projectId: projectIdOf(scope) });
      if (row.submitted_by !== principal.id)
        requireAction(scope.role, 'job.changeAny', scope.kind === 'project' ? scope : undefined);
      if (row.deleted_at !== null) throw gone(row, command);
      return row;
    });
  }

  #record(
    principal: Principal,
    address: CheckpointAddress,
    { row, action }: { readonly row: CatalogueRow; readonly action: Command['action'] },
  ): Promise<void> {
    return inScope(this.#database, this.#question(principal, address), (sql, scope) =>
      recordAudit(sql, principal, {
        action,
        target: `${row.namespace}/${row.name}`,
        projectId: projectIdOf(scope) ?? row.project_id,
      }),
    );
  }

  #question(principal: Principal, { project }: CheckpointAddress): ScopeQuestion {
    return { clusterId: this.#cluster.id, principal, project, action: 'job.changeOwn' };
  }
}

function levelFor({ status }: CheckpointObject, wanted: VerificationLevel): VerificationLevel {
  const known = status?.verification?.level;
  return known !== undefined && isAsClose(known, wanted) ? known : wanted;
}

function annotation({ metadata }: CheckpointObject): string | undefined {
  return metadata.annotations?.[ANNOTATIONS.pin];
}

/** The mirror follows within seconds; what was just written counts. */
function recordOf(row: CatalogueRow, object: CheckpointObject): CheckpointRecord {
  return { ...toCheckpointRecord(row, row.job_id), pin: annotation(object) ?? null };
}

function gone({ name, namespace, deleted_at: at }: CatalogueRow, { participle }: Named): DomainError {
  const when = at === null ? '' : ` on ${at.toISOString()}`;
  return new DomainError(
    'CONFLICT',
    `Checkpoint ${name} was deleted from namespace ${namespace}${when} and cannot be ${participle}; list the checkpoints that are left`,
  );
}

function refusalOf(error: unknown, row: CatalogueRow, command: Named): unknown {
  if (error instanceof DomainError) return error;
  if (isNotFound(error) || isConflict(error)) return gone(row, command);
  if (isRefusal(error))
    return new DomainError(
      'CONFLICT',
      `the cluster rejects the change of Checkpoint ${row.name}: ${sentenceOf(error)}`,
    );
  return new DomainError(
    'UNAVAILABLE',
    `the cluster does not answer (${sentenceOf(error)}), so Checkpoint ${row.name} was not ${command.participle}; try again in a few seconds`,
  );
}
