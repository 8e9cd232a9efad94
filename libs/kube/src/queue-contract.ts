import type { BackoffBounds } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { KubeMetrics } from './metrics.ts';

/** Cause of a reconcile: an edit by a user, a change in the cluster, or a periodic resync. Earlier ones go first; the last is never starved. */
export type QueuePriority = 'user' | 'normal' | 'resync';

/** Result of a successful reconcile. */
export interface ReconcileResult {
  /** Requeue the key after this time unless something requeues it earlier. 0 means at once, behind the other keys. */
  readonly requeueAfterMs?: number;
}

/** Context of one reconcile. */
export interface ReconcileContext {
  /** Aborts when the queue stops and its drain time is over, or when this call has run out of time. */
  readonly signal: AbortSignal;
  /** Failures of this key in a row before this call. */
  readonly failures: number;
  readonly priority: QueuePriority;
}

/** Reconciles one key. If it throws, the queue retries later. */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<ReconcileResult | void>;

/** A reconcile that threw. */
export interface ReconcileFailure {
  readonly key: string;
  readonly error: unknown;
  /** Failures in a row, this one included. */
  readonly failures: number;
  readonly quarantined: boolean;
  readonly retryInMs: number;
}

/** Options of a queue; all numbers have defaults. */
export interface WorkQueueOptions {
  readonly clock: Clock;
  /** [0, 1). */
  readonly random: () => number;
  /** For logs and metrics. */
  readonly name?: string;
  readonly onError?: (failure: ReconcileFailure) => void;
  readonly metrics?: KubeMetrics;
  /** Between failed tries of one key. Default 500 ms .. 60 s. */
  readonly backoff?: BackoffBounds;
  /** Ceiling for failures that are not the key's fault. Default 10 s. */
  readonly transientMaxMs?: number;
  /** Rate of `addRateLimited` over all keys. Default 50/s with a burst of 300. */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
  /** Default 5 failures in a row. */
  readonly quarantineAfter?: number;
  /** Default 5 min. */
  readonly quarantineMs?: number;
  /** A reconcile that takes longer loses its worker (never its key) and counts as failed. Default 2 min. */
  readonly reconcileTimeoutMs?: number;
  /** Whether an error is not caused by the key. Default: the server is unavailable or busy, or a conflict. */
  readonly isTransient?: (error: unknown) => boolean;
}

/** Options of a run of the queue. */
export interface RunOptions {
  readonly workers: number;
  readonly reconcile: Reconcile;
  /** Stops taking keys; calls under way may finish for `drainMs` (default 25 s), then their signal aborts. */
  readonly signal: AbortSignal;
  readonly drainMs?: number;
}

/** Figures of one moment. */
export interface QueueStats {
  readonly ready: number;
  readonly waiting: number;
  readonly running: number;
  readonly failing: number;
  readonly quarantined: number;
  /** For how long reconciles have been under way without one that ended, in ms; 0 while there are none. */
  readonly stalledMs: number;
}
