import { isPlanOf, type JobPlan } from '@coxswain/api-types';
import { isRefusalOf, jobPlanning, type JobPlanAnswer, type JobPlanQuestion } from '@coxswain/job-planning';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import type { ObservedPlanning } from '../observation/observed.ts';
import { elasticPlan, gpusToPlanFor } from './elastic.ts';
import { runtimeStanding } from './runtime-standing.ts';

/** Where a job stands between its spec and its plan. */
export type Planning =
  /** Nobody wants a plan now: a gang is up, none is to come, or it is not known on which nodes. */
  | { readonly kind: 'notWanted' }
  /** This plan, or refusal, is recorded or is to be recorded. */
  | { readonly kind: 'planned'; readonly plan: JobPlan }
  /** There is nothing to ask: no GPU is there as yet, or nothing can be predicted. */
  | { readonly kind: 'nothingToAsk' }
  /** The planner has nothing to say of the user's layout, or did not say it in time: the job goes on without. */
  | { readonly kind: 'unanswered' }
  /** The planner is to be asked, or has been and did not answer yet. `refused` is what it said for the cluster as it was before, or for more GPUs. */
  | { readonly kind: 'asking'; readonly question: JobPlanQuestion; readonly refused: JobPlan | undefined }
  /** The planner could not answer, and is asked again then. */
  | {
      readonly kind: 'askingLater';
      readonly atMs: number;
      readonly problem: string;
      readonly refused: JobPlan | undefined;
    };

/**
 * What is known of the job's plan, from its record and from what the planner has answered. A plan stands through restarts and through changes of
 * the cluster; a refusal is looked at again where the cluster is another. Searches nothing.
 */
export function planningOf(record: JobRecord, facts: Facts, now: Date): Planning {
  const { spec } = facts;
  if (spec === undefined || !isGangWanted(record, facts)) return { kind: 'notWanted' };
  const recorded = record.plan !== undefined && isPlanOf(record.plan, spec) ? record.plan : undefined;
  const gpus = gpusToPlanFor(record, facts, recorded);
  const isAnswered = recorded?.gpus === gpus || spec.layout !== undefined;
  if (recorded !== undefined && recorded.refusal === undefined && isAnswered)
    return { kind: 'planned', plan: recorded };
  // Of a runtime that is not known, or cannot be used, nobody knows which nodes it would take; a plan for all of them would stand once it is.
  if (['unread', 'refused'].includes(runtimeStanding(facts).kind)) return { kind: 'notWanted' };
  const planning = jobPlanning(gpus === undefined ? spec : { ...spec, gpus }, facts.capacity(), facts.measuredGpus);
  if (planning === undefined) return { kind: 'nothingToAsk' };
  if (recorded !== undefined && isRefusalOf(recorded, planning.about)) return { kind: 'planned', plan: recorded };
  const taken = (answer: JobPlanAnswer): Planning => ({
    kind: 'planned',
    plan: elasticPlan(record, { before: recorded, answer: at(now, answer), most: spec.gpus ?? answer.gpus }),
  });
  if (planning.kind === 'answer') return taken(planning.answer);
  const { question } = planning;
  const outcome = outcomeOf(facts.observed.planning, question);
  switch (outcome?.kind) {
    case 'answered':
      return outcome.answer === undefined ? { kind: 'unanswered' } : taken(outcome.answer);
    case 'failed':
      // A user's layout needs no planner: it is never held up by what the planner cannot do.
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

/** The record with the plan that it is to hold. */
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

/** Whether that question was put to the planner and neither answered nor given up. */
export function isUnderWay(observed: ObservedPlanning | undefined, question: JobPlanQuestion): boolean {
  return outcomeOf(observed, question)?.kind === 'asked';
}

/** Whether the job shall have a gang and has none: only then a plan or a placement is of any use. */
export function isGangWanted(record: JobRecord, facts: Facts): boolean {
  return (
    record.terminal === undefined &&
    liveAttempt(record) === undefined &&
    !facts.suspend &&
    !facts.cancel &&
    !facts.deleting
  );
}

/** What was observed of this question; an answer to another one says nothing. */
function outcomeOf(observed: ObservedPlanning | undefined, { key }: JobPlanQuestion): ObservedPlanning | undefined {
  return observed?.key === key ? observed : undefined;
}

function at(now: Date, answer: JobPlanAnswer): JobPlan {
  return { ...answer, plannedAt: now.toISOString() };
}

/** No question waits longer than this before it is asked again; a time further ahead was told by a clock that has been set back since. */
const LONGEST_RETRY_MS = 300_000;

function isAhead(timeMs: number, now: Date): boolean {
  const aheadMs = timeMs - now.getTime();
  return aheadMs > 0 && aheadMs <= LONGEST_RETRY_MS;
}
