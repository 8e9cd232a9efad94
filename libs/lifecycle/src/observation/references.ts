/** What was read of the objects that jobs name? */
import type { ObjectReference, ReadReferences } from '@coxswain/api-types';

/** The last live read of the objects that a job names. */
export interface ObservedReferences extends ReadReferences {
  /** The objects that were read, as {@link keyOf} writes them. */
  readonly key: string;
  readonly ageMs: number;
  /** How long each read since has found one that pods cannot use. */
  readonly unusableForMs?: number;
}

/** Equal for equal objects. */
export function keyOf(references: readonly ObjectReference[]): string {
  return references.map(({ kind, name }) => `${kind}/${name}`).join(' ');
}

interface Read extends ReadReferences {
  readonly key: string;
  readonly atMs: number;
  /** Of the first of the reads in a row that found one that pods cannot use. */
  readonly unusableSinceMs: number;
}

/** The last reads of jobs that wait. Losing this memory is harmless: a new leader reads again. Times are monotonic milliseconds. */
export class ReferenceReads {
  readonly #ofJob = new Map<string, Read>();

  /** The last read of the job's objects; undefined: there was none. */
  of(job: string, nowMs: number): ObservedReferences | undefined {
    const known = this.#ofJob.get(job);
    if (known === undefined) return undefined;
    const { key, atMs, unusable, ofOneNode, unusableSinceMs } = known;
    return { key, ageMs: nowMs - atMs, unusable, ofOneNode, unusableForMs: nowMs - unusableSinceMs };
  }

  /** Records a read. */
  note(job: string, references: readonly ObjectReference[], about: ReadReferences & { readonly nowMs: number }): void {
    const { unusable, ofOneNode, nowMs: atMs } = about;
    const before = this.#ofJob.get(job);
    const goesOn = before !== undefined && before.unusable.length > 0;
    const unusableSinceMs = goesOn ? before.unusableSinceMs : atMs;
    this.#ofJob.set(job, { key: keyOf(references), atMs, unusable, ofOneNode, unusableSinceMs });
  }

  /** Forgets a job that was deleted. */
  forget(job: string): void {
    this.#ofJob.delete(job);
  }

  /** Number of remembered jobs; for tests of memory. */
  get size(): number {
    return this.#ofJob.size;
  }
}
