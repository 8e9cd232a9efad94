import { findNodes, type FabricCapacity } from '@coxswain/fabric';
import { type Attempt, findCondition, type TrainingJob } from '@coxswain/api-types';
import { isLongSearch } from '../capacity/long-search.ts';
import type { SchedulerView } from '../scheduler-view.ts';
import { OverrunHistory } from '../times/overrun-history.ts';
import { predictedEnd, runningAttempt } from '../times/predicted-end.ts';
import { namespaceOf } from '../order/in-order.ts';
import { priorityOf } from '../order/priority.ts';
import { isWaitingForCapacity } from '../order/waiting-jobs.ts';
import type { Held } from './holders.ts';
import { bindingPromises, withHeld } from './binding.ts';
import { derivePromises, type PromiseDerivation } from './derive-promises.ts';
import type { GpusByNode, HeldNodes, NodePromise } from './node-promise.ts';
import type { PromiseInput, WaitingGang } from './promise-input.ts';
import type { RightOfReturn } from './rights-of-return.ts';
import type { GangRequest, NodeQuestion } from '../gang-request.ts';

/** Parts of {@link NodePromises}. */
export interface NodePromisesParts {
  readonly view: SchedulerView;
  /** Waiting jobs that have asked for nodes, in the order in which nodes are held for them. */
  readonly waiting: (now: Date) => readonly WaitingGang[];
  /** Whether every job for which the leader before held nodes has asked. Others would get their nodes before. */
  readonly areHeadsKnown: () => boolean;
  /** GPUs that are reserved for the job of that UID, by this process or by a claim that status records; undefined: none are. */
  readonly reservedFor: (jobUid: string) => GpusByNode | undefined;
  /** Nodes that jobs left for others, and get back first. */
  readonly returning: () => readonly RightOfReturn[];
  /** Jobs that hold GPUs at the time of the call. */
  readonly held: (now: Date) => Generator<'pause', Held>;
  readonly capacityOf: (request: GangRequest) => Omit<FabricCapacity, 'usedGpus'>;
  /** GPUs that anything uses, by node. */
  readonly usedGpus: () => GpusByNode;
  readonly withClosed: PromiseInput['withClosed'];
  /** Fewer GPUs are held, so refused requests may fit now. */
  readonly onFreed: () => void;
}

/** A derivation that waits for a search. */
interface UnderWay {
  readonly derivation: PromiseDerivation;
  /** asked: another process searches. pause: other work may come first. */
  readonly question: NodeQuestion | 'asked' | 'pause';
}

/** Promises are derived again at most that often, because an end moves with every report. */
const INTERVAL_MS = 5_000;
/** The same where searches run in another process. */
const LONG_INTERVAL_MS = 30_000;
/** Promises are derived again after that time, because an end that is unknown moves with the clock. */
const OLD_MS = 60_000;
/** A thousand jobs may begin to wait within a second. */
const AT_ONCE_MS = 200;
/** How long one call may search: the event loop must not wait. */
const BUDGET_MS = 20;
/** An end that moves less than that did not move. */
const SAME_END_MS = 60_000;

/**
 * The promises of this process. They are derived from jobs, so nothing is recorded, and a new leader derives them again. Everything that changes
 * them is reported here; they are derived at the next question.
 */
export class NodePromises {
  readonly #parts: NodePromisesParts;
  #promises: readonly NodePromise[] = [];
  /** Ends that the promises rest on, by UID of the job. */
  #ends: ReadonlyMap<string, number> = new Map();
  /** Namespaces with a job that runs past its predicted end. */
  #overdue: ReadonlySet<string> = new Set();
  /** Absent until it is needed first: by then the jobs are known. */
  #overruns: OverrunHistory | undefined;
  /** now: whose turn it is may have changed. soon: when, or on which nodes. */
  #due: 'no' | 'soon' | 'now' = 'now';
  #derivedAtMs = -Infinity;
  #searchesAreLong = false;
  #underWay: UnderWay | undefined;

  constructor(parts: NodePromisesParts) {
    this.#parts = parts;
  }

  /** Whether promises are due that are not derived yet. */
  get isDeriving(): boolean {
    return this.#underWay !== undefined || this.#due === 'now';
  }

  /** All promises, after those that are due were derived. */
  current(): readonly NodePromise[] {
    this.#refresh();
    return this.#promises;
  }

  /** The nodes that are held for the job of that UID. */
  promiseFor(jobUid: string): NodePromise | undefined {
    return this.current().find(({ job }) => job.uid === jobUid);
  }

  /** The same as it was derived last. */
  derivedFor(jobUid: string): NodePromise | undefined {
    return this.#promises.find(({ job }) => job.uid === jobUid);
  }

  /** What keeps that job from nodes. A job that restarts is not bound: it did not choose to leave its nodes. */
  bindingOn(job: TrainingJob): readonly HeldNodes[] {
    const now = this.#parts.view.now?.();
    if (now === undefined || hasRun(job)) return [];
    const promises: readonly HeldNodes[] = [...this.current(), ...this.#returning(now)];
    if (promises.length === 0) return [];
    const { latest, restsOn } = predictedEnd(job, now, this.#overrunHistory().factorOf(job.metadata.namespace ?? ''));
    const isTrusted = restsOn !== 'Predicted' || !this.#overdue.has(namespaceOf(job));
    const { uid } = job.metadata;
    return bindingPromises(promises, { uid, priority: priorityOf(job), latestEnd: isTrusted ? latest : undefined });
  }

  /** Nodes that are free for the jobs that left them. */
  #returning(now: Date): readonly HeldNodes[] {
    const open = this.#parts.returning().filter(({ until }) => until !== undefined);
    if (open.length === 0) return [];
    // What others use of these nodes now, they do not leave to the job that returns.
    const beyond = this.#parts.usedGpus();
    return open.map(({ job, priority, gpus }) => ({ job, priority, gpus, start: now, beyond }));
  }

  /** Adds to the used GPUs those that are held and that this job may not use. */
  withHeld(used: GpusByNode, job: TrainingJob): GpusByNode {
    return withHeld(used, this.bindingOn(job));
  }

  /** The job changed, or was deleted (`after` undefined). A promise of a job that no longer waits ends at once. */
  jobChanged(before: TrainingJob, after: TrainingJob | undefined): void {
    const waits = after !== undefined && isWaiting(after);
    this.#overruns?.jobChanged(before, after);
    if (!waits) this.drop(before.metadata.uid);
    const begins = waits && (!isWaiting(before) || (isWaitingForCapacity(after) && !isWaitingForCapacity(before)));
    if (begins || (waits && priorityOf(before) !== priorityOf(after))) this.isDueNow();
    const [ran, runs] = [runningAttempt(before), after === undefined ? undefined : runningAttempt(after)];
    if (ran?.epoch !== runs?.epoch || ran?.stage !== runs?.stage || this.#hasMoved(after)) this.#isDueSoon();
  }

  /** A node, its GPUs under pods, or reserved nodes changed. */
  nodesChanged(): void {
    this.#isDueSoon();
  }

  /**
   * GPUs of the placement were reserved. The promise of its own job stays until status records the attempt. GPUs that it uses beyond the start of
   * other promises are not free then; it is expected to end before the start of the rest.
   */
  began(gpus: GpusByNode, job: TrainingJob): void {
    const { uid } = job.metadata;
    const binding = new Set<HeldNodes>(this.bindingOn(job));
    const now = this.#parts.view.now?.();
    if (now === undefined || this.#promises.length === 0) return;
    const { at } = predictedEnd(job, now);
    this.#promises = this.#promises.map((promise) => {
      const shared = [...gpus].filter(([name]) => promise.gpus.has(name));
      if (shared.length === 0 || promise.job.uid === uid) return promise;
      if (!binding.has(promise))
        return priorityOf(job) > promise.priority
          ? promise
          : { ...promise, awaits: new Map(promise.awaits).set(uid, at) };
      const beyond = new Map(promise.beyond);
      for (const [name, count] of shared) beyond.set(name, (beyond.get(name) ?? 0) + count);
      return { ...promise, beyond };
    });
    this.#isDueSoon();
  }

  /** Every job for which the leader before held nodes has asked this process. */
  allHaveAsked(): void {
    this.#parts.onFreed();
    this.isDueNow();
  }

  /** Whose turn it is may have changed. Where nothing else happens, the next question may come minutes later, so an offer is asked for. */
  isDueNow(): void {
    this.#due = 'now';
    this.#parts.view.promisesChanged?.([]);
  }

  #overrunHistory(): OverrunHistory {
    if (this.#overruns !== undefined) return this.#overruns;
    this.#overruns = new OverrunHistory();
    this.#overruns.read(this.#parts.view.jobs());
    return this.#overruns;
  }

  #isDueSoon(): void {
    if (this.#due === 'no') this.#due = 'soon';
  }

  /** The promise for the job of that UID ends at once. */
  drop(jobUid: string): void {
    const rest = this.#promises.filter(({ job }) => job.uid !== jobUid);
    if (rest.length === this.#promises.length) return;
    this.#promises = rest;
    this.#due = 'now';
    this.#parts.onFreed();
  }

  #hasMoved(job: TrainingJob | undefined): boolean {
    const now = this.#parts.view.now?.();
    if (now === undefined || job === undefined || this.#promises.length === 0) return false;
    const endMs = this.#ends.get(job.metadata.uid);
    return endMs !== undefined && Math.abs(predictedEnd(job, now).at.getTime() - endMs) > SAME_END_MS;
  }

  #refresh(): void {
    const { view } = this.#parts;
    const now = view.now?.();
    if (now === undefined || !this.#parts.areHeadsKnown()) return;
    const nowMs = view.monotonicMs();
    if (this.#underWay === undefined && this.#isDue(nowMs)) {
      this.#due = 'no';
      this.#begin(now, nowMs);
    }
    this.#continue(nowMs);
    // Where little happens, the next question may come minutes later.
    if (this.#due === 'now' || this.#underWay?.question === 'pause') view.promisesChanged?.([]);
  }

  #isDue(nowMs: number): boolean {
    const ageMs = nowMs - this.#derivedAtMs;
    const intervalMs = this.#searchesAreLong ? LONG_INTERVAL_MS : INTERVAL_MS;
    if (this.#due === 'now') return ageMs >= (this.#searchesAreLong ? INTERVAL_MS : AT_ONCE_MS);
    return (this.#due === 'soon' && ageMs >= intervalMs) || (this.#promises.length > 0 && ageMs >= OLD_MS);
  }

  #begin(now: Date, nowMs: number): void {
    const { waiting, held, capacityOf, usedGpus, withClosed, reservedFor, returning } = this.#parts;
    const gangs = waiting(now);
    if (gangs.length === 0 && this.#promises.length === 0) return;
    this.#derivedAtMs = nowMs;
    const input = {
      waiting: gangs,
      capacityOf,
      usedGpus: usedGpus(),
      withClosed,
      kept: this.#promises,
      starting: this.#promises.flatMap((promise) => {
        const gpus = reservedFor(promise.job.uid);
        return gpus === undefined ? [] : [{ ...promise, gpus }];
      }),
      returning: returning(),
      now,
    };
    this.#step(this.#derive(input, held(now)), undefined);
  }

  /** Everything that changes was read when this was called; what follows takes steps. */
  *#derive(input: Omit<PromiseInput, 'holders'>, held: Generator<'pause', Held>): PromiseDerivation {
    const { holders, overdue } = yield* held;
    this.#ends = new Map(holders.map(({ job, end }) => [job.uid, end.at.getTime()]));
    this.#overdue = overdue;
    yield 'pause';
    return yield* derivePromises({ ...input, holders });
  }

  /** Searches until the answer is there, another process searches, or the time is up. */
  #continue(sinceMs: number): void {
    const { view } = this.#parts;
    while (this.#underWay !== undefined && this.#underWay.question !== 'asked') {
      const { derivation, question } = this.#underWay;
      if (question === 'pause') {
        if (view.monotonicMs() - sinceMs >= BUDGET_MS) return;
        this.#step(derivation, undefined);
        continue;
      }
      this.#searchesAreLong = view.findNodes !== undefined && isLongSearch(question.request, question.capacity.fabric);
      if (this.#searchesAreLong && view.findNodes !== undefined) {
        const underWay: UnderWay = { derivation, question: 'asked' };
        this.#underWay = underWay;
        view.findNodes(question).then(
          (found) => {
            if (this.#underWay === underWay) this.#step(derivation, found);
            this.#continue(view.monotonicMs());
          },
          () => {
            if (this.#underWay === underWay) this.#underWay = undefined;
            this.#isDueSoon();
          },
        );
        return;
      }
      this.#step(derivation, findNodes(question.request, question.capacity));
      if (view.monotonicMs() - sinceMs >= BUDGET_MS) return;
    }
  }

  #step(derivation: PromiseDerivation, found: ReturnType<typeof findNodes>): void {
    const step = derivation.next(found);
    this.#underWay = step.done === true ? undefined : { derivation, question: step.value };
    if (step.done === true) this.#apply(step.value);
  }

  #apply(derived: readonly NodePromise[]): void {
    const { view, onFreed } = this.#parts;
    const before = this.#promises;
    this.#promises = derived.filter(({ job: { uid } }) => {
      const job = view.job(uid);
      return job !== undefined && isWaiting(job);
    });
    if (before.some((promise) => !this.#promises.some((one) => isSamePromise(one, promise)))) onFreed();
    const changed = this.#promises.filter((promise) => !before.some((one) => isSamePromise(one, promise)));
    const ended = before.filter(({ job }) => !this.#promises.some((one) => one.job.uid === job.uid));
    if (changed.length + ended.length > 0) view.promisesChanged?.([...changed, ...ended].map(({ job }) => job.uid));
  }
}

function isSamePromise(one: NodePromise, other: NodePromise): boolean {
  return (
    one.job.uid === other.job.uid &&
    one.priority === other.priority &&
    one.start.getTime() === other.start.getTime() &&
    one.gpus.size === other.gpus.size &&
    [...one.gpus].every(([name, count]) => other.gpus.get(name) === count)
  );
}

/** Reasons of condition Placed of a job that has found nodes and whose attempt is not recorded yet. */
const ABOUT_TO_START: readonly string[] = ['Placing', 'ReadingRuntime'];

/** Whether the job waits for GPUs or is about to start, and nothing asks it to stop. */
export function isWaiting(job: TrainingJob): boolean {
  const { metadata, spec, status } = job;
  if (metadata.deletionTimestamp !== undefined || spec.suspend || spec.cancel) return false;
  if (runningAttempt(job) !== undefined) return false;
  return (
    isWaitingForCapacity(job) || ABOUT_TO_START.includes(findCondition(status?.conditions, 'Placed')?.reason ?? '')
  );
}

/** Whether this run of the job has held GPUs and lost them by a fault. One that made room, or that stopped to grow, waits as if it had never run. */
export function hasRun({ status }: TrainingJob): boolean {
  const last = status?.attempts?.at(-1);
  return last !== undefined && !CHOSEN_ENDS.includes(last.outcome) && last.forClaim === undefined;
}

const CHOSEN_ENDS: readonly (Attempt['outcome'] | undefined)[] = ['Suspended', 'Resized'];
