/** How many GPUs does an elastic job run on? */
import type { JobPlan, TrainingJobSpec } from '@coxswain/api-types';
import { capacityWithout, smallerSizes } from '@coxswain/job-planning';
import { changeCostSeconds, medianReturnSeconds, shrinkWaitMs, speedupBetween } from '@coxswain/scheduling';
import { standingClaim } from '../observation/claims.ts';
import type { Facts } from '../observation/facts.ts';
import { isOver, type Wait } from '../observation/waits.ts';
import type { JobRecord } from '../record/job-record.ts';

/** The spec of a job that states a range of GPUs. */
export type ElasticSpec = TrainingJobSpec & { readonly gpus: number; readonly minGpus: number };

/** The spec, if the job is elastic. */
export function elasticSpec({ spec }: Facts): ElasticSpec | undefined {
  return spec?.gpus === undefined || spec.minGpus === undefined ? undefined : (spec as ElasticSpec);
}

/**
 * The wait after which the job is planned for fewer GPUs, because its plan finds no room or no layout; undefined: fewer GPUs are not
 * allowed.
 */
export function shortOfGpus(record: JobRecord, facts: Facts): Wait | undefined {
  const { plan, epoch } = record;
  const spec = elasticSpec(facts);
  if (spec === undefined || plan === undefined || plan.gpus <= spec.minGpus) return undefined;
  return { key: `e${epoch}/short-of-${plan.gpus}-gpus`, limitMs: shrinkLimitMs(record, plan, facts) };
}

/** After the loss of a node the job waits longer if its nodes usually come back soon. */
function shrinkLimitMs({ attempts }: JobRecord, plan: JobPlan, { timeouts }: Facts): number {
  const floorMs = timeouts.shrinkMs;
  if (attempts.at(-1)?.reason !== 'NodeLost') return floorMs;
  const job = { status: { epoch: 0, restarts: { total: 0, charged: 0 }, attempts: [...attempts], plan } };
  const returnSeconds = medianReturnSeconds(job);
  const [fewer = plan.gpus / 2] = (plan.sizes ?? []).map(({ gpus }) => gpus).filter((gpus) => gpus < plan.gpus);
  return shrinkWaitMs({
    ...(returnSeconds === undefined ? {} : { returnSeconds }),
    speed: 1 / speedupBetween(job, fewer, plan.gpus),
    costSeconds: changeCostSeconds(job),
    floorMs,
  });
}

/**
 * Number of GPUs to plan for; `plan` is the recorded one. If its GPUs were unavailable for a while, it is the largest number that is free
 * now and divides the batch. After an attempt on fewer GPUs, it is all of them again if so many are free. This is tried at most once per
 * epoch, because the plan would otherwise alternate without an epoch ever beginning.
 */
export function gpusToPlanFor(record: JobRecord, facts: Facts, plan: JobPlan | undefined): number | undefined {
  const spec = elasticSpec(facts);
  if (spec === undefined || plan === undefined) return facts.spec?.gpus;
  const wait = shortOfGpus(record, facts);
  // Running jobs leave their nodes for that size.
  if (standingClaim(record) !== undefined) return plan.gpus;
  const shrinks = leftToShrink(record) && freeGpus(record, facts) < plan.gpus;
  if (wait !== undefined && (shrinks || (isOver(facts, wait) && !hasAllItCounts(record, facts, plan))))
    return fewerGpus(spec, plan, freeGpus(record, facts)) ?? plan.gpus;
  const hasRun = plan.forEpoch !== undefined && record.epoch >= plan.forEpoch && mayAskForAll(facts, spec);
  // A gang that was stopped to grow is followed by a larger one, even if its own GPUs do not show as free yet.
  const wasReplaced = record.attempts.at(-1)?.outcome === 'Resized';
  return hasRun && (wasReplaced || freeGpus(record, facts) >= spec.gpus) ? spec.gpus : plan.gpus;
}

/**
 * Whether the job waits in its queue although quota and nodes are free for it: others are before it, the queue is on hold, or Kueue is about to preempt for it.
 * With fewer GPUs it would wait as well, and run on fewer when it is its turn.
 */
function hasAllItCounts(record: JobRecord, facts: Facts, { gpus }: JobPlan): boolean {
  return facts.observed.quota?.kind === 'waiting' && freeGpus(record, facts) >= gpus;
}

/** Whether the last gang made room by going on with fewer GPUs: it does so at once. */
function leftToShrink({ attempts }: JobRecord): boolean {
  return attempts.at(-1)?.forClaim?.wayOut === 'Shrink';
}

/** The plan to record after the planner's answer to {@link gpusToPlanFor}. A refusal for another number of GPUs keeps the recorded plan. */
export function elasticPlan(
  { epoch }: JobRecord,
  { before, answer, most }: { readonly before: JobPlan | undefined; readonly answer: JobPlan; readonly most: number },
): JobPlan {
  if (answer.refusal === undefined)
    return answer.gpus === most ? answer : { ...answer, ...sizesOf(before), forEpoch: epoch + 1 };
  if (before === undefined || before.gpus === answer.gpus) return answer;
  // For more GPUs the planner is asked again after the next attempt; for fewer, never.
  return answer.gpus > before.gpus ? { ...before, forEpoch: epoch + 1 } : { ...before, noLayoutFor: answer.gpus };
}

/** What the planner found when it planned for all GPUs. */
function sizesOf(before: JobPlan | undefined): Pick<JobPlan, 'sizes'> {
  return before?.sizes === undefined ? {} : { sizes: before.sizes };
}

/**
 * The largest possible smaller number of GPUs. Numbers for which the planner has found a layout come first; else fewer copies of the model, as the layout
 * divides it, or halves.
 */
function fewerGpus({ minGpus, training }: ElasticSpec, plan: JobPlan, free: number): number | undefined {
  const { layout, gpus, noLayoutFor = Infinity, sizes = [] } = plan;
  const globalBatchSize = training?.globalBatchSize ?? 0;
  const isPossible = (fewer: number): boolean =>
    fewer < gpus && fewer <= free && fewer < noLayoutFor && fewer >= minGpus;
  const known = sizes.map((size) => size.gpus).find(isPossible);
  const { dataParallelDegree = 1 } = layout ?? {};
  return known ?? smallerSizes({ gpus, minGpus, dataParallelDegree, globalBatchSize }).find(isPossible);
}

/** The numbers of copies of the model that need fewer GPUs than the layout, divide the batch, and need no fewer GPUs than the job accepts. */
export function copiesOfFewerGpus(
  { minGpus, training }: ElasticSpec,
  { layout, gpus }: Pick<JobPlan, 'layout' | 'gpus'>,
): readonly number[] {
  const copies = layout?.dataParallelDegree ?? 1;
  const batch = training?.globalBatchSize ?? 0;
  return Array.from({ length: copies - 1 }, (_, index) => index + 1).filter(
    (degree) => batch % degree === 0 && (gpus / copies) * degree >= minGpus,
  );
}

/** A node that the job may use, and its free GPUs. GPUs of the job's own pods are not free. */
export interface FreeNode {
  readonly name: string;
  readonly gpus: number;
}

/** Usable nodes that the job does not avoid and that have free GPUs. */
export function freeNodes({ avoidedNodes }: JobRecord, facts: Facts): readonly FreeNode[] {
  const { fabric, usedGpus } = capacityWithout(facts.capacity(), avoidedNodes);
  return fabric.nodes
    .filter(({ usable }) => usable)
    .map(({ name, gpus }) => ({ name, gpus: gpus - (usedGpus.get(name) ?? 0) }))
    .filter(({ gpus }) => gpus > 0);
}

/** GPUs on nodes, and, for a job that waits for quota, of its queue. */
function freeGpus(record: JobRecord, facts: Facts): number {
  const onNodes = freeNodes(record, facts).reduce((sum, { gpus }) => sum + gpus, 0);
  const { quota } = facts.observed;
  return quota?.kind === 'waiting' ? Math.min(onNodes, quota.free?.withBorrowed ?? 0) : onNodes;
}

/** A job that holds quota for fewer GPUs keeps it: asking for more would give it back. */
function mayAskForAll({ observed: { quota } }: Facts, { gpus }: ElasticSpec): boolean {
  return quota === undefined || quota.kind === 'waiting' || (quota.kind === 'admitted' && quota.gpus >= gpus);
}
