/** What does the planner answer to a job that is checked? */
import type { TrainingJobSpec } from '@coxswain/api-types';
import { type JobPlanAnswer, jobPlanning } from '@coxswain/job-planning';
import { Inject, Injectable } from '@nestjs/common';
import { SeenNodes } from '../fabric/seen-nodes.ts';
import { ProjectPlanner } from '../plans/project-planner.ts';

/** A check is quick: a longer search is done after the submit. */
const WITHIN_MS = 5_000;
const FABRIC_WITHIN_MS = 2_000;

/** Asks the planner for the plan of a job, as the operator does after the submit. It counts as a plan of the project. */
@Injectable()
export class CheckPlan {
  readonly #planner: Pick<ProjectPlanner, 'planJob'>;
  readonly #nodes: Pick<SeenNodes, 'observe'>;

  constructor(
    @Inject(ProjectPlanner) planner: Pick<ProjectPlanner, 'planJob'>,
    @Inject(SeenNodes) nodes: Pick<SeenNodes, 'observe'>,
  ) {
    this.#planner = planner;
    this.#nodes = nodes;
  }

  /** Null: the planner knows too little of the job or the GPUs. undefined: it has not answered in time, or its project waits for other plans. */
  async ask(
    project: { readonly id: string; readonly name: string },
    spec: TrainingJobSpec,
  ): Promise<JobPlanAnswer | null | undefined> {
    try {
      const { fabric } = await this.#nodes.observe(FABRIC_WITHIN_MS);
      if (fabric === undefined) return undefined;
      const planning = jobPlanning(spec, { fabric });
      if (planning === undefined) return null;
      if (planning.kind === 'answer') return planning.answer;
      return (await this.#planner.planJob(project, planning.question, AbortSignal.timeout(WITHIN_MS))) ?? null;
    } catch {
      return undefined;
    }
  }
}
