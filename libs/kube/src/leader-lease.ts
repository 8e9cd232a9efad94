import type { KubeClient } from './kube-client.ts';
import { type Clock, sleep } from './clock.ts';
import { isAlreadyExists, isConflict, isNotFound, isOutcomeUnknown } from './errors.ts';
import type { Lease, LeaseSpec } from './lease-object.ts';
import { toMicroTime } from './micro-time.ts';
import { resourcePath } from './paths.ts';

/*
 * One leader at a time, by a coordination.k8s.io Lease, independent of wall clocks.
 *
 *      leader's own clock      |start of renewal|------ renewDeadline ------>| stops writing
 *      any follower's clock            |sees the renewal|------------ leaseDuration ------------>| may take over
 *
 * A follower sees a renewal after the leader began it. So the leader stops `leaseDuration - renewDeadline` before any follower can take over. This
 * requires that the rates of the two monotonic clocks differ by less than leaseDuration : renewDeadline. A process that was stopped (SIGSTOP, a long
 * garbage collection) does not know that time has passed. So call `assertLeading()` before each write: it reads the clock and ends an expired term. A
 * write may still arrive after the end of the term; only the server can prevent that, by a term stamp or a resourceVersion precondition. The number
 * of a term is `leaseTransitions`, which grows by one at each acquisition. Every write to the Lease carries the resourceVersion that it is based on,
 * so one of two candidates gets a conflict.
 */

/** Minimum delay before a failed renewal is retried. */
const MIN_RETRY_MS = 100;

/** Thrown by `assertLeading`: the caller must not write, and its process should end. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError';
}

/** The current leader, as a candidate observed it. */
export interface CurrentLeader {
  readonly identity: string;
  /** Number of its term. */
  readonly term: number;
  /** The annotations of the Lease. A leader publishes for instance its report address there. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Options of a lease. The durations default to those of client-go: 15, 10 and 2 s. */
export interface LeaderLeaseOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'patch'>;
  readonly namespace: string;
  readonly name: string;
  /** Must be unique per process start, for instance pod name and a random part: an equal identity counts as another holder. */
  readonly identity: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  readonly clock: Clock;
  /** [0, 1). */
  readonly random: () => number;
  /** Lower bound for the number of a term: it must exceed all stamps on objects, even if the Lease was deleted. */
  readonly termFloor?: () => number;
  /** Called for failed requests; the lease keeps trying. */
  readonly onError?: (error: unknown) => void;
}

/** The work of a leader. */
export interface LeaseRun {
  /** Ends the candidacy: the work is asked to stop and may finish while the lease is still renewed, then the lease is released. */
  readonly signal: AbortSignal;
  /** Called once. `signal` aborts when leadership ends; the promise settles when the work has stopped. A rejection ends the term. */
  readonly onStartedLeading: (term: number, signal: AbortSignal) => Promise<void> | void;
  /** Called once after leadership ended, if it began. */
  readonly onStoppedLeading?: (why: 'released' | 'lost') => void;
}

/** A candidate for, or holder of, a Lease. */
export class LeaderLease {
  readonly #options: LeaderLeaseOptions;
  readonly #path: string;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  #observed: { readonly lease: Lease; readonly atMs: number } | undefined;
  readonly #over = new AbortController();
  #term: Term | undefined;
  #ran = false;

  constructor(options: LeaderLeaseOptions) {
    this.#options = options;
    this.#leaseDurationMs = options.leaseDurationMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryPeriodMs = options.retryPeriodMs ?? 2_000;
    if (!(this.#leaseDurationMs > this.#renewDeadlineMs && this.#renewDeadlineMs > this.#retryPeriodMs)) {
      throw new Error(
        `leaseDurationMs ${this.#leaseDurationMs} > renewDeadlineMs ${this.#renewDeadlineMs} > retryPeriodMs ${this.#retryPeriodMs} does not hold: raise the left one or lower the right one`,
      );
    }
    const { namespace, name } = options;
    this.#path = resourcePath({ group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace, name });
  }

  /** Whether this process may write now. It turns false by itself, in time, when renewals stop or the process was stopped. */
  isLeader(): boolean {
    const term = this.#term;
    if (term === undefined || term.ended.signal.aborted) return false;
    if (this.#nowMs() < term.validUntilMs) return true;
    this.#endTerm(term, 'the lease was not renewed in time');
    return false;
  }

  /** The number of the present term; throws NotLeadingError when there is none. Call it right before every write. */
  assertLeading(): number {
    const term = this.#term;
    if (term !== undefined && this.isLeader()) return term.number;
    throw new NotLeadingError(
      `${this.#options.identity} does not hold the lease ${this.#options.name} (any more): it must not write`,
    );
  }

  /** Time left in the current term unless it is renewed; 0 without a term. No call of this term may last longer. */
  leftMs(): number {
    return this.#term !== undefined && this.isLeader() ? this.#term.validUntilMs - this.#nowMs() : 0;
  }

  /** Aborts at the end of the term, before the lease is released, to end calls that still hang. Stays aborted, because there is only one term. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** The leader as last observed, while its lease has not run out by our own clock; for followers to point at. */
  currentLeader(): CurrentLeader | undefined {
    if (this.#observed === undefined) return undefined;
    const { lease } = this.#observed;
    const identity = lease.spec?.holderIdentity ?? '';
    if (identity === '' || this.#hasRunOut(this.#observed)) return undefined;
    return { identity, term: lease.spec?.leaseTransitions ?? 0, annotations: lease.metadata.annotations ?? {} };
  }

  /**
   * Waits for leadership, leads, and resolves when it is over: `released` after `signal`, `lost` when the lease could not be renewed or
   * was taken (the process should then exit). Rejects when the leading work rejects, after the release. Once per object.
   */
  async run(run: LeaseRun): Promise<'released' | 'lost'> {
    if (this.#ran) throw new Error(`the lease ${this.#options.name} has been run before: make a new one per term`);
    this.#ran = true;
    const term = await this.#acquire(run.signal);
    if (term === undefined) return 'released';
    const work = this.#lead(term, run);
    await this.#renewUntil(term, work);
    const why = term.ended.signal.aborted ? 'lost' : 'released';
    this.#over.abort(new NotLeadingError('the term is over'));
    if (why === 'released') await this.#release(term);
    term.ended.abort(new NotLeadingError('the term is over'));
    run.onStoppedLeading?.(why);
    if (work.failure !== undefined) throw work.failure.error;
    return why;
  }

  async #acquire(signal: AbortSignal): Promise<Term | undefined> {
    while (!signal.aborted) {
      const term = await this.#tryAcquire(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#report(error);
        return undefined;
      });
      if (term !== undefined) {
        if (!signal.aborted) return term;
        await this.#release(term);
        return undefined;
      }
      await sleep(this.#options.clock, this.#pauseMs(), signal);
    }
    return undefined;
  }

  /** Candidates that wait for the same lease should not ask in step; and none should sleep past the moment at which it runs out. */
  #pauseMs(): number {
    const spread = 1 + this.#options.random() / 5;
    const usualMs = this.#retryPeriodMs * spread;
    if (this.#observed === undefined || this.#hasRunOut(this.#observed)) return usualMs;
    return Math.min(usualMs, (this.#runsOutAtMs(this.#observed) - this.#nowMs()) * spread);
  }

  async #tryAcquire(signal: AbortSignal): Promise<Term | undefined> {
    const lease = await this.#read(signal);
    // Also if the lease was deleted, because its last holder learns that only at its next renewal.
    const holder = this.#observed?.lease.spec?.holderIdentity ?? '';
    if (holder !== '' && this.#observed !== undefined && !this.#hasRunOut(this.#observed)) return undefined;
    return this.#write(lease);
  }

  /** Takes over the lease that was read; undefined if another candidate was faster. Not abortable, because the response must not be lost. */
  async #write(current: Lease | undefined): Promise<Term | undefined> {
    const number =
      1 +
      Math.max(
        current?.spec?.leaseTransitions ?? 0,
        this.#observed?.lease.spec?.leaseTransitions ?? 0,
        this.#options.termFloor?.() ?? 0,
      );
    const startedAtMs = this.#nowMs();
    const now = toMicroTime(this.#options.clock.now());
    const spec = { ...this.#specAt(now), acquireTime: now, leaseTransitions: number };
    try {
      const lease = current === undefined ? await this.#create(spec) : await this.#patch(current, spec);
      return this.#begin(lease, { number, startedAtMs });
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return undefined;
      // The answer may have been lost after the write was done. Reading tells; if it was, the term began when the request did.
      const lease = await this.#read(undefined).catch(() => undefined);
      const isOurs = lease?.spec?.holderIdentity === this.#options.identity && lease.spec.leaseTransitions === number;
      if (lease !== undefined && isOurs) return this.#begin(lease, { number, startedAtMs });
      throw error;
    }
  }

  #begin(lease: Lease, started: { readonly number: number; readonly startedAtMs: number }): Term {
    this.#observe(lease);
    const term: Term = {
      number: started.number,
      lease,
      validUntilMs: started.startedAtMs + this.#renewDeadlineMs,
      ended: new AbortController(),
    };
    this.#term = term;
    return term;
  }

  #lead(term: Term, run: LeaseRun): Work {
    const stop = new AbortController();
    const onStop = (): void => stop.abort(run.signal.reason);
    run.signal.addEventListener('abort', onStop, { once: true });
    if (run.signal.aborted) onStop();
    const signal = AbortSignal.any([stop.signal, term.ended.signal]);
    const work: Work = { done: Promise.resolve(), stopped: new AbortController(), failure: undefined };
    const call = async (): Promise<void> => {
      try {
        await run.onStartedLeading(term.number, signal);
        // Work that returns at once has started others: leadership lasts until it is ended from outside.
        await aborted(signal);
      } catch (error) {
        work.failure = { error };
      } finally {
        run.signal.removeEventListener('abort', onStop);
        work.stopped.abort();
      }
    };
    work.done = call();
    return work;
  }

  /** Renews every retry period, sooner and sooner after failures, until the work has stopped or the term has ended. */
  async #renewUntil(term: Term, work: Work): Promise<void> {
    const over = AbortSignal.any([work.stopped.signal, term.ended.signal]);
    for (let hasFailed = false; ;) {
      const leftMs = Math.max(0, term.validUntilMs - this.#nowMs());
      const pauseMs = hasFailed ? Math.max(MIN_RETRY_MS, leftMs / 3) : this.#retryPeriodMs;
      await sleep(this.#options.clock, Math.min(this.#retryPeriodMs, pauseMs, leftMs), over);
      if (over.aborted || !this.isLeader()) return;
      hasFailed = !(await this.#withinTerm(term, this.#renew(term)));
      if (over.aborted || !this.isLeader()) return;
    }
  }

  /** Waits for a renewal, but not beyond the end of the term, so that the work stops in time. Resolves with whether the renewal succeeded. */
  async #withinTerm(term: Term, renewal: Promise<void>): Promise<boolean> {
    const settled = new AbortController();
    let isDone = false;
    const reported = renewal
      .then(() => (isDone = true))
      .catch((error: unknown) => this.#report(error))
      .finally(() => settled.abort());
    await Promise.race([reported, sleep(this.#options.clock, term.validUntilMs - this.#nowMs(), settled.signal)]);
    return isDone;
  }

  async #renew(term: Term): Promise<void> {
    let startedAtMs = this.#nowMs();
    const sent = this.#specAt(toMicroTime(this.#options.clock.now()));
    try {
      term.lease = await this.#patch(term.lease, sent);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error) && !isOutcomeUnknown(error)) throw error;
      const lease = await this.#read(undefined);
      if (!this.#isOfTerm(lease, term)) return this.#endTerm(term, 'the lease has another holder');
      if (!isConflict(error) && lease.spec?.renewTime === sent.renewTime) term.lease = lease;
      else {
        // The renewal was based on an old version (an earlier one was done after all, or the lease was annotated), or was not done. Retry at once,
        // because a hanging connection has used much of the term. If the first renewal arrives later, its old version is rejected.
        startedAtMs = this.#nowMs();
        term.lease = await this.#patch(lease, this.#specAt(toMicroTime(this.#options.clock.now())));
      }
    }
    this.#observe(term.lease);
    // An answer that took too long does not revive a term that isLeader() has denied in the meantime.
    if (!term.ended.signal.aborted) term.validUntilMs = startedAtMs + this.#renewDeadlineMs;
  }

  #isOfTerm(lease: Lease | undefined, term: Term): lease is Lease {
    return (
      lease?.spec?.holderIdentity === this.#options.identity &&
      lease.spec.leaseTransitions === term.number &&
      lease.metadata.uid === term.lease.metadata.uid
    );
  }

  async #release(term: Term): Promise<void> {
    const now = toMicroTime(this.#options.clock.now());
    const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
    this.#term = undefined;
    await this.#patch(term.lease, spec).then(
      (lease) => this.#observe(lease),
      (error: unknown) => this.#report(error),
    );
  }

  #endTerm(term: Term, why: string): void {
    if (term.ended.signal.aborted) return;
    term.ended.abort(new NotLeadingError(why));
    this.#over.abort(new NotLeadingError(why));
  }

  async #read(signal: AbortSignal | undefined): Promise<Lease | undefined> {
    try {
      const options = { ...this.#callOptions(), ...(signal === undefined ? {} : { signal }) };
      const lease = await this.#options.client.get<Lease>(this.#path, options);
      this.#observe(lease);
      return lease;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #create(spec: LeaseSpec): Promise<Lease> {
    const { client, namespace, name, annotations } = this.#options;
    const metadata = { name, namespace, ...(annotations === undefined ? {} : { annotations }) };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    return client.create<Lease>(this.#path.slice(0, this.#path.lastIndexOf('/')), body, this.#callOptions());
  }

  #patch(base: Lease, spec: LeaseSpec): Promise<Lease> {
    const { client, annotations } = this.#options;
    const { uid, resourceVersion } = base.metadata;
    const metadata = { uid, resourceVersion, ...(annotations === undefined ? {} : { annotations }) };
    return client.patch<Lease>(this.#path, { metadata, spec }, { type: 'merge', ...this.#callOptions() });
  }

  #specAt(now: string): LeaseSpec {
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(this.#leaseDurationMs / 1000)),
      renewTime: now,
    };
  }

  /** Remembers a lease, and since when it has been what it is: any change counts as a sign of life of its holder. */
  #observe(lease: Lease): void {
    const known = this.#observed?.lease.metadata;
    if (known?.uid === lease.metadata.uid && known?.resourceVersion === lease.metadata.resourceVersion) return;
    this.#observed = { lease, atMs: this.#nowMs() };
  }

  #hasRunOut(observed: { readonly lease: Lease; readonly atMs: number }): boolean {
    return this.#nowMs() >= this.#runsOutAtMs(observed);
  }

  #runsOutAtMs({ lease, atMs }: { readonly lease: Lease; readonly atMs: number }): number {
    const statedMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    return atMs + Math.max(statedMs, this.#leaseDurationMs);
  }

  /** Three calls in a row fit between the moment at which a renewal is due and the end of the term: two of them may hang. */
  #callOptions(): { readonly timeoutMs: number; readonly lane: 'lease' } {
    return { timeoutMs: Math.max(500, (this.#renewDeadlineMs - this.#retryPeriodMs) / 3), lane: 'lease' };
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  #report(error: unknown): void {
    try {
      this.#options.onError?.(error);
    } catch {
      // A failing listener must not end the term.
    }
  }
}

interface Term {
  readonly number: number;
  lease: Lease;
  validUntilMs: number;
  readonly ended: AbortController;
}

interface Work {
  done: Promise<void>;
  readonly stopped: AbortController;
  failure: { readonly error: unknown } | undefined;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
