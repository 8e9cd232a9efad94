import { worldSize } from '@coxswain/layout';
import type { GangRequest, PlacementRefusal } from '../gang-request.ts';
import { demandKey } from './demand-key.ts';
import type { FreeGpus } from './free-gpus.ts';

/**
 * How long a refusal stands although the GPUs are there: what refused it (promises, or how they lie together) is not counted here, and others may
 * have their turn first.
 */
const RETRY_MS = 10_000;

/** How long one stands at all, so that its sentence, which names counts, does not grow too old. */
const LONGEST_MS = 1_800_000;

/** Requests that are remembered. One that is forgotten too early is placed once more, with the same answer. */
const MAX_REQUESTS = 4_096;

interface Refused {
  readonly refusal: PlacementRefusal;
  readonly atMs: number;
  /** Free GPUs had risen so often by then. */
  readonly rises: number;
  /** Since when the free GPUs are enough by count, as far as somebody has asked. */
  fitsSinceMs: number | undefined;
}

/** The key is made once: thousands of jobs are asked about whenever a pod ends. */
interface Asked {
  readonly request: GangRequest;
  readonly key: string;
}

/** What refusals are judged by. */
interface RefusalsParts {
  /** Free GPUs that such a request may be given. */
  readonly freeFor: (request: GangRequest) => Pick<FreeGpus, 'total' | 'nodesWith'>;
  /** As long as it stands still, nothing fits that did not fit. */
  readonly rises: () => number;
}

/**
 * What was refused for want of GPUs, and whether it would be refused again. A search over ten thousand nodes, and for what would help, takes tenths of a second and
 * thousands of jobs may wait, most of them for the same: it is made again only when enough GPUs have become free, by those first whose turn it is.
 * Times are monotonic.
 */
export class Refusals {
  readonly #parts: RefusalsParts;
  /** By request, oldest first. */
  readonly #refused = new Map<string, Refused>();
  /** What each job that was looked at asks for. */
  readonly #asked = new Map<string, Asked>();
  /** UIDs of the jobs that were offered what had become free, and how often free GPUs had risen by then. */
  #offered: { readonly to: ReadonlySet<string>; readonly rises: number } = { to: new Set(), rises: 0 };

  constructor(parts: RefusalsParts) {
    this.#parts = parts;
  }

  /** The refusal of that request, while what refused it has not changed or others have their turn. */
  standing(job: { readonly uid: string; readonly request: GangRequest }, nowMs: number): PlacementRefusal | undefined {
    const asked = { request: job.request, key: keyOf(job.request) };
    this.#asked.set(job.uid, asked);
    return this.#standing(asked, {
      nowMs,
      isOffered: this.#offered.to.has(job.uid),
      offeredRises: this.#offered.rises,
    });
  }

  /** Offers what is free by now to those of the jobs that may get it, and to nobody else until the next offer; answers with them. */
  offer<Job extends { readonly metadata: { readonly uid: string } }>(
    jobs: readonly Job[],
    nowMs: number,
  ): readonly Job[] {
    const offeredRises = this.#parts.rises();
    const may = jobs.filter(({ metadata: { uid } }) => {
      const asked = this.#asked.get(uid);
      return asked === undefined || this.#standing(asked, { nowMs, isOffered: true, offeredRises }) === undefined;
    });
    this.#offered = { to: new Set(may.map(({ metadata }) => metadata.uid)), rises: offeredRises };
    return may;
  }

  /** The fabric has just refused that request. */
  note(request: GangRequest, refusal: PlacementRefusal, nowMs: number): void {
    const key = keyOf(request);
    this.#refused.delete(key);
    this.#refused.set(key, { refusal, atMs: nowMs, rises: this.#parts.rises(), fitsSinceMs: undefined });
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_REQUESTS && oldest !== undefined) this.#refused.delete(oldest);
  }

  /** What the job of that UID asked for when it was looked at last. */
  requestOf(jobUid: string): GangRequest | undefined {
    return this.#asked.get(jobUid)?.request;
  }

  /** The job is gone, or waits no longer. */
  forget(jobUid: string): void {
    this.#asked.delete(jobUid);
  }

  /** Jobs and requests that something is kept for; for tests of memory. */
  get size(): number {
    return this.#asked.size + this.#refused.size;
  }

  #standing(
    { request, key }: Asked,
    turn: { readonly nowMs: number; readonly isOffered: boolean; readonly offeredRises: number },
  ): PlacementRefusal | undefined {
    const refused = this.#refused.get(key);
    if (refused === undefined) return undefined;
    const { nowMs, isOffered, offeredRises } = turn;
    const ageMs = nowMs - refused.atMs;
    if (!canFit(request, this.#parts.freeFor(request))) {
      refused.fitsSinceMs = undefined;
      return ageMs < LONGEST_MS ? refused.refusal : undefined;
    }
    refused.fitsSinceMs ??= nowMs;
    const hasTurn = isOffered && refused.rises < offeredRises;
    const waitedMs = nowMs - Math.max(refused.atMs, refused.fitsSinceMs);
    return !hasTurn && waitedMs < RETRY_MS ? refused.refusal : undefined;
  }
}

/** Whether the free GPUs are enough by count; how they lie together is for the search to say. */
function canFit({ layout, gpusPerNode }: GangRequest, free: Pick<FreeGpus, 'total' | 'nodesWith'>): boolean {
  const ranks = worldSize(layout);
  if (free.total < ranks) return false;
  if (gpusPerNode === undefined) return true;
  const perPod = Math.min(gpusPerNode, ranks);
  return free.nodesWith(perPod) >= Math.floor(ranks / perPod);
}

/** Objects of a cache are asked about with every look. */
const keys = new WeakMap<GangRequest['layout'], Map<string, string>>();

function keyOf(request: GangRequest): string {
  const { demand } = request;
  return demand === undefined ? keyOfGpus(request) : `${keyOfGpus(request)} ${demandKey(demand)}`;
}

/** Traffic is no part of it: that says where a gang is best, not whether it fits. The batch is: the refusal names degrees that divide it. */
function keyOfGpus(request: GangRequest): string {
  const { gpusPerNode, acrossIslands = 'never', batch, layout, replacing, stageGpus } = request;
  const known = keys.get(layout) ?? new Map<string, string>();
  keys.set(layout, known);
  const types =
    stageGpus === undefined ? '' : JSON.stringify(stageGpus.map(({ stages, gpuType }) => [stages, gpuType]));
  const ways = [gpusPerNode, acrossIslands, batch?.globalBatchSize, batch?.microBatchSize, replacing, types].join(' ');
  const key = known.get(ways) ?? JSON.stringify([ways, layout]);
  known.set(ways, key);
  return key;
}
