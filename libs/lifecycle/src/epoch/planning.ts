import { isPlanOf, type JobPlan, type TrainingJobSpec } from '@coxswain/api-types';
import { isRefusalOf, jobPlanning, type JobPlanAnswer, type JobPlanQuestion } from '@coxswain/job-planning';
import type { ParallelLayout } from '@coxswain/layout';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import type { ObservedPlanning } from '../observation/observed.ts';
import { type Start, startAt } from '../conversion/start-at.ts';
import { resumePointOf } from '../failure/resume-point.ts';
import { elasticPlan, elasticSpec, gpusToPlanFor } from './elastic.ts';
import { runtimeStanding } from './runtime-standing.ts';

/** The state of a job's plan. */
export type Planning =
  /** No plan is needed now: a gang is up, none is wanted, or its possible nodes are unknown. */
  | { readonly kind: 'notWanted' }
  /** This plan, or refusal, is recorded or is to be recorded. */
  | { readonly kind: 'planned'; readonly plan: JobPlan }
  /** The planner cannot be asked: the cluster has no GPU yet, or nothing can be predicted. */
  | { readonly kind: 'nothingToAsk' }
  /** The planner has no answer for the user's layout, or not in time: the job continues without one. */
  | { readonly kind: 'unanswered' }
  /**
   * The planner is to be asked, or was asked and has not answered. `refused` is its earlier refusal, for the cluster as it was or for more
   * GPUs.
   */
  | { readonly kind: 'asking'; readonly question: JobPlanQuestion; readonly refused: JobPlan | undefined }
  /** The planner failed to answer, and is asked again at `atMs`. */
  | {
      readonly kind: 'askingLater';
      readonly atMs: number;
      readonly problem: string;
      readonly refused: JobPlan | undefined;
    };

/**
 * The state of the job's plan, from its record and the planner's answers. A plan survives restarts and changes of the cluster; a refusal is
 * checked again if the cluster has changed. Does not search.
 */
export function planningOf(record: JobRecord, facts: Facts, now: Date): Planning {
  const { spec } = facts;
  if (spec === undefined || !isGangWanted(record, facts)) return { kind: 'notWanted' };
  const recorded = record.plan !== undefined && isPlanOf(record.plan, spec) ? record.plan : undefined;
  const gpus = gpusInstead(record, facts, { plan: recorded, now }) ?? gpusToPlanFor(record, facts, recorded);
  const isAnswered = recorded?.gpus === gpus || spec.layout !== undefined;
  if (recorded !== undefined && recorded.refusal === undefined && isAnswered)
    return { kind: 'planned', plan: recorded };
  // Without a usable runtime the possible nodes are unknown. A plan for all nodes would persist afterwards.
  if (['unread', 'refused'].includes(runtimeStanding(facts).kind)) return { kind: 'notWanted' };
  const planning = jobPlanning(specFor(spec, gpus), facts.capacity(), facts.measuredGpus);
  if (planning === undefined) return { kind: 'nothingToAsk' };
  if (recorded !== undefined && isRefusalOf(recorded, planning.about)) return { kind: 'planned', plan: recorded };
  const taken = (answer: JobPlanAnswer): Planning => {
    const start = recorded === undefined ? undefined : startOf(record, facts, { layout: answer.layout, now });
    // The price of a wait grows: the next observation asks again.
    if (recorded !== undefined && start?.isWait === true) return { kind: 'planned', plan: recorded };
    const loadable = start === undefined ? answer : refused(answer, start.message);
    const plan = elasticPlan(record, { before: recorded, answer: at(now, loadable), most: spec.gpus ?? answer.gpus });
    return { kind: 'planned', plan };
  };
  if (planning.kind === 'answer') return taken(planning.answer);
  const { question } = planning;
  const outcome = outcomeOf(facts.observed.planning, question);
  switch (outcome?.kind) {
    case 'answered':
      return outcome.answer === undefined ? { kind: 'unanswered' } : taken(outcome.answer);
    case 'failed':
      // A user's layout does not need the planner, so a planner failure never delays it.
      if (spec.layout !== undefined) return { kind: 'unanswered' };
      if (isAhead(outcome.retryAtMs, now)) {
        return { kind: 'askingLater', atMs: outcome.retryAtMs, problem: outcome.problem, refused: recorded };
      }
      return { kind: 'asking', question, refused: recorded };
    case 'asked':
    case undefined:
      return { kind: 'asking', question, refused: recorded };
  }
}

/** The sizes of an elastic job are asked for once, with the plan for all of its GPUs. */
function specFor({ minGpus, ...spec }: TrainingJobSpec, gpus: number | undefined): TrainingJobSpec {
  if (gpus !== undefined && gpus !== spec.gpus) return { ...spec, gpus };
  return minGpus === undefined ? spec : { ...spec, minGpus };
}

/** The record with its new plan. */
export function withPlan(record: JobRecord, planning: Planning): JobRecord {
  switch (planning.kind) {
    case 'notWanted':
      return record;
    case 'planned':
      return { ...record, plan: planning.plan };
    case 'nothingToAsk':
    case 'unanswered':
      return { ...record, plan: undefined };
    case 'asking':
    case 'askingLater':
      return { ...record, plan: planning.refused };
  }
}

/** Whether the planner was asked that question and has neither answered nor failed. */
export function isUnderWay(observed: ObservedPlanning | undefined, question: JobPlanQuestion): boolean {
  return outcomeOf(observed, question)?.kind === 'asked';
}

/** Whether the job needs a gang and has none. Only then a plan or placement is useful. */
export function isGangWanted(record: JobRecord, facts: Facts): boolean {
  return (
    record.terminal === undefined &&
    liveAttempt(record) === undefined &&
    !facts.suspend &&
    !facts.cancel &&
    !facts.deleting
  );
}

/** The outcome of this question; an answer to another question does not count. */
function outcomeOf(observed: ObservedPlanning | undefined, { key }: JobPlanQuestion): ObservedPlanning | undefined {
  return observed?.key === key ? observed : undefined;
}

/** Why an elastic job does not begin at this layout: no way leads to a save that it loads, or to wait costs less. undefined: it can begin. */
function startOf(
  record: JobRecord,
  facts: Facts,
  { layout, now }: { readonly layout: ParallelLayout | undefined; readonly now: Date },
): (Start & { readonly kind: 'none' }) | undefined {
  if (layout === undefined || elasticSpec(facts) === undefined) return undefined;
  const start = startAt(record, facts, { layout, now });
  // Where no save can be used at all, the layout does not matter.
  return start.kind === 'none' && resumePointOf(record, facts).kind !== 'none' ? start : undefined;
}

/** The number of GPUs that load the newest save, if a plan for another number cannot begin, for example because a conversion failed. */
function gpusInstead(
  record: JobRecord,
  facts: Facts,
  { plan, now }: { readonly plan: JobPlan | undefined; readonly now: Date },
): number | undefined {
  return plan === undefined ? undefined : startOf(record, facts, { layout: plan.layout, now })?.otherGpus;
}

function refused({ layout: _unloadable, ...answer }: JobPlanAnswer, refusal: string): JobPlanAnswer {
  return { ...answer, refusal };
}

function at(now: Date, answer: JobPlanAnswer): JobPlan {
  return { ...answer, plannedAt: now.toISOString() };
}

/** Longest pause before a question is repeated; a later time was written by a clock that has been set back since. */
const LONGEST_RETRY_MS = 300_000;

function isAhead(timeMs: number, now: Date): boolean {
  const aheadMs = timeMs - now.getTime();
  return aheadMs > 0 && aheadMs <= LONGEST_RETRY_MS;
}
