/** When does a gang on fewer GPUs than its job asks for make way for one on all of them? */
import type { Attempt } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { type Facts, nodeStateOf } from '../observation/facts.ts';
import { isOver, type Wait } from '../observation/waits.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { elasticSpec, type FreeNode, freeNodes } from './elastic.ts';

/** 32 times the wait of ten minutes: five hours, so that a node that never stays costs five restarts a day at most. */
const MOST_DOUBLINGS = 5;

/** A growth that did not last and that was longer ago says nothing of today's nodes. */
const REMEMBERED_MS = 86_400_000;

/** Of the nodes that the gang would grow onto, so many are asked of the API server whether they still are there, the youngest ones. */
const MOST_ASKED_NODES = 64;

/** Later than every time: a node that does not say since when it is ready counts as the youngest. */
const UNKNOWN = 'unknown';

/** Others take and leave nodes meanwhile: so many sets of nodes are timed side by side, so that one that loses a node need not begin anew. */
const MOST_ROOMS = 16;

/** The GPUs that are missing are there. */
export interface RoomToGrow {
  /** How long they have to be. */
  readonly wait: Wait;
  /** The youngest of the nodes that they are on, 64 at most. */
  readonly youngestNodes: readonly string[];
}

/**
 * The gang runs on fewer GPUs than the job asks for, and all of those would be there: on the nodes that have been ready for longest, and again on these with
 * the next younger ones. Each wait is named for the moment at which the youngest node of its set became ready: a node that was gone in between, seen or not, is
 * in a younger set. That moment is another clock's, and compared with none of ours.
 */
export function roomsToGrow(record: JobRecord, facts: Facts, now: Date): readonly RoomToGrow[] {
  const spec = elasticSpec(facts);
  const attempt = liveAttempt(record);
  if (spec === undefined || attempt?.stage !== 'Released' || attempt.runningAt === undefined) return [];
  const missing = spec.gpus - worldSize(attempt.layout);
  if (missing <= 0 || facts.observed.doOthersWait?.() === true) return [];
  const ready = freeNodes(record, facts).filter(({ name }) => nodeStateOf(facts, name) === 'ready');
  const limitMs = facts.timeouts.growMs * 2 ** Math.min(MOST_DOUBLINGS, growthsUndone(record, now));
  return steadiest(ready, missing, facts).map(({ readySince, youngestNodes }) => ({
    wait: { key: `e${attempt.epoch}/room-to-grow/${readySince}`, limitMs },
    youngestNodes,
  }));
}

/** Where the gang has just saved a checkpoint, so that a restart loses least: the room that has been there for long enough. */
export function roomToTake(record: JobRecord, facts: Facts, now: Date): RoomToGrow | undefined {
  const saved = record.checkpoint?.step ?? -1;
  const hasSaved = saved > (facts.job.status?.checkpoint?.step ?? -1) && saved > resumedAt(liveAttempt(record));
  return hasSaved ? lastingRoom(record, facts, now) : undefined;
}

/** The first that has been there for long enough. */
function lastingRoom(record: JobRecord, facts: Facts, now: Date): RoomToGrow | undefined {
  return roomsToGrow(record, facts, now).find(({ wait }) => isOver(facts, wait));
}

/** Nodes that are to be read live before the gang makes way for more: a cache may show one as ready that is gone again. None where it does not make way. */
export function nodesToGrowOnto(
  before: JobRecord,
  after: JobRecord,
  { facts, now }: { readonly facts: Facts; readonly now: Date },
): readonly string[] {
  const makesWay = after.attempts.at(-1)?.outcome === 'Resized' && liveAttempt(before)?.stage === 'Released';
  if (!makesWay) return [];
  return lastingRoom(before, facts, now)?.youngestNodes ?? [];
}

/** Growths of the last day that did not last, as attempts tell: what made way for more was followed by no more, or by fewer again. */
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

/** Sets of nodes that have so many GPUs, by the moment at which the youngest of the set became ready; the oldest set first. */
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
      return there < gpus ? [] : [{ readySince, youngestNodes: names.slice(-MOST_ASKED_NODES) }];
    })
    .slice(0, MOST_ROOMS);
}
