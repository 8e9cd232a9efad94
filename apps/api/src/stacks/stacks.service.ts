import { FINAL_JOB_STATES, type JobStacks } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import type { TurnGate } from '@coxswain/units';
import { Inject, Injectable } from '@nestjs/common';
import { recordAudit } from '../auth/audit.ts';
import type { Principal } from '../auth/principal.ts';
import type { Config } from '../config/config.ts';
import { CONFIG } from '../infrastructure/tokens.ts';
import type { JobRow } from '../jobs/job-row.ts';
import { type JobAddress, JobsService } from '../jobs/jobs.service.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { afterWaiting } from '../limits/request-cpu.ts';
import { turnsOfProjects } from '../limits/turns-of-projects.ts';
import { operatorStacks, type OperatorStacks } from './operator-stacks.ts';

/**
 * Requests to the operator of this replica, by project: the operator knows namespaces, and a project can own several. An answer has at most 8 MiB, mostly far less, so
 * that eight are about 64 MiB at worst.
 */
const TURNS = {
  places: 8,
  ofTenant: 2,
  ofMember: 2,
  slow: 0,
  slowOfTenant: 0,
  waiting: 64,
  waitingOfTenant: 8,
  quickInARow: 0,
} as const;
const TURN_WAIT_MS = 3_000;
const TOO_MANY = 'too many stack traces are being collected; ask again in a moment';

/** Which ranks to ask, and the signal that ends the wait. */
export interface StacksRequest {
  /** Asks only the pod of this rank; all pods if absent. */
  readonly rank?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Current stack traces of a job's ranks, taken by their launchers on request. The right to read the job's logs includes it: a traceback in a log names the
 * same functions, files and lines, and no values are included. The stacks are not stored; the audit records the request.
 */
@Injectable()
export class StacksService {
  readonly #operator: Config['operator'];
  readonly #jobs: JobsService;
  readonly #limits: Pick<ProjectLimits, 'refuse'>;
  readonly #turns: TurnGate;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(JobsService) jobs: JobsService,
    @Inject(ProjectLimits) limits: Pick<ProjectLimits, 'refuse'>,
  ) {
    this.#operator = config.operator;
    this.#jobs = jobs;
    this.#limits = limits;
    const turns = { bounds: TURNS, waitMs: TURN_WAIT_MS, limit: 'stacks', message: TOO_MANY, retrySeconds: 2 } as const;
    this.#turns = turnsOfProjects(limits, turns);
  }

  /** CONFLICT where no rank runs; RATE_LIMITED where it was asked a moment ago; UNAVAILABLE where the operator does not answer. */
  async take(principal: Principal, address: JobAddress, { rank, signal }: StacksRequest): Promise<JobStacks> {
    const { row, uid } = await this.#jobs.reading(principal, address, async (sql, job) => {
      const asked = { row: job, uid: uidOfRunning(job) };
      await recordAudit(sql, principal, {
        action: 'job.stacks',
        target: `${job.namespace}/${job.name}`,
        projectId: job.project_id,
        ...(rank === undefined ? {} : { detail: { rank } }),
      });
      return asked;
    });
    const claim = { tenant: row.project_id ?? principal.id, member: principal.id, isSlow: false };
    const ask = (): Promise<OperatorStacks> => operatorStacks(this.#operator, { jobUid: uid, rank }, signal);
    return this.#stacksIn(await afterWaiting(this.#turns.pass(claim, ask, signal)), row);
  }

  #stacksIn(answer: OperatorStacks, { name, state }: JobRow): JobStacks {
    if (answer.kind === 'taken') return answer.stacks;
    if (answer.kind === 'unreachable')
      throw new DomainError('UNAVAILABLE', `the operator does not answer (${answer.why}); try again in a few seconds`);
    const { status, title, againInMs = 1_000 } = answer;
    if (status === 429)
      throw this.#limits.refuse('stacks', `${title ?? 'too many ask'}; ask again in a moment`, againInMs / 1_000);
    if (status !== 404)
      throw new DomainError(
        'UNAVAILABLE',
        `the operator answered ${status}${title === undefined ? '' : ` (${title})`}`,
      );
    // An operator that does not know the route answers without a problem document.
    if (title === undefined)
      throw new DomainError('UNAVAILABLE', 'the operator is of a release that takes no stacks: upgrade it');
    throw new DomainError('CONFLICT', `job "${name}" is ${state}: ${title}`);
  }
}

function uidOfRunning({ uid, name, state }: JobRow): string {
  if (uid !== null && !FINAL_JOB_STATES.has(state)) return uid;
  const instead = uid === null ? 'ask again when it runs' : 'what its ranks wrote last is in their logs';
  throw new DomainError('CONFLICT', `job "${name}" is ${state}, and no rank of it runs: ${instead}`);
}
