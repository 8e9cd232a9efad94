import type { IncomingMessage } from 'node:http';
import { OBSERVED_JOBS_PATH, ObservedJobs } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { TenantDatabase } from '@coxswain/persistence';
import { parseForeignJson } from '@coxswain/safe-text';
import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.ts';
import { inScope, projectIdOf } from '../auth/project-scope.ts';
import { askOperator, bytesOf, type OperatorAnswer } from '../cluster/operator-endpoint.ts';
import type { Config } from '../config/config.ts';
import { CLUSTER, type Cluster, CONFIG, TENANT_DATABASE } from '../infrastructure/tokens.ts';
import { partsAfterWaiting } from '../limits/request-cpu.ts';
import { visibleProjects } from '../queue/project-use.ts';

/** An operator sends at most 6 million characters. */
const MAX_ANSWER_BYTES = 8_388_608;
/** The operator is asked at most this often by one replica. */
const FRESH_MS = 1_000;

type Answer = OperatorAnswer<ObservedJobs>;

/** Jobs of other controllers that the operator observes. They have no rows: the operator rebuilds them from the reports of their pods. */
@Injectable()
export class ObservedJobsService {
  readonly #operator: Config['operator'];
  readonly #database: TenantDatabase;
  readonly #cluster: Cluster;
  #last: { readonly atMs: number; readonly answer: Promise<Answer> } | undefined;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(TENANT_DATABASE) database: TenantDatabase,
    @Inject(CLUSTER) cluster: Cluster,
  ) {
    this.#operator = config.operator;
    this.#database = database;
    this.#cluster = cluster;
  }

  /** Those in namespaces of the project. UNAVAILABLE where the operator does not answer. */
  async list(principal: Principal, project: string): Promise<ObservedJobs> {
    const question = { clusterId: this.#cluster.id, principal, project, action: 'job.read', work: 'list' } as const;
    const { isAll, namespaces } = await inScope(this.#database, question, async (sql, scope) => {
      const projects = await visibleProjects(sql, this.#cluster, projectIdOf(scope));
      return { isAll: scope.kind === 'cluster', namespaces: new Set(projects.flatMap((one) => one.namespaces)) };
    });
    const { jobs, leftOut } = jobsIn(await this.#ask());
    return { jobs: jobs.filter(({ namespace }) => isAll || namespaces.has(namespace)), leftOut };
  }

  /** Requests within a second share an answer: it has all jobs of the cluster, and each caller gets a part. */
  #ask(): Promise<Answer> {
    const nowMs = performance.now();
    if (this.#last !== undefined && nowMs - this.#last.atMs < FRESH_MS) return this.#last.answer;
    const question = { path: OBSERVED_JOBS_PATH, query: {} };
    const answer = askOperator(this.#operator, question, new AbortController().signal, observedJobsIn);
    this.#last = { atMs: nowMs, answer };
    return answer;
  }
}

function jobsIn(answer: Answer): ObservedJobs {
  if (answer.kind === 'answered') return answer.value;
  if (answer.kind === 'unreachable')
    throw new DomainError('UNAVAILABLE', `the operator does not answer (${answer.why}); try again in a few seconds`);
  // An operator that does not observe has no such route, and answers without a problem document.
  if (answer.status === 404)
    throw new DomainError(
      'CONFLICT',
      'the operator observes no jobs of other controllers; set observe.enabled of the chart',
    );
  const title = answer.title === undefined ? '' : ` (${answer.title})`;
  throw new DomainError('UNAVAILABLE', `the operator answered ${answer.status}${title}`);
}

/** Throws where it is too long, or something else. */
async function observedJobsIn(response: IncomingMessage): Promise<ObservedJobs> {
  const parts = partsAfterWaiting(response as AsyncIterable<Buffer>);
  return ObservedJobs.parse(parseForeignJson((await bytesOf(parts, MAX_ANSWER_BYTES)).toString('utf8')));
}
