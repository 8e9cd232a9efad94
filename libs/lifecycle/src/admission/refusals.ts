import type { placeGang, PlacementOutcome } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import type { FreeGpus } from './free-gpus.ts';

/** What a gang asks of the fabric. */
export type GangRequest = Parameters<typeof placeGang>[0];

/** Why it cannot be placed, and what it would need. */
export type PlacementRefusal = Exclude<PlacementOutcome, { readonly kind: 'placed' }>;

/** How long a refusal stands although the GPUs are there: what refused it (promises, or how they lie together) is not counted here. */
const RETRY_MS = 10_000;

/** How long one stands at all, so that its sentence, which names counts, does not grow too old. */
const LONGEST_MS = 1_800_000;

/** Requests that are remembered. One that is forgotten too early is placed once more, with the same answer. */
const MAX_REQUESTS = 4_096;

interface Refused {
  readonly refusal: PlacementRefusal;
  readonly atMs: number;
  /** `FreeGpus.rises` at that time. */
  readonly rises: number;
}

/** The key is made once: thousands of jobs are asked about whenever a pod ends. */
interface Asked {
  readonly request: GangRequest;
  readonly key: string;
}

/**
 * What was refused for want of GPUs, and whether it would be refused again. A search over ten thousand nodes takes tens of milliseconds and
 * thousands of jobs may wait, most of them for the same: it is made again only when enough GPUs have become free. Times are monotonic.
 */
export class Refusals {
  readonly #free: FreeGpus;
  /** By request, oldest first. */
  readonly #refused = new Map<string, Refused>();
  /** What each job that was looked at asks for. */
  readonly #asked = new Map<string, Asked>();

  constructor(free: FreeGpus) {
    this.#free = free;
  }

  /** The refusal of that request, while what refused it has not changed. */
  standing(job: { readonly uid: string; readonly request: GangRequest }, nowMs: number): PlacementRefusal | undefined {
    const asked = { request: job.request, key: keyOf(job.request) };
    this.#asked.set(job.uid, asked);
    return this.#standing(asked, nowMs);
  }

  /** Whether the job of that UID would be refused again; false for one that has not been refused here. */
  isStillRefused(jobUid: string, nowMs: number): boolean {
    const asked = this.#asked.get(jobUid);
    return asked !== undefined && this.#standing(asked, nowMs) !== undefined;
  }

  /** The fabric has just refused that request. */
  note(request: GangRequest, refusal: PlacementRefusal, nowMs: number): void {
    const key = keyOf(request);
    this.#refused.delete(key);
    this.#refused.set(key, { refusal, atMs: nowMs, rises: this.#free.rises });
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_REQUESTS && oldest !== undefined) this.#refused.delete(oldest);
  }

  /** The job is gone, or waits no longer. */
  forget(jobUid: string): void {
    this.#asked.delete(jobUid);
  }

  /** Jobs and requests that something is kept for; for tests of memory. */
  get size(): number {
    return this.#asked.size + this.#refused.size;
  }

  #standing({ request, key }: Asked, nowMs: number): PlacementRefusal | undefined {
    const refused = this.#refused.get(key);
    if (refused === undefined) return undefined;
    const ageMs = nowMs - refused.atMs;
    const stands = canFit(request, this.#free)
      ? this.#free.rises === refused.rises && ageMs < RETRY_MS
      : ageMs < LONGEST_MS;
    return stands ? refused.refusal : undefined;
  }
}

/** Whether the free GPUs are enough by count; how they lie together is for the search to say. */
function canFit({ layout, gpusPerNode }: GangRequest, free: FreeGpus): boolean {
  const ranks = worldSize(layout);
  if (free.total < ranks) return false;
  if (gpusPerNode === undefined) return true;
  const perPod = Math.min(gpusPerNode, ranks);
  return free.nodesWith(perPod) >= Math.floor(ranks / perPod);
}

function keyOf(request: GangRequest): string {
  return JSON.stringify([request.gpusPerNode, request.layout]);
}
