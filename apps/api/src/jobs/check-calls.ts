/** Calls to the cluster of checks of jobs, in turns of projects. */
import type { CallOptions } from '@coxswain/kube';
import type { TurnGate } from '@coxswain/units';
import { Inject, Injectable } from '@nestjs/common';
import { type LimitedPrincipal, ProjectLimits } from '../limits/project-limits.ts';
import { afterWaiting } from '../limits/request-cpu.ts';
import { turnsOfProjects } from '../limits/turns-of-projects.ts';

/**
 * A dry run waits for the admission webhooks of its namespace, which may not answer. Checks have a lane of 16 calls: changes that are carried to the cluster have
 * another one. A check makes a few calls at a time, so these places are few.
 */
const TURNS = {
  places: 6,
  ofTenant: 2,
  ofMember: 2,
  slow: 0,
  slowOfTenant: 0,
  waiting: 100,
  waitingOfTenant: 20,
  quickInARow: 0,
} as const;
const TURN_WAIT_MS = 5_000;
/** Most API servers answer a dry run within some ten milliseconds. */
const CALL_MS = 5_000;
const TOO_MANY =
  'too many checks of jobs wait for the cluster; try again in a few seconds, or submit the job without a check';

/** Lets checks ask the cluster in turns of projects, so that no project takes the calls of others. */
@Injectable()
export class CheckCalls {
  readonly #limits: Pick<ProjectLimits, 'ownerOf' | 'refuse'>;
  readonly #turns: TurnGate;

  constructor(@Inject(ProjectLimits) limits: Pick<ProjectLimits, 'ownerOf' | 'refuse'>) {
    this.#limits = limits;
    this.#turns = turnsOfProjects(limits, {
      bounds: TURNS,
      waitMs: TURN_WAIT_MS,
      limit: 'concurrency',
      message: TOO_MANY,
      retrySeconds: 3,
    });
  }

  /** Runs `work`, whose calls have the given options. RATE_LIMITED if its turn does not come. */
  ask<T>(principal: LimitedPrincipal, project: string, work: (call: CallOptions) => Promise<T>): Promise<T> {
    const tenant = this.#limits.ownerOf(principal, project);
    const claim = { tenant, member: principal.id, isSlow: false };
    const call = { lane: 'bulk', turnOf: tenant, timeoutMs: CALL_MS } as const;
    return afterWaiting(this.#turns.pass(claim, () => work(call)));
  }
}
