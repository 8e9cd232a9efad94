import { worldSize } from '@coxswain/layout';
import type { GangRequest, PlacementRefusal } from '../gang-request.ts';
import { demandKey } from './demand-key.ts';
import type { FreeGpus } from './free-gpus.ts';

/**
 * How long a refusal stands although enough GPUs are free. The cause (reservations, or where the free GPUs are) is not counted here, and other
 * jobs may have their turn first.
 */
const RETRY_MS = 10_000;

/** How long a refusal stands at most, because its message names counts that change. */
const LONGEST_MS = 1_800_000;

/** Requests that are kept. If one is dropped too early, it is searched once more, with the same result. */
const MAX_REQUESTS = 4_096;

/** Jobs that are woken beyond as many as fit. */
const MORE_THAN_FIT = 8;

interface RecordedRefusal {
  readonly refusal: PlacementRefusal;
  readonly atMs: number;
  /** How often free GPUs had increased when the capacity was read in which the request found no nodes. */
  readonly rises: number;
  /** Since when enough GPUs are free by count, as of the last question about this request. */
  fitsSinceMs: number | undefined;
}

/** The key is computed once: whenever a pod ends, thousands of jobs are checked. */
interface KeyedRequest {
  readonly request: GangRequest;
  readonly key: string;
}

/** Jobs with equal requests. */
interface Kind {
  readonly request: GangRequest;
  jobs: number;
}

/** A job that asks for nodes. */
interface AskingJob {
  readonly uid: string;
  readonly request: GangRequest;
  /** Which held nodes it may not use: equal for jobs that may use the same. Absent: it may use all. */
  readonly uses?: string;
}

/** The free capacity that refusals are checked against. */
interface RefusalsParts {
  /** Free GPUs that such a request may use. */
  readonly freeFor: (request: GangRequest) => Pick<FreeGpus, 'total' | 'nodesWith'>;
  /** How often free GPUs have increased: while it is unchanged, no gang fits that did not fit before. */
  readonly rises: () => number;
}

/**
 * Which requests were refused for lack of GPUs, and whether they would be refused again. A search over ten thousand nodes takes tenths of a
 * second, and thousands of jobs may wait, most of them with the same request. So a request is searched again only when enough GPUs have become
 * free, and first by the jobs whose turn it is. All times are monotonic.
 */
export class Refusals {
  readonly #parts: RefusalsParts;
  /** By request, oldest first. */
  readonly #refused = new Map<string, RecordedRefusal>();
  /** Last request of each job, by UID. */
  readonly #asked = new Map<string, KeyedRequest>();
  /** The same by key: thousands of jobs may wait with a few different requests. */
  readonly #kinds = new Map<string, Kind>();
  #offeredAtMs = -Infinity;
  /** The jobs in the last offer by UID, with what is equal for those that would find the same nodes; and how often free GPUs had increased by then. */
  #offered: { readonly to: ReadonlyMap<string, string>; readonly rises: number } = { to: new Map(), rises: 0 };

  constructor(parts: RefusalsParts) {
    this.#parts = parts;
  }

  /** The refusal of that request, while its cause has not changed or other jobs have their turn; undefined: the request is to be searched. */
  standing(job: AskingJob, nowMs: number): PlacementRefusal | undefined {
    const asked = { request: job.request, key: requestKey(job.request) };
    this.#ask(job.uid, asked);
    return this.#standing(asked, {
      nowMs,
      uses: job.uses ?? '',
      isOffered: this.#offered.to.has(job.uid),
      offeredRises: this.#offered.rises,
    });
  }

  /**
   * Whether an offer would reach no job that has asked: no request fits by count. Jobs that never asked are not known here, so at least every ten
   * seconds all are looked at.
   */
  isOfferVain(nowMs: number): boolean {
    if (nowMs - this.#offeredAtMs >= RETRY_MS) return false;
    return ![...this.#kinds.values()].some(({ request }) => canFit(request, this.#parts.freeFor(request)));
  }

  /**
   * Offers the GPUs that are free now to those of the jobs that may fit, and returns these jobs. Until the next offer, no other job is offered
   * anything.
   */
  offer<Job extends { readonly metadata: { readonly uid: string } }>(
    jobs: readonly Job[],
    nowMs: number,
    usesOf: (jobUid: string) => string = () => '',
  ): readonly Job[] {
    const offeredRises = this.#parts.rises();
    this.#offeredAtMs = nowMs;
    // Thousands of jobs may wait with the same request. Which held nodes each may not use is asked only where the GPUs are enough.
    const fits = new Map<string, boolean>();
    const mayFit = ({ key, request }: KeyedRequest): boolean => {
      const known = fits.get(key) ?? canFit(request, this.#parts.freeFor(request));
      fits.set(key, known);
      return known;
    };
    const to = new Map<string, string>();
    const may = jobs.filter(({ metadata: { uid } }) => {
      const asked = this.#asked.get(uid);
      const uses = asked !== undefined && mayFit(asked) ? usesOf(uid) : '';
      const turn = { nowMs, isOffered: true, offeredRises, uses };
      const isOffered = asked === undefined || (mayFit(asked) && this.#standing(asked, turn) === undefined);
      if (isOffered) to.set(uid, asked === undefined ? uid : `${asked.key}${uses}`);
      return isOffered;
    });
    this.#offered = { to, rises: offeredRises };
    return may;
  }

  /**
   * Of jobs of the last offer in the order of their turn, those that can find nodes by count, and a few more for those that do not take them. Of thousands
   * with the same request, only the first find any. Each namespace is counted by itself, because what keeps its jobs from starting may keep all of them.
   */
  firstOf<Job extends { readonly metadata: { readonly uid: string; readonly namespace?: string } }>(
    inTurn: readonly Job[],
  ): readonly Job[] {
    const counts = new Map<string, number>();
    return inTurn.filter(({ metadata: { uid, namespace = '' } }) => {
      const [group, asked] = [this.#offered.to.get(uid), this.#asked.get(uid)];
      if (group === undefined || asked === undefined) return true;
      const before = counts.get(`${namespace} ${group}`) ?? 0;
      counts.set(`${namespace} ${group}`, before + 1);
      const { request } = asked;
      return before < MORE_THAN_FIT + this.#parts.freeFor(request).total / worldSize(request.layout);
    });
  }

  /** Records that no nodes were found for that request. */
  record(
    refused: Omit<AskingJob, 'uid'> & { readonly refusal: PlacementRefusal; readonly rises: number },
    nowMs: number,
  ): void {
    const { request, refusal, uses = '', rises } = refused;
    const key = `${requestKey(request)}${uses}`;
    this.#refused.delete(key);
    this.#refused.set(key, { refusal, atMs: nowMs, rises, fitsSinceMs: undefined });
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_REQUESTS && oldest !== undefined) this.#refused.delete(oldest);
  }

  /** The last request of the job of that UID. */
  requestOf(jobUid: string): GangRequest | undefined {
    return this.#asked.get(jobUid)?.request;
  }

  /** Forgets a job that was deleted or no longer waits. */
  forget(jobUid: string): void {
    const asked = this.#asked.get(jobUid);
    this.#asked.delete(jobUid);
    const kind = this.#kinds.get(asked?.key ?? '');
    if (asked === undefined || kind === undefined) return;
    kind.jobs -= 1;
    if (kind.jobs === 0) this.#kinds.delete(asked.key);
  }

  /** Number of jobs and requests that are kept; for tests of memory. */
  get size(): number {
    return this.#asked.size + this.#kinds.size + this.#refused.size;
  }

  #ask(jobUid: string, asked: KeyedRequest): void {
    if (this.#asked.get(jobUid)?.key !== asked.key) {
      this.forget(jobUid);
      const kind = this.#kinds.get(asked.key) ?? { request: asked.request, jobs: 0 };
      kind.jobs += 1;
      this.#kinds.set(asked.key, kind);
    }
    this.#asked.set(jobUid, asked);
  }

  #standing(
    { request, key }: KeyedRequest,
    turn: {
      readonly nowMs: number;
      readonly uses: string;
      readonly isOffered: boolean;
      readonly offeredRises: number;
    },
  ): PlacementRefusal | undefined {
    const refused = this.#refused.get(`${key}${turn.uses}`);
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

/** Whether enough GPUs are free by count. Where they are, the search checks. */
function canFit({ layout, gpusPerNode }: GangRequest, free: Pick<FreeGpus, 'total' | 'nodesWith'>): boolean {
  const ranks = worldSize(layout);
  if (free.total < ranks) return false;
  if (gpusPerNode === undefined) return true;
  const perPod = Math.min(gpusPerNode, ranks);
  return free.nodesWith(perPod) >= Math.floor(ranks / perPod);
}

/** Every reconciliation asks for the key of the same cached layout. */
const keys = new WeakMap<GangRequest['layout'], Map<string, string>>();

/** A key that is equal for requests that the same nodes suit. */
export function requestKey(request: GangRequest): string {
  const { demand } = request;
  return demand === undefined ? keyOfGpus(request) : `${keyOfGpus(request)} ${demandKey(demand)}`;
}

/**
 * Leaves out traffic, which decides where a gang is best and not whether it fits. Includes the batch, because the refusal names degrees that
 * divide it.
 */
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
