import {
  API_GROUP,
  API_GROUP_VERSION,
  API_VERSION,
  type JobCheck,
  type JobCreate,
  type ObjectReference,
  referencesOf,
  type TrainingRuntime,
  type UnusableReference,
} from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import {
  type CallOptions,
  isAdmissionUnavailable,
  isAlreadyExists,
  isKindUnknown,
  isNotFound,
  isRefusal,
  type KubeClient,
  type KubeObject,
  resourcePath,
} from '@coxswain/kube';
import { describeRuntimeProblem } from '@coxswain/lifecycle';
import { firstOf, type Sql, type TenantDatabase } from '@coxswain/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { inProject, type ScopeQuestion } from '../auth/project-scope.ts';
import type { Principal } from '../auth/principal.ts';
import { collectionOf, sentenceOf } from '../cluster/resources.ts';
import { GpuCountsService } from '../fabric/gpu-counts.service.ts';
import { CLUSTER, type Cluster, KUBE, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { requireAllowedClass } from './allowed-classes.ts';
import { CheckCalls } from './check-calls.ts';
import { CheckPlan } from './check-plan.ts';
import { type CheckFacts, checkOf } from './job-check.ts';
import { JobsService } from './jobs.service.ts';
import type { QuotaObject } from '@coxswain/scheduling';
import { requireNoPlainSecrets, requireRunnable } from './spec-rules.ts';

/** Few namespaces have more than one. */
const MOST_QUOTAS = 100;

/** Asks database and cluster what a job would wait for; nothing is written. */
@Injectable()
export class JobCheckService {
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  readonly #kube: Pick<KubeClient, 'get' | 'list' | 'create'>;
  readonly #jobs: JobsService;
  readonly #limits: ProjectLimits;
  readonly #gpus: GpuCountsService;
  readonly #calls: CheckCalls;
  readonly #plan: CheckPlan;

  // eslint-disable-next-line max-params -- what is injected is chosen by its token, not by its place
  constructor(
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
    @Inject(KUBE) kube: KubeClient,
    @Inject(JobsService) jobs: JobsService,
    @Inject(ProjectLimits) limits: ProjectLimits,
    @Inject(GpuCountsService) gpus: GpuCountsService,
    @Inject(CheckCalls) calls: CheckCalls,
    @Inject(CheckPlan) plan: CheckPlan,
  ) {
    this.#plan = plan;
    this.#database = database;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#jobs = jobs;
    this.#limits = limits;
    this.#gpus = gpus;
    this.#calls = calls;
  }

  /** Needs the rights of a submit, and counts as a change of the project. The cluster is asked after the transaction, which holds a connection. */
  async check(
    principal: Principal,
    { project, body }: { readonly project: string; readonly body: JobCreate },
  ): Promise<JobCheck> {
    this.#limits.chargeChange(principal, project);
    const question: ScopeQuestion = { clusterId: this.#cluster.id, principal, project, action: 'job.submit' };
    const { found, namespace, isNameTaken, isStartAdopted, classRefusal } = await inProject(
      this.#database,
      question,
      async (sql, scope) => {
        const namespace = await this.#jobs.namespaceFor(sql, scope, body.namespace);
        return {
          found: scope,
          namespace,
          isNameTaken: await this.#isNameTaken(sql, namespace, body.name),
          isStartAdopted: await this.#isAdopted(sql, namespace, body.spec.resumeFrom?.from),
          classRefusal: await refusalBy(() => requireAllowedClass(sql, scope, body.spec)),
        };
      },
    );
    const refusal = (await refusalOf(body)) ?? classRefusal;
    const isTried = refusal === null && !isNameTaken;
    const [answers, gpus, plan] = await Promise.all([
      this.#calls.ask(principal, project, (call) => this.#askCluster({ namespace, body, isTried }, call)),
      this.#gpus.counts().catch(() => undefined),
      refusal === null ? this.#plan.ask(found, body.spec) : null,
    ]);
    return checkOf({ body, namespace, refusal, isNameTaken, isStartAdopted, ...answers, gpus, plan });
  }

  async #askCluster(
    { namespace, body, isTried }: { readonly namespace: string; readonly body: JobCreate; readonly isTried: boolean },
    call: CallOptions,
  ): Promise<Pick<CheckFacts, 'denial' | 'unusable' | 'runtimeProblem' | 'quotas'>> {
    const [denial, unusable, runtimeProblem, quotas] = await Promise.all([
      isTried ? this.#denialOf(namespace, body, call) : undefined,
      this.#unusable(namespace, referencesOf(body.spec), call),
      this.#runtimeProblem(namespace, body, call),
      this.#quotas(namespace, call),
    ]);
    return { denial, unusable, runtimeProblem, quotas };
  }

  /** Null: the job can use its runtime, or names none; undefined: it could not be read, for example for lack of a right. */
  async #runtimeProblem(namespace: string, { spec }: JobCreate, call: CallOptions): Promise<string | null | undefined> {
    const ref = spec.runtimeRef;
    if (ref === undefined) return null;
    const plural = ref.kind === 'TrainingRuntime' ? 'trainingruntimes' : 'clustertrainingruntimes';
    const place = ref.kind === 'TrainingRuntime' ? { plural, namespace } : { plural };
    const path = resourcePath({ group: API_GROUP, version: API_VERSION, ...place, name: ref.name });
    try {
      const runtime = await this.#kube.get<TrainingRuntime & KubeObject>(path, call);
      return describeRuntimeProblem({ namespace, spec }, { ...runtime, kind: ref.kind }) ?? null;
    } catch (error) {
      if (isNotFound(error) && !isKindUnknown(error))
        return describeRuntimeProblem({ namespace, spec }, undefined) ?? null;
      return undefined;
    }
  }

  /** Undefined: they could not be read, for example for lack of a right. */
  async #quotas(namespace: string, call: CallOptions): Promise<readonly QuotaObject[] | undefined> {
    const path = resourcePath({ group: '', version: 'v1', plural: 'resourcequotas', namespace });
    try {
      const { items } = await this.#kube.list<QuotaObject & KubeObject>(path, { ...call, limit: MOST_QUOTAS });
      return items;
    } catch {
      return undefined;
    }
  }

  async #isNameTaken(sql: Sql, namespace: string, name: string): Promise<boolean> {
    const found = await sql.query(
      'SELECT 1 FROM jobs WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND deleted_at IS NULL LIMIT 1',
      [this.#cluster.id, namespace, name],
    );
    return firstOf(found) !== undefined;
  }

  async #isAdopted(sql: Sql, namespace: string, name: string | undefined): Promise<boolean> {
    if (name === undefined) return false;
    const found = await sql.query(
      `SELECT 1 FROM checkpoints
        WHERE cluster_id = $1 AND namespace = $2 AND name = $3 AND job_uid = '' AND deleted_at IS NULL LIMIT 1`,
      [this.#cluster.id, namespace, name],
    );
    return firstOf(found) !== undefined;
  }

  /** The cluster's sentence on a dry run; null: it accepts the job; undefined: it does not answer. */
  async #denialOf(namespace: string, { name, spec }: JobCreate, call: CallOptions): Promise<string | null | undefined> {
    const manifest = { apiVersion: API_GROUP_VERSION, kind: 'TrainingJob', metadata: { name, namespace }, spec };
    try {
      const options = { ...call, dryRun: true, fieldValidation: 'Strict' } as const;
      await this.#kube.create(collectionOf('trainingjobs', namespace), manifest, options);
      return null;
    } catch (error) {
      const isAnswer =
        isAlreadyExists(error) ||
        isRefusal(error) ||
        isAdmissionUnavailable(error) ||
        (isNotFound(error) && !isKindUnknown(error));
      return isAnswer ? sentenceOf(error) : undefined;
    }
  }

  /** Objects that do not exist; undefined: one of them could not be read, for example for lack of a right. */
  async #unusable(
    namespace: string,
    references: readonly ObjectReference[],
    call: CallOptions,
  ): Promise<readonly UnusableReference[] | undefined> {
    const claims = references.filter(({ kind }) => kind === 'PersistentVolumeClaim');
    try {
      const read = await Promise.all(claims.map((claim) => this.#problemOf(namespace, claim, call)));
      return read.flat();
    } catch {
      return undefined;
    }
  }

  async #problemOf(
    namespace: string,
    claim: ObjectReference,
    call: CallOptions,
  ): Promise<readonly UnusableReference[]> {
    const place = { plural: 'persistentvolumeclaims', namespace, name: claim.name };
    try {
      const { metadata } = await this.#kube.get<
        { readonly metadata: { readonly name: string; readonly deletionTimestamp?: string } } & object
      >(resourcePath({ group: '', version: 'v1', ...place }), call);
      return metadata.deletionTimestamp === undefined ? [] : [{ ...claim, problem: 'deleting' }];
    } catch (error) {
      if (isNotFound(error)) return [{ ...claim, problem: 'missing' }];
      throw error;
    }
  }
}

/** Why the API refuses the spec; null: it does not. */
function refusalOf({ spec }: JobCreate): Promise<DomainError | null> {
  return refusalBy(() => {
    requireNoPlainSecrets(spec, '/spec');
    requireRunnable(spec, '/spec');
  });
}

async function refusalBy(require: () => void | Promise<void>): Promise<DomainError | null> {
  try {
    await require();
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}
