/** On how many GPUs does a job go on that may run on fewer than it asks for? */
import type { JobPlan, TrainingJobSpec } from '@coxswain/api-types';
import { capacityWithout } from '@coxswain/job-planning';
import type { Facts } from '../observation/facts.ts';
import { isOver, type Wait } from '../observation/waits.ts';
import type { JobRecord } from '../record/job-record.ts';

/** A job that says from how many to how many GPUs it runs on. */
type ElasticSpec = TrainingJobSpec & { readonly gpus: number; readonly minGpus: number };

export function elasticSpec({ spec }: Facts): ElasticSpec | undefined {
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

/** A node that the job may use, and GPUs of it that nobody holds, this job's own pods included. */
export interface FreeNode {
  readonly name: string;
  readonly gpus: number;
}

export function freeNodes({ avoidedNodes }: JobRecord, facts: Facts): readonly FreeNode[] {
  const { fabric, usedGpus } = capacityWithout(facts.capacity(), avoidedNodes);
  return fabric.nodes
    .filter(({ usable }) => usable)
    .map(({ name, gpus }) => ({ name, gpus: gpus - (usedGpus.get(name) ?? 0) }))
    .filter(({ gpus }) => gpus > 0);
}

function freeGpus(record: JobRecord, facts: Facts): number {
  return freeNodes(record, facts).reduce((sum, { gpus }) => sum + gpus, 0);
}
