/** When is a gang on fewer GPUs than its job asks for replaced by a larger one? */
import type { Attempt } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import {
  type GangRequest,
  type GrowthObstacle,
  growthObstacle,
  growthQuestion,
  growthWaitMs,
  rulesFor,
} from '@coxswain/scheduling';
import { runOf } from '../arbiter/recorded-ends.ts';
import { freeGpus } from '../observation/room.ts';
import { nodesOf } from '../observation/gang.ts';
import { type Facts, nodeStateOf } from '../observation/facts.ts';
import { isOver, type Wait } from '../observation/waits.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';
import { returnKey, returnOf } from '../observation/returns.ts';
import { canBeAskedToSave, isSavedFor } from './is-saved.ts';
import { lastStepOf } from './last-step.ts';
import { elasticSpec, type FreeNode, freeNodes } from './elastic.ts';

/** A failed growth that is older says nothing about today's nodes. */
const REMEMBERED_MS = 86_400_000;

/** Number of nodes to read live before growing onto them, the youngest ones. */
const MAX_READ_NODES = 64;

/** Sorts after every time: a node without a ready time counts as the youngest. */
const UNKNOWN = 'unknown';

/**
 * Sets of nodes that are timed side by side, because other jobs take and leave nodes meanwhile. A set that loses a node then does not
 * restart every wait.
 */
const MAX_ROOMS = 16;

/** A set of nodes with the missing GPUs. */
export interface RoomToGrow {
  /** How long the GPUs must stay free. */
  readonly wait: Wait;
  /** The youngest nodes of the set, 64 at most. */
  readonly youngestNodes: readonly string[];
}

/**
 * Sets of free nodes that would let the gang grow to the requested GPUs: first the nodes that have been ready longest, then these with the
 * next younger ones, and so on. The key of each wait holds the moment at which the set's youngest node became ready, so a node that was
 * gone in between, observed or not, belongs to a younger set. That moment comes from another clock and is not compared with ours.
 */
export function roomsToGrow(record: JobRecord, facts: Facts, now: Date): readonly RoomToGrow[] {
  const spec = elasticSpec(facts);
  const attempt = liveAttempt(record);
  if (spec === undefined || attempt?.stage !== 'Released' || attempt.runningAt === undefined) return [];
  const missing = spec.gpus - worldSize(attempt.layout);
  // Nodes that it left for a job which has ended are kept for it.
  const returns = returnOf(facts, attempt) !== undefined;
  if (missing <= 0 || (!returns && facts.observed.doOthersWait?.() === true)) return [];
  const ready = freeNodes(record, facts).filter(({ name }) => nodeStateOf(facts, name) === 'ready');
  const limitMs = returns ? 0 : growthWaitMs(facts.timeouts.growMs, growthsUndone(record, now));
  return steadiest(ready, missing, facts).map(({ readySince, youngestNodes }) => ({
    wait: { key: `e${attempt.epoch}/room-to-grow/${readySince}`, limitMs },
    youngestNodes,
  }));
}

/**
 * Whether the gang ends now to grow: its set of nodes has been free for long enough, it has just saved, so a restart loses least, and the arbiter
 * agrees, because other gangs may be about to take the same nodes. Between two saves the arbiter is only asked, so that what it holds can be counted. A
 * gang that gets back what it left for another job is asked to save.
 */
function growsNow(record: JobRecord, facts: Facts, now: Date): boolean {
  const attempt = liveAttempt(record);
  if (attempt === undefined || !wantsToGrow(record, facts, now) || !hasQuotaToGrow(facts)) return false;
  const saved = record.checkpoint?.step ?? -1;
  const right = returnOf(facts, attempt);
  const isSaved =
    right !== undefined &&
    (!canBeAskedToSave(facts, attempt) || isSavedFor(record, facts, { attempt, key: returnKey(right) }));
  const hasSaved = isSaved || (saved > (facts.job.status?.checkpoint?.step ?? -1) && saved > resumedAt(attempt));
  const missing = (facts.spec?.gpus ?? 0) - worldSize(attempt.layout);
  const ruling = facts.observed.ruleOnEnd?.({
    cause: 'growth',
    run: runOf(attempt),
    isDue: true,
    ...(hasSaved ? {} : { asksOnly: true }),
    ...(right === undefined ? {} : { isUrgent: true }),
    nodes: [],
    switches: [],
    claims: [],
    room: { neededGpus: Math.max(1, missing), freeGpus: freeGpus(facts, 1, []) },
  });
  return hasSaved && ruling?.kind !== 'held';
}

/**
 * Why growth of the running gang does not pay, whatever is free; undefined: it pays, or the gang gets back what it left for another job, which needs no
 * reason.
 */
export function whyNotToGrow(record: JobRecord, facts: Facts, now: Date): GrowthObstacle | undefined {
  const spec = elasticSpec(facts);
  const attempt = liveAttempt(record);
  if (spec === undefined || attempt === undefined || worldSize(attempt.layout) >= spec.gpus) return undefined;
  if (returnOf(facts, attempt) !== undefined) return undefined;
  const { epoch, restarts, attempts, plan, progress, checkpoint } = record;
  const known = { plan, progress, checkpoint };
  const status = { epoch, restarts, attempts: [...attempts], ...withoutAbsent(known) };
  const announcedAtMs = announcedLoss(facts, attempt);
  const question = growthQuestion(
    { ...facts.job, spec, status },
    {
      attempt,
      toGpus: spec.gpus,
      now,
      borrows: borrowsToGrow(facts, spec.gpus - worldSize(attempt.layout)),
      ...(announcedAtMs === undefined ? {} : { announcedAtMs }),
    },
  );
  return growthObstacle(question, rulesFor(facts.timeouts.growCosts));
}

/** Whether the queue of the job has too little unused quota of its own for the missing GPUs. Not known yet: it has. */
function borrowsToGrow({ observed: { quota } }: Facts, missing: number): boolean {
  if (quota === undefined) return false;
  return quota.kind !== 'admitted' || (quota.free?.own ?? 0) < missing;
}

/** When the first node of the gang is announced to leave, in milliseconds since 1970; undefined: none is, or its notice names no time. */
function announcedLoss(facts: Facts, attempt: Attempt): number | undefined {
  const times = nodesOf(facts, attempt).flatMap((node) => facts.observed.comingNoticeOf?.(node)?.beginsAtMs ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutAbsent<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}

/** Whether the missing GPUs have been free for long enough and growth pays. */
function wantsToGrow(record: JobRecord, facts: Facts, now: Date): boolean {
  return lastingRoom(record, facts, now) !== undefined && whyNotToGrow(record, facts, now) === undefined;
}

/** Whether Kueue counts the quota for all GPUs as the job's; a job in no queue needs none. */
export function hasQuotaToGrow({ observed: { quota }, spec }: Pick<Facts, 'observed' | 'spec'>): boolean {
  return quota === undefined || (quota.kind === 'admitted' && quota.gpus >= (spec?.gpus ?? 0));
}

/** What the running gang would ask its queue for on all GPUs: of the layout, only the number of ranks counts there. undefined: it does not grow. */
export function growthRequest(record: JobRecord, facts: Facts, now: Date): GangRequest | undefined {
  const spec = elasticSpec(facts);
  if (spec === undefined || !wantsToGrow(record, facts, now)) return undefined;
  const { gpusPerNode } = spec.resources;
  const layout = { tensorParallelDegree: spec.gpus, pipelineParallelDegree: 1, dataParallelDegree: 1 };
  return { layout, ...(gpusPerNode === undefined ? {} : { gpusPerNode }) };
}

/** Stops a gang on fewer GPUs than the job asks for, right after it has saved, to replace it by a larger one. */
export function recordGrowth(record: JobRecord, facts: Facts, now: Date): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released' || !growsNow(record, facts, now)) return record;
  const wanted = facts.spec?.gpus ?? 0;
  return withLastAttempt(record, {
    stage: 'Stopping',
    stoppingAt: now.toISOString(),
    outcome: 'Resized',
    reason: 'GpusFree',
    message: `It uses ${worldSize(attempt.layout)} of the ${wanted} GPUs that the job asks for, and the missing ones are free.`,
    charged: false,
    ...lastStepOf(record, facts),
  });
}

/** The first set that has been free for long enough. */
export function lastingRoom(record: JobRecord, facts: Facts, now: Date): RoomToGrow | undefined {
  return roomsToGrow(record, facts, now).find(({ wait }) => isOver(facts, wait));
}

/**
 * Nodes to read live before the gang is stopped to grow, because a cache may show a lost node as ready. Empty if the gang does not grow.
 */
export function nodesToGrowOnto(
  before: JobRecord,
  after: JobRecord,
  { facts, now }: { readonly facts: Facts; readonly now: Date },
): readonly string[] {
  const makesWay = after.attempts.at(-1)?.outcome === 'Resized' && liveAttempt(before)?.stage === 'Released';
  if (!makesWay) return [];
  return lastingRoom(before, facts, now)?.youngestNodes ?? [];
}

/** Number of growths of the last day that failed: the gang after them was not larger, or became smaller again. */
export function growthsUndone({ attempts }: Pick<JobRecord, 'attempts'>, now: Date): number {
  return attempts.filter(({ outcome, layout }, index) => {
    const [grown, ...later] = attempts.slice(index + 1);
    if (outcome !== 'Resized' || grown === undefined) return false;
    const undone = isFewer(layout, grown.layout) ? later.find((one) => isFewer(one.layout, grown.layout)) : grown;
    return undone !== undefined && now.getTime() - Date.parse(undone.startedAt) < REMEMBERED_MS;
  }).length;
}

function isFewer(one: Attempt['layout'], other: Attempt['layout']): boolean {
  return worldSize(one) < worldSize(other);
}

function resumedAt(attempt: Attempt | undefined): number {
  return attempt?.resumedFrom?.step ?? -1;
}

/** Sets of nodes with at least that many GPUs, by the moment at which the youngest node became ready, oldest set first. */
function steadiest(
  free: readonly FreeNode[],
  gpus: number,
  { observed }: Facts,
): readonly { readonly readySince: string; readonly youngestNodes: readonly string[] }[] {
  const bySince = Map.groupBy(free, ({ name }) => observed.readySinceOf?.(name) ?? UNKNOWN);
  const names: string[] = [];
  let there = 0;
  return [...bySince.keys()]
    .sort()
    .flatMap((readySince) => {
      for (const node of bySince.get(readySince) ?? []) {
        names.push(node.name);
        there += node.gpus;
      }
      return there < gpus ? [] : [{ readySince, youngestNodes: names.slice(-MAX_READ_NODES) }];
    })
    .slice(0, MAX_ROOMS);
}
