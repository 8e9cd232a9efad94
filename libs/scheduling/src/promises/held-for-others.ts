import type { PlacementSpec, TrainingJob } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { requestKey } from '../capacity/refusals.ts';
import { inOrder, namespaceOf, servingsOf } from '../order/in-order.ts';
import { inPromiseOrder, servedStarts } from '../order/promise-order.ts';
import { isWaitingForCapacity, waitingSince } from '../order/waiting-jobs.ts';
import { priorityOf } from '../order/priority.ts';
import { recordedClaim } from '../reservations/recorded-claim.ts';
import type { Reservations } from '../reservations/reservations.ts';
import type { GangRequest, PlacementRefusal } from '../gang-request.ts';
import type { GpusByNode, HeldNodes, NodePromise } from './node-promise.ts';
import { gpusOfPlacement, heldInSteps, nameOf } from './holders.ts';
import { hasRun, isWaiting, NodePromises, type NodePromisesParts } from './node-promises.ts';
import type { WaitingGang } from './promise-input.ts';
import { RecordedHeads } from './recorded-heads.ts';
import { type RightOfReturn, RightsOfReturn } from './rights-of-return.ts';

/** Parts of {@link HeldForOthers}. */
interface HeldForOthersParts extends Pick<
  NodePromisesParts,
  'view' | 'capacityOf' | 'usedGpus' | 'withClosed' | 'onFreed'
> {
  readonly reservations: Reservations;
  /** The last request of the job of that UID. */
  readonly requestOf: (jobUid: string) => GangRequest | undefined;
}

/** The nodes that are held for jobs ahead of others, as the scheduler uses them. */
export class HeldForOthers {
  readonly #parts: HeldForOthersParts;
  readonly #promises: NodePromises;
  readonly #heads: RecordedHeads;
  readonly #rights: RightsOfReturn;
  /** UIDs of jobs for which no nodes are held, because their status cannot be written. */
  readonly #withoutRecord = new Set<string>();

  constructor(parts: HeldForOthersParts) {
    this.#parts = parts;
    this.#rights = new RightsOfReturn(parts.view);
    this.#promises = new NodePromises({
      ...parts,
      areHeadsKnown: () => this.#heads.isKnown,
      reservedFor: (uid) => {
        const placement = parts.reservations.reservedFor(uid);
        return placement === undefined ? undefined : gpusOfPlacement(placement);
      },
      returning: () => this.#rights.all().filter(({ job }) => !this.#withoutRecord.has(job.uid)),
      waiting: (now) => this.#waiting(now),
      held: (now) => {
        const reserved = parts.reservations.reservations().map(({ placement }) => placement);
        return heldInSteps(parts.view, reserved, now);
      },
    });
    this.#heads = new RecordedHeads({ view: parts.view, hasAsked: (uid) => parts.requestOf(uid) !== undefined });
  }

  /** Derives the promises that are due. */
  refresh(): void {
    this.#promises.current();
  }

  /** The job asked this process for the first time: until then no nodes are held for it, whatever its status says. */
  asked(): void {
    this.#promises.isDueNow();
  }

  /** A node, its GPUs under pods, or reserved nodes changed. */
  nodesChanged(): void {
    this.#promises.nodesChanged();
  }

  /** The job changed, or was deleted (`after` undefined). */
  jobChanged(before: TrainingJob, after: TrainingJob | undefined): void {
    this.#rights.jobChanged(before, after);
    this.#promises.jobChanged(before, after);
  }

  /** The right of the job of that UID to get the nodes back that it left for another one; undefined: it has none. */
  rightOfReturn(jobUid: string): RightOfReturn | undefined {
    return this.#rights.all().find(({ job }) => job.uid === jobUid);
  }

  /** Holds no nodes for the job of that UID, or may hold them again. */
  setRecordable(jobUid: string, isRecordable: boolean): void {
    if (isRecordable) this.#withoutRecord.delete(jobUid);
    else {
      this.#withoutRecord.add(jobUid);
      this.#promises.drop(jobUid);
    }
  }

  /** The nodes that are held for the job of that UID; undefined: none, `deriving`: not known yet. */
  promiseFor(jobUid: string): NodePromise | 'deriving' | undefined {
    const promise = this.#promises.promiseFor(jobUid);
    const isKnown = this.#heads.isKnown && !this.#promises.isDeriving;
    return promise ?? (isKnown || this.#parts.view.now === undefined ? undefined : 'deriving');
  }

  /** The first job for which nodes are held that the job of that UID may not use; undefined: there is none. */
  waitsBehind(jobUid: string): NodePromise['job'] | undefined {
    return this.#bindingOn(jobUid)[0]?.job;
  }

  /** Equal for jobs that may use the same of the held nodes; empty for one that may use all. */
  usesOf(jobUid: string): string {
    const binding = this.#bindingOn(jobUid);
    return binding.length === 0 ? '' : ` without ${binding.map(({ job }) => job.uid).join(' ')}`;
  }

  /** Adds to the used GPUs those that the job of that UID may not use. */
  withHeld(used: GpusByNode, jobUid: string): GpusByNode {
    const job = this.#parts.view.job(jobUid);
    return job === undefined ? used : this.#promises.withHeld(used, job);
  }

  /** Whether the placement uses no GPUs that are held for others. One that its job's status records is beyond the question. */
  allows(placement: PlacementSpec, job: TrainingJob): boolean {
    const binding = this.#promises.bindingOn(job);
    const gpus = gpusOfPlacement(placement);
    if (!binding.some((promise) => [...gpus.keys()].some((name) => promise.gpus.has(name)))) return true;
    const used = this.#promises.withHeld(this.#parts.usedGpus(), job);
    const sizes = new Map(this.#parts.view.nodes().map(({ name, gpuCapacity }) => [name, gpuCapacity]));
    return [...gpus].every(([name, count]) => (used.get(name) ?? 0) + count <= (sizes.get(name) ?? 0));
  }

  /** The GPUs of the placement were reserved. */
  began(placement: PlacementSpec, job: TrainingJob): void {
    this.#promises.began(gpusOfPlacement(placement), job);
  }

  /**
   * The job of that UID asks. A refusal while a new leader does not know yet which nodes it held: a job ahead of this one has not asked it. Jobs
   * that wait keep their messages, so that a change of leader does not rewrite the status of each.
   */
  untilKnown(jobUid: string): PlacementRefusal | undefined {
    const job = this.#parts.view.job(jobUid);
    if (
      job === undefined ||
      this.#parts.view.now === undefined ||
      this.#heads.areAllKnown(() => this.#promises.allHaveAsked())
    )
      return undefined;
    return hasRun(job) ? undefined : this.#heads.refusalFor(job);
  }

  /** The jobs in the order of their turn. */
  inOrder(waiting: readonly TrainingJob[]): readonly TrainingJob[] {
    if (waiting.length < 2) return waiting;
    const { view, reservations } = this.#parts;
    const servings = servingsOf(view.jobs(), reservations.unrecorded().map(namespaceOf));
    return inOrder(waiting, servings, (job) => this.#promisedAt(job));
  }

  /** RFC 3339: since when nodes are held for the job. */
  #promisedAt({ metadata, status }: TrainingJob): string | undefined {
    const promise = this.#promises.derivedFor(metadata.uid);
    return promise?.promisedAt.toISOString() ?? status?.expectedStart?.promisedAt;
  }

  #bindingOn(jobUid: string): readonly HeldNodes[] {
    const job = this.#parts.view.job(jobUid);
    return job === undefined ? [] : this.#promises.bindingOn(job);
  }

  /** Jobs that have asked for nodes, in the order in which nodes are held for them. */
  #waiting(now: Date): readonly WaitingGang[] {
    const { view, reservations, requestOf } = this.#parts;
    const reserved = new Set(reservations.reservations().map(({ placement }) => placement.jobUid));
    const nowMs = now.getTime();
    const jobs = view.jobs();
    const mayBePromised = (job: TrainingJob): boolean =>
      !this.#withoutRecord.has(job.metadata.uid) &&
      (isWaitingForCapacity(job) ||
        job.status?.expectedStart !== undefined ||
        this.#promises.derivedFor(job.metadata.uid) !== undefined);
    // A claim that an earlier process recorded holds nodes for its job, too.
    const hasNodes = (job: TrainingJob): boolean => reserved.has(job.metadata.uid) || recordedClaim(job) !== undefined;
    const waiting = jobs.filter((job) => isWaiting(job) && !hasNodes(job) && mayBePromised(job));
    const candidates = waiting.flatMap((job) => {
      const request = requestOf(job.metadata.uid);
      const sinceMs = Date.parse(waitingSince(job));
      return request === undefined
        ? []
        : {
            job,
            request,
            namespace: namespaceOf(job),
            gpus: worldSize(request.layout),
            priority: priorityOf(job),
            sinceMs: Number.isNaN(sinceMs) ? nowMs : sinceMs,
            promisedAt: this.#promisedAt(job),
          };
    });
    const begun = reservations.unrecorded().map((job) => {
      const placement = reservations.reservedFor(job.metadata.uid);
      return { namespace: namespaceOf(job), gpus: placement?.worldSize ?? 0, atMs: nowMs };
    });
    const inTheirOrder = inPromiseOrder(candidates, { nowMs, starts: servedStarts(jobs, begun) });
    return inTheirOrder.map(({ job, request }) => gangOf(job, request));
  }
}

function gangOf(job: TrainingJob, request: GangRequest): WaitingGang {
  const { promisedAt, firstPromised } = job.status?.expectedStart ?? {};
  const recorded = { promisedAt: new Date(promisedAt ?? ''), firstStart: new Date(firstPromised ?? '') };
  const isRecorded = !Number.isNaN(recorded.promisedAt.getTime()) && !Number.isNaN(recorded.firstStart.getTime());
  return {
    job: nameOf(job),
    priority: priorityOf(job),
    pool: poolOf(job, request),
    request,
    // Thousands of jobs may wait, and few keys are read.
    get requestKey() {
      return requestKey(request);
    },
    ...(isRecorded ? { recorded } : {}),
  };
}

/** Which kind of GPU the job asks for, as far as it is known before nodes are found. */
function poolOf({ status }: TrainingJob, { demand, stageGpus }: GangRequest): string {
  if (stageGpus !== undefined) return stageGpus.map(({ gpuType }) => gpuType).join(' ');
  return status?.plan?.gpuType ?? (demand === undefined ? '' : JSON.stringify(demand.nodeSelector));
}
