import { DomainError } from '@coxswain/domain-error';
import type { Principal } from '../auth/principal.ts';

/** Streams that one principal may hold open at a time, whatever it shows for itself. */
export const MAX_STREAMS_PER_PRINCIPAL = 32;
/** Streams of one project, of all who watch its jobs: each costs memory and a socket, and no query. */
export const MAX_STREAMS_PER_PROJECT = 5_000;

/** Counts open streams, per principal and per project, and ends them all when the process stops. */
export class OpenStreams {
  readonly #ofPrincipals = new Map<string, number>();
  readonly #ofProjects = new Map<string, number>();
  readonly #stop = new AbortController();

  /** Aborts when the process stops. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  get count(): number {
    return [...this.#ofPrincipals.values()].reduce((sum, count) => sum + count, 0);
  }

  /** RATE_LIMITED when the principal or the project has too many; else a function that gives the place back. No project: an administrator watches. */
  enter(principal: Principal, projectId?: string): () => void {
    const count = this.#ofPrincipals.get(principal.id) ?? 0;
    if (count >= MAX_STREAMS_PER_PRINCIPAL) {
      throw new DomainError('RATE_LIMITED', `you have ${count} streams open, which is the most; close one first`);
    }
    const ofProject = projectId === undefined ? 0 : (this.#ofProjects.get(projectId) ?? 0);
    if (ofProject >= MAX_STREAMS_PER_PROJECT) {
      throw new DomainError(
        'RATE_LIMITED',
        `this project has ${ofProject} streams open in this replica, which is the most; try again when one has been closed`,
      );
    }
    add(this.#ofPrincipals, principal.id, 1);
    if (projectId !== undefined) add(this.#ofProjects, projectId, 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      add(this.#ofPrincipals, principal.id, -1);
      if (projectId !== undefined) add(this.#ofProjects, projectId, -1);
    };
  }

  close(): void {
    this.#stop.abort();
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count <= 0) counts.delete(key);
  else counts.set(key, count);
}
