/** Which writes does the API server deny, and how does status report them? */
import { cutText } from '@coxswain/safe-text';
import type { Facts } from './facts.ts';

/** What a denied write was to do to the object that follows. */
const VERBS = {
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
export type RefusedCallKind = keyof typeof VERBS;

/** A write that the API server denied, and its sentence. */
export interface RefusedCall {
  readonly kind: RefusedCallKind;
  /** Name of the object. */
  readonly name: string;
  readonly message: string;
}

/** Whether users see the denial of such a write. */
export function isShownIfRefused(kind: string): kind is RefusedCallKind {
  return Object.hasOwn(VERBS, kind);
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
    if (calls?.get(kind)?.name !== name) return;
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

/** Characters of the server's sentence that status shows. */
const SHOWN_CHARACTERS = 600;

/** A sentence on the first denied write of these kinds that is still due; undefined: there is none. */
export function hindranceOf(facts: Facts, kinds: readonly RefusedCallKind[]): string | undefined {
  const call = facts.observed.refusedCalls?.find((one) => kinds.includes(one.kind) && isDue(facts, one));
  if (call === undefined) return undefined;
  const { kind, name, message } = call;
  const said = cutText(message, SHOWN_CHARACTERS);
  return `The cluster does not let Coxswain ${VERBS[kind]} ${name}: ${said}${/[.!?…]$/.test(said) ? '' : '.'} Coxswain retries.`;
}

/** Whether the write is still to be made. The memory of a pod that is gone since is no news. */
function isDue({ pods }: Facts, { kind, name }: RefusedCall): boolean {
  const pod = pods.find((one) => one.name === name);
  switch (kind) {
    case 'createPod':
      return pod === undefined;
    case 'liftGate':
      return pod?.gated === true;
    case 'releasePod':
      return pod?.held === true;
    case 'deletePod':
      return pod !== undefined && pod.deletionTimestamp === undefined;
    case 'createPlacement':
    case 'createComputeDomain':
    case 'probePod':
    case 'removeFinalizer':
      return true;
  }
}
