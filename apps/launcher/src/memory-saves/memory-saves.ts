/** Which saves in memory have the ranks of this pod, and which of them are outdated? A rank writes `rank-R/I-S`, renamed to that name when complete. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type MemorySave, memorySaveOf, nameOfMemorySave, RANK_ENV } from '@coxswain/api-types';
import type { Settings } from '../program/settings.ts';

/** Memory that outlives the ranks and ends with the pod. */
const SHARED_MEMORY = '/dev/shm';
/** Each rank keeps two; a program that writes more is not read further. */
const MOST_REPORTED = 8;

/** Saves in memory of the ranks of one pod. */
export class MemorySavesOfPod {
  readonly #directory: string;
  readonly #bounds: NonNullable<Settings['memorySaves']>;

  constructor(
    { podUid }: Pick<Settings, 'podUid'>,
    bounds: NonNullable<Settings['memorySaves']>,
    place: string = SHARED_MEMORY,
  ) {
    // Pods of a local cluster share one /dev/shm.
    this.#directory = join(place, `coxswain-saves-${podUid.replaceAll(/[^A-Za-z0-9-]/g, '')}`);
    this.#bounds = bounds;
  }

  /** What the ranks of an incarnation learn. */
  variables(resume: MemorySave | undefined): Readonly<Record<string, string>> {
    return {
      [RANK_ENV.memoryDirectory]: this.#directory,
      [RANK_ENV.memorySaveEverySteps]: String(this.#bounds.everySteps),
      [RANK_ENV.memorySaveBytes]: String(this.#bounds.bytes),
      ...(resume === undefined ? {} : { [RANK_ENV.memoryResume]: nameOfMemorySave(resume) }),
    };
  }

  /** Saves that each of these ranks has completed; none for a pod without ranks. */
  savedBy(ranks: readonly number[]): readonly MemorySave[] {
    const [first = [], ...others] = ranks.map((rank) => this.#namesOf(rank));
    return first
      .filter((name) => others.every((names) => names.includes(name)))
      .flatMap((name) => memorySaveOf(name) ?? [])
      .toSorted((one, other) => other.step - one.step)
      .slice(0, MOST_REPORTED);
  }

  /** Removes every save but that one, and what is unfinished: ranks that restart from a checkpoint may reach a step with other values. */
  keepOnly(kept: MemorySave | undefined): void {
    for (const folder of namesIn(this.#directory)) {
      for (const name of namesIn(join(this.#directory, folder)))
        if (kept === undefined || name !== nameOfMemorySave(kept)) remove(join(this.#directory, folder, name));
    }
  }

  /** No rank starts in this pod any more. */
  end(): void {
    remove(this.#directory);
  }

  #namesOf(rank: number): readonly string[] {
    return namesIn(join(this.#directory, `rank-${rank}`)).filter((name) => memorySaveOf(name) !== undefined);
  }
}

/** None if it is no folder, or cannot be read: saves in memory are never a reason to stop. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The pod's memory is freed with the pod.
  }
}
