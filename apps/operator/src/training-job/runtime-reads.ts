import type { RuntimeRef, TrainingJob, TrainingRuntime } from '@coxswain/api-types';
import { isNotFound, keyOf, type KubeClient } from '@coxswain/kube';
import type { ObservedRuntime, RuntimeAnswer } from '@coxswain/lifecycle';
import { readRuntime } from '@coxswain/runtime';
import { runtimePath } from '../cluster/paths.ts';

/** Parts of {@link RuntimeReads}. */
export interface RuntimeReadsParts {
  readonly client: Pick<KubeClient, 'get'>;
  readonly clock: { monotonicMs(): number };
  /** Called when the runtime of the job of that key (`namespace/name`) was read, so that it is reconciled. */
  readonly onNews: (key: string) => void;
  /** A runtime could not be read; for the log. */
  readonly onFailure: (runtime: string, error: unknown) => void;
}

/** An attempt begins with a runtime as it was at most so long ago. */
export const FRESH_MS = 60_000;
/** A failed read or a missing runtime is read again sooner, because it may be created soon. */
const RETRY_MS = 5_000;
/** Runtimes that are remembered, 16 KiB each at most. One that is forgotten is read again. */
const MAX_REMEMBERED = 512;
/** Minimum time that a requested runtime stays cached. Otherwise, with more runtimes than places, each would be evicted before it is used. */
const KEPT_MS = 5_000;

interface Known {
  answer: RuntimeAnswer;
  answeredAtMs: number;
  usedAtMs: number;
  /** Keys of the jobs that wait for the read; undefined while none is running. */
  waiting: Set<string> | undefined;
}

/**
 * Reads the runtimes that jobs name and caches them for a minute. They are not watched, because users may create many large runtimes that no job names. No
 * state is recorded: a new process reads again.
 */
export class RuntimeReads {
  readonly #parts: RuntimeReadsParts;
  /** By path, the one that was used longest ago first. */
  readonly #known = new Map<string, Known>();

  constructor(parts: RuntimeReadsParts) {
    this.#parts = parts;
  }

  /** Runtimes that something is remembered of. */
  get size(): number {
    return this.#known.size;
  }

  /** The known state of the job's runtime. If it is being read, the job is reconciled again afterwards. */
  runtimeOf(job: TrainingJob): ObservedRuntime | undefined {
    const path = pathOf(job);
    const known = path === undefined ? undefined : this.#known.get(path);
    if (path === undefined || known === undefined) return undefined;
    known.waiting?.add(keyOf(job));
    this.#use(path, known);
    const ageMs = this.#parts.clock.monotonicMs() - known.answeredAtMs;
    const goodForMs = { unknown: 0, unreadable: RETRY_MS, missing: RETRY_MS, found: FRESH_MS }[known.answer.kind];
    return { ...known.answer, isFresh: ageMs < goodForMs, isBeingRead: known.waiting !== undefined };
  }

  /**
   * Starts a read without waiting. Jobs with the same runtime share one read. If all places are in use nothing is read; the job waits and
   * requests it again at its next reconcile.
   */
  read(job: TrainingJob): void {
    const path = pathOf(job);
    if (path === undefined || !(this.#known.has(path) || this.#makeRoom())) return;
    const known: Known = this.#known.get(path) ?? {
      answer: { kind: 'unknown' },
      answeredAtMs: 0,
      usedAtMs: 0,
      waiting: undefined,
    };
    const isUnderWay = known.waiting !== undefined;
    known.waiting ??= new Set();
    known.waiting.add(keyOf(job));
    this.#use(path, known);
    if (!isUnderWay) void this.#ask(path, known);
  }

  async #ask(path: string, known: Known): Promise<void> {
    const { client, clock, onNews, onFailure } = this.#parts;
    try {
      known.answer = {
        kind: 'found',
        runtime: readRuntime(await client.get<TrainingRuntime & { metadata: object }>(path)),
      };
    } catch (error) {
      // Without the definitions of runtimes there are no runtimes.
      if (isNotFound(error)) known.answer = { kind: 'missing' };
      else {
        onFailure(path, error);
        known.answer = { kind: 'unreadable', problem: error instanceof Error ? error.message : String(error) };
      }
    }
    known.answeredAtMs = clock.monotonicMs();
    const waiting = known.waiting ?? [];
    known.waiting = undefined;
    for (const key of waiting) onNews(key);
  }

  #use(path: string, known: Known): void {
    known.usedAtMs = this.#parts.clock.monotonicMs();
    this.#known.delete(path);
    this.#known.set(path, known);
  }

  /** Whether there is room for another one, for which the one is forgotten that was used longest ago. */
  #makeRoom(): boolean {
    if (this.#known.size < MAX_REMEMBERED) return true;
    const nowMs = this.#parts.clock.monotonicMs();
    for (const [path, { usedAtMs, answeredAtMs, waiting }] of this.#known) {
      if (nowMs - usedAtMs < KEPT_MS) return false;
      if (waiting === undefined && nowMs - answeredAtMs >= KEPT_MS) return this.#known.delete(path);
    }
    return false;
  }
}

function pathOf({ metadata: { namespace }, spec }: TrainingJob): string | undefined {
  const ref = (spec as Partial<TrainingJob['spec']> | undefined)?.runtimeRef as Partial<RuntimeRef> | undefined;
  if (typeof ref?.name !== 'string' || ref.name === '') return undefined;
  return runtimePath({ kind: ref.kind ?? 'ClusterTrainingRuntime', name: ref.name, namespace });
}
