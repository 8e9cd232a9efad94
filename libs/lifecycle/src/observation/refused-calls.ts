/** Which writes does the API server deny? */

/** What a denied write was to do to the object that follows. */
export const REFUSED_CALLS = {
  createPlacement: 'create Placement',
  createComputeDomain: 'create ComputeDomain',
  createPod: 'create pod',
  probePod: 'try pod',
  liftGate: 'remove its scheduling gate from pod',
  deletePod: 'delete pod',
  releasePod: 'remove its finalizer from pod',
  removeFinalizer: 'remove its finalizer from job',
} as const;

/** A write whose denial users see. */
export type RefusedCallKind = keyof typeof REFUSED_CALLS;

/** A write that the API server denied, and its sentence. */
export interface RefusedCall {
  readonly kind: RefusedCallKind;
  /** Name of the object. */
  readonly name: string;
  readonly message: string;
}

/** Writes that are made for each pod of a gang. */
const OF_PODS: readonly RefusedCallKind[] = ['createPod', 'liftGate', 'deletePod', 'releasePod'];

/** Whether users see the denial of such a write. */
export function isShownIfRefused(kind: string): kind is RefusedCallKind {
  return Object.hasOwn(REFUSED_CALLS, kind);
}

/**
 * The last denied write of each kind, by job, until it succeeds. Losing this memory is harmless: the write is repeated, and a new leader
 * gets the same answer.
 */
export class RefusedCalls {
  readonly #ofJob = new Map<string, Map<RefusedCallKind, RefusedCall>>();

  /** The job's denied writes, for its next observation. */
  of(job: string): readonly RefusedCall[] {
    return [...(this.#ofJob.get(job)?.values() ?? [])];
  }

  /** Records a denied write. */
  note(job: string, call: RefusedCall): void {
    const calls = this.#ofJob.get(job) ?? new Map<RefusedCallKind, RefusedCall>();
    this.#ofJob.set(job, calls.set(call.kind, call));
  }

  /** Records a successful write. */
  done(job: string, { kind, name }: Omit<RefusedCall, 'message'>): void {
    const calls = this.#ofJob.get(job);
    const refused = calls?.get(kind);
    if (calls === undefined || refused === undefined) return;
    // Of many pods one may be denied and another not.
    if (OF_PODS.includes(kind) && refused.name !== name) return;
    calls.delete(kind);
    if (calls.size === 0) this.#ofJob.delete(job);
  }

  /** Forgets a job that was deleted. */
  forget(job: string): void {
    this.#ofJob.delete(job);
  }

  /** Number of jobs with denied writes; for tests of memory. */
  get size(): number {
    return this.#ofJob.size;
  }
}
