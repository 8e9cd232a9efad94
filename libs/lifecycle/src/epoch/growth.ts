/** When does a gang on fewer GPUs than its job asks for make way for one on all of them? */
import type { Attempt } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { type Facts, nodeStateOf } from '../look/facts.ts';
import { isOver, type Wait } from '../look/waits.ts';
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

/** The GPUs that are missing are there. */
export interface RoomToGrow {
  /** How long they have to be. */
  readonly wait: Wait;
  /** On which nodes, those that have been ready for longest; the youngest last. */
  readonly nodes: readonly string[];
}

/**
 * The gang runs on fewer GPUs than the job asks for, and all of those would be there. The wait is named for the moment at which the youngest of their nodes became
 * ready: a node that was gone in between, seen or not, begins it anew. That moment is another clock's and is compared with none.
 */
export function roomToGrow(record: JobRecord, facts: Facts, now: Date): RoomToGrow | undefined {
  const spec = elasticSpec(facts);
  const attempt = liveAttempt(record);
  if (spec === undefined || attempt?.stage !== 'Released' || attempt.runningAt === undefined) return undefined;
  const missing = spec.gpus - worldSize(attempt.layout);
  if (missing <= 0 || facts.observed.doOthersWait?.() === true) return undefined;
  const ready = freeNodes(record, facts).filter(({ name }) => nodeStateOf(facts, name) === 'ready');
  const chosen = steadiest(ready, missing, facts);
  if (chosen === undefined) return undefined;
  const limitMs = facts.timeouts.growMs * 2 ** Math.min(MOST_DOUBLINGS, growthsUndone(record, now));
  return {
    wait: { key: `e${attempt.epoch}/room-to-grow/${chosen.youngest}`, limitMs },
    nodes: chosen.nodes,
  };
}

/** Whether the gang has just saved a checkpoint, and there is room for more of it: then a restart loses least. */
export function isToGrow(record: JobRecord, facts: Facts, now: Date): boolean {
  const saved = record.checkpoint?.step ?? -1;
  if (saved <= (facts.job.status?.checkpoint?.step ?? -1) || saved <= resumedAt(liveAttempt(record))) return false;
  const room = roomToGrow(record, facts, now);
  return room !== undefined && isOver(facts, room.wait);
}

/** Nodes that are to be read live before the gang makes way for more: a cache may show one as ready that is gone again. None where it does not make way. */
export function nodesToGrowOnto(
  before: JobRecord,
  after: JobRecord,
  about: { facts: Facts; now: Date },
): readonly string[] {
  const makesWay = after.attempts.at(-1)?.outcome === 'Resized' && liveAttempt(before)?.stage === 'Released';
  return makesWay ? (roomToGrow(before, about.facts, about.now)?.nodes ?? []).slice(-MOST_ASKED_NODES) : [];
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

/** As many nodes as have the GPUs, those first that have been ready for longest; undefined where all together have too few. */
function steadiest(
  free: readonly FreeNode[],
  gpus: number,
  { observed }: Facts,
): { readonly nodes: readonly string[]; readonly youngest: string } | undefined {
  const dated = free.map((node) => ({ ...node, since: observed.readySinceOf?.(node.name) ?? UNKNOWN }));
  dated.sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
  const nodes: string[] = [];
  let left = gpus;
  for (const { name, gpus: there, since } of dated) {
    nodes.push(name);
    left -= there;
    if (left <= 0) return { nodes, youngest: since };
  }
  return undefined;
}
