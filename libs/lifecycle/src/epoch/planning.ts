import { isPlanOf, type JobPlan } from '@coxswain/api-types';
import { isRefusalOf, jobPlanning, type JobPlanAnswer, type JobPlanQuestion } from '@coxswain/job-planning';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import type { ObservedPlanning } from '../observation/observed.ts';
import { loadRefusal, resumePointOf } from '../failure/resume-point.ts';
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
  const gpus = gpusToPlanFor(record, facts, recorded);
  const isAnswered = recorded?.gpus === gpus || spec.layout !== undefined;
  if (recorded !== undefined && recorded.refusal === undefined && isAnswered)
    return { kind: 'planned', plan: recorded };
  // Without a usable runtime the possible nodes are unknown. A plan for all nodes would persist afterwards.
  if (['unread', 'refused'].includes(runtimeStanding(facts).kind)) return { kind: 'notWanted' };
  const planning = jobPlanning(gpus === undefined ? spec : { ...spec, gpus }, facts.capacity(), facts.measuredGpus);
  if (planning === undefined) return { kind: 'nothingToAsk' };
  if (recorded !== undefined && isRefusalOf(recorded, planning.about)) return { kind: 'planned', plan: recorded };
  const taken = (answer: JobPlanAnswer): Planning => ({
    kind: 'planned',
    plan: elasticPlan(record, {
      before: recorded,
      answer: at(now, recorded === undefined ? answer : loadable(record, facts, answer)),
      most: spec.gpus ?? answer.gpus,
    }),
  });
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

/** The answer, or its refusal if the layout cannot load the job's checkpoint: an elastic job then stays at the GPUs that it can use. */
function loadable(record: JobRecord, facts: Facts, answer: JobPlanAnswer): JobPlanAnswer {
  if (answer.layout === undefined || elasticSpec(facts) === undefined) return answer;
  const refusal = loadRefusal(resumePointOf(record, facts), answer.layout);
  if (refusal === undefined) return answer;
  const { layout: _unloadable, ...rest } = answer;
  return { ...rest, refusal };
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
