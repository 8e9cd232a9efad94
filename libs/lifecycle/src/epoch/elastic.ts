/** On how many GPUs does a job go on that may run on fewer than it asks for? */
import { type Attempt, type JobPlan, type TrainingJobSpec } from '@coxswain/api-types';
import { capacityWithout } from '@coxswain/job-planning';
import { worldSize } from '@coxswain/layout';
import type { Facts } from '../look/facts.ts';
import { isOver, type Wait } from '../look/waits.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** A job that says from how many to how many GPUs it runs on. */
type ElasticSpec = TrainingJobSpec & { readonly gpus: number; readonly minGpus: number };

function elasticSpec({ spec }: Facts): ElasticSpec | undefined {
  return spec?.gpus === undefined || spec.minGpus === undefined ? undefined : (spec as ElasticSpec);
}

/** How long the job's plan has found no room, or no layout; undefined where no fewer GPUs would do. */
export function shortOfGpus({ plan, epoch }: JobRecord, facts: Facts): Wait | undefined {
  const spec = elasticSpec(facts);
  if (spec === undefined || plan === undefined || plan.gpus <= spec.minGpus) return undefined;
  return { key: `e${epoch}/short-of-${plan.gpus}-gpus`, limitMs: facts.timeouts.shrinkMs };
}

/**
 * For how many GPUs the job is to be planned, `plan` being what is recorded. Fewer once those were not to be had for a while: the most that are free now and that
 * divide the batch. All of them again with the first epoch after one that ran on fewer, if so many are free: at most once for each epoch, or
 * it would plan forth and back without ever beginning one.
 */
export function gpusToPlanFor(record: JobRecord, facts: Facts, plan: JobPlan | undefined): number | undefined {
  const spec = elasticSpec(facts);
  if (spec === undefined || plan === undefined) return facts.spec?.gpus;
  const wait = shortOfGpus(record, facts);
  if (wait !== undefined && isOver(facts, wait)) return fewerGpus(spec, plan, freeGpus(record, facts)) ?? plan.gpus;
  const hasRun = plan.forEpoch !== undefined && record.epoch >= plan.forEpoch;
  // What made way for more is followed by more, whether its own GPUs are seen to be free already or not.
  const hasMadeWay = record.attempts.at(-1)?.outcome === 'Resized';
  return hasRun && (hasMadeWay || freeGpus(record, facts) >= spec.gpus) ? spec.gpus : plan.gpus;
}

/** What is recorded of the planner's answer to {@link gpusToPlanFor}. A refusal of another number of GPUs leaves the plan that stands as it is. */
export function elasticPlan(
  { epoch }: JobRecord,
  { before, answer, most }: { readonly before: JobPlan | undefined; readonly answer: JobPlan; readonly most: number },
): JobPlan {
  if (answer.refusal === undefined) return answer.gpus === most ? answer : { ...answer, forEpoch: epoch + 1 };
  if (before === undefined || before.gpus === answer.gpus) return answer;
  // For more GPUs it is asked again after the next epoch, for as few or more never.
  return answer.gpus > before.gpus ? { ...before, forEpoch: epoch + 1 } : { ...before, noLayoutFor: answer.gpus };
}

/** The gang runs on fewer GPUs than the job asks for, and all of those would be there: how long they have to be. */
export function roomToGrow(record: JobRecord, facts: Facts): Wait | undefined {
  const spec = elasticSpec(facts);
  const attempt = liveAttempt(record);
  if (spec === undefined || attempt?.stage !== 'Released' || attempt.runningAt === undefined) return undefined;
  const missing = spec.gpus - worldSize(attempt.layout);
  if (missing <= 0 || freeGpus(record, facts) < missing || facts.observed.doOthersWait?.() === true) return undefined;
  return { key: `e${attempt.epoch}/room-to-grow`, limitMs: facts.timeouts.growMs };
}

/** Whether the gang has just saved a checkpoint, and there is room for more of it: then a restart loses least. */
export function isToGrow(record: JobRecord, facts: Facts): boolean {
  const wait = roomToGrow(record, facts);
  if (wait === undefined || !isOver(facts, wait)) return false;
  const saved = record.checkpoint?.step ?? -1;
  return saved > (facts.job.status?.checkpoint?.step ?? -1) && saved > resumedAt(liveAttempt(record));
}

function resumedAt(attempt: Attempt | undefined): number {
  return attempt?.resumedFrom?.step ?? -1;
}

/** Those of fewer copies of the model, as the layout divides it; and halves, where there is one copy or no layout. */
function fewerGpus({ minGpus, training }: ElasticSpec, plan: JobPlan, free: number): number | undefined {
  const { layout, gpus, noLayoutFor = Infinity } = plan;
  const copies = layout?.dataParallelDegree ?? 1;
  const batch = training?.globalBatchSize ?? 0;
  const fewerCopies = Array.from({ length: copies - 1 }, (_, index) => index + 1)
    .filter((degree) => batch % degree === 0)
    .map((degree) => (gpus / copies) * degree);
  const halves = Array.from({ length: Math.ceil(Math.log2(gpus)) }, (_, index) => gpus / 2 ** (index + 1));
  const possible = [...fewerCopies, ...halves].filter(
    (fewer) => Number.isInteger(fewer) && fewer >= minGpus && fewer <= free && fewer < noLayoutFor,
  );
  return possible.length === 0 ? undefined : Math.max(...possible);
}

/** GPUs that nobody holds, this job's own pods included, on nodes that it may use. */
function freeGpus({ avoidedNodes }: JobRecord, facts: Facts): number {
  const { fabric, usedGpus } = capacityWithout(facts.capacity(), avoidedNodes);
  return fabric.nodes
    .filter(({ usable }) => usable)
    .reduce((sum, { name, gpus }) => sum + Math.max(0, gpus - (usedGpus.get(name) ?? 0)), 0);
}
