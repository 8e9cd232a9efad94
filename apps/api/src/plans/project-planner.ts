import { isDomainError } from '@coxswain/domain-error';
import type { JobPlanAnswer, JobPlanQuestion } from '@coxswain/job-planning';
import {
  OverBudgetError,
  type PlannerAnswer,
  PlannerLanes,
  type PlannerQuestion,
  QueueRefusedError,
} from '@coxswain/planner-process';
import type { PlanAnswer, PlanRequest } from '@coxswain/planner/types';
import type { Metrics } from '@coxswain/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config/config.ts';
import { CLOCK, METRICS, PLANNER, type WallClock } from '../infrastructure/tokens.ts';
import { LimitExceeded } from '../limits/limit-exceeded.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { afterWaiting } from '../limits/request-cpu.ts';

/** What is asked of the planner here; a test answers for it. */
export type Planner = Pick<PlannerLanes, 'ask' | 'load'>;

/** How a question ended; the label of a metric. `limited`: it was not let in, or gave its place to another project. */
const OUTCOMES = ['answered', 'refused', 'overBudget', 'limited', 'cancelled', 'failed'] as const;
type Outcome = (typeof OUTCOMES)[number];

interface Project {
  readonly id: string;
  readonly name: string;
}

/** Most questions are answered within it; longer ones go on in the other lane. */
const QUICK = { timeoutMs: 2_000, heapMib: 128 };
/** Questions of all projects that wait for one lane. Each is at most as large as a body may be. */
const MOST_WAITING = 256;
/** Share of the newest answer in what answers take of late. */
const NEWEST_SHARE = 0.2;
const LONGEST_RETRY_SECONDS = 60;

/** The processes that search plans, with the budgets that are configured. */
export function plannerOf({ planBudget, projectLimits }: Pick<Config, 'planBudget' | 'projectLimits'>): PlannerLanes {
  const timeoutMs = planBudget.seconds * 1000;
  const queue = {
    waitingPerTenant: projectLimits.plans === 0 ? MOST_WAITING : projectLimits.plans,
    waiting: MOST_WAITING,
  };
  return new PlannerLanes({
    quick: { ...queue, timeoutMs: Math.min(QUICK.timeoutMs, timeoutMs), heapMib: QUICK.heapMib },
    patient: { ...queue, timeoutMs, heapMib: planBudget.memoryMib },
  });
}

/**
 * What the planner answers to a project: in its turn, so many questions at a time, and no longer than somebody waits for it. Every question of
 * every door comes through here. Counted in this replica, because what is shared out are this replica's two searching processes.
 */
@Injectable()
export class ProjectPlanner {
  readonly #planner: Planner;
  readonly #limits: ProjectLimits;
  readonly #most: number;
  readonly #clock: WallClock;
  readonly #ended: (outcome: Outcome, seconds: number) => void;
  /** From the question to the answer, of late. */
  #usualSeconds = 1;

  constructor(
    @Inject(PLANNER) planner: Planner,
    @Inject(CLOCK) clock: WallClock,
    @Inject(METRICS) metrics: Metrics,
    @Inject(ProjectLimits) limits: ProjectLimits,
  ) {
    this.#planner = planner;
    this.#limits = limits;
    this.#most = limits.mostPlans;
    this.#clock = clock;
    this.#ended = countersOf(metrics, planner);
  }

  /** The best layouts. LimitExceeded, OVER_BUDGET, what the planner refuses, or the reason of the signal. */
  plan(project: Project, request: PlanRequest, signal?: AbortSignal): Promise<PlanAnswer> {
    return this.#timed(signal, () => this.#askInTurn(project, { kind: 'plan', request }, signal));
  }

  /** The plan of a job, as the operator asks for it. Rejects as {@link plan} does; undefined: the planner has no answer for it. */
  planJob(project: Project, question: JobPlanQuestion, signal?: AbortSignal): Promise<JobPlanAnswer | undefined> {
    const asked = { kind: 'planJob', question, options: { isBounded: true } } as const;
    return this.#timed(signal, () => this.#askInTurn(project, asked, signal));
  }

  async #timed<T>(signal: AbortSignal | undefined, ask: () => Promise<T>): Promise<T> {
    const beganAtMs = this.#clock.now().getTime();
    const secondsSince = (): number => Math.max(0, this.#clock.now().getTime() - beganAtMs) / 1000;
    try {
      const answer = await ask();
      this.#usualSeconds += NEWEST_SHARE * (secondsSince() - this.#usualSeconds);
      this.#ended('answered', secondsSince());
      return answer;
    } catch (error) {
      this.#ended(outcomeOf(error, signal), secondsSince());
      throw error;
    }
  }

  async #askInTurn<Q extends PlannerQuestion>(
    project: Project,
    question: Q,
    signal: AbortSignal | undefined,
  ): Promise<PlannerAnswer<Q['kind']>> {
    if (this.#most > 0 && this.#limits.plans.held(project.id) >= this.#most) {
      throw this.#refusal(project, `which is the most (${this.#most})`);
    }
    const giveBack = this.#limits.plans.hold(project.id);
    try {
      const options = { tenant: project.id, ...(signal === undefined ? {} : { signal }) };
      return await afterWaiting(this.#planner.ask(question, options));
    } catch (error) {
      // Where every project has one question waiting, no project has too many: that stays UNAVAILABLE.
      if (!(error instanceof QueueRefusedError) || error.reason === 'isFull') throw error;
      throw this.#refusal(project, 'and the newest of them gave its place to a project with fewer');
    } finally {
      giveBack();
    }
  }

  #refusal({ id, name }: Project, why: string): LimitExceeded {
    const pending = this.#limits.plans.held(id);
    // So many that take so long: one of them ends about every so often.
    const seconds = Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil(this.#usualSeconds / Math.max(1, pending))));
    const { waiting } = this.#planner.load;
    const message = `project "${name}" has ${pending} plans waiting or being searched, ${why}; of all projects ${waiting} wait. Ask again in ${seconds} s, or close the connection of one that nobody needs any more`;
    return this.#limits.refuse('plans', message, seconds);
  }
}

function outcomeOf(error: unknown, signal: AbortSignal | undefined): Outcome {
  if (signal?.aborted === true) return 'cancelled';
  if (error instanceof LimitExceeded || error instanceof QueueRefusedError) return 'limited';
  if (error instanceof OverBudgetError) return 'overBudget';
  return isDomainError(error) && error.code !== 'UNAVAILABLE' ? 'refused' : 'failed';
}

function countersOf(metrics: Metrics, planner: Planner): (outcome: Outcome, seconds: number) => void {
  const seconds = metrics.histogram({
    name: 'coxswain_api_plan_duration_seconds',
    help: 'From the question to its end, by how it ended; what it waited for its turn is part of it.',
    labelNames: ['outcome'],
    buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
  });
  for (const outcome of OUTCOMES) seconds.zero({ outcome });
  metrics.gauge({
    name: 'coxswain_api_plans_waiting',
    help: 'Questions that wait for a process of the planner.',
    collect: () => planner.load.waiting,
  });
  metrics.gauge({
    name: 'coxswain_api_plans_running',
    help: 'Questions that a process of the planner searches now.',
    collect: () => planner.load.running,
  });
  return (outcome, took) => seconds.observe({ outcome }, took);
}
