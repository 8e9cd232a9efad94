import { DomainError } from '@coxswain/domain-error';
import type { Principal } from '../auth/principal.ts';

/** Streams that one token may hold open at a time. */
export const MAX_STREAMS_PER_TOKEN = 32;

/** Counts open streams per token, and ends them all when the process stops. */
export class OpenStreams {
  readonly #counts = new Map<string, number>();
  readonly #stop = new AbortController();

  /** Aborts when the process stops. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  get count(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** RATE_LIMITED when the token has too many; else a function that gives the place back. */
  enter(principal: Principal): () => void {
    const count = this.#counts.get(principal.tokenId) ?? 0;
    if (count >= MAX_STREAMS_PER_TOKEN) {
      throw new DomainError('RATE_LIMITED', `this token has ${count} streams open, which is the most; close one first`);
    }
    this.#counts.set(principal.tokenId, count + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const now = (this.#counts.get(principal.tokenId) ?? 1) - 1;
      if (now <= 0) this.#counts.delete(principal.tokenId);
      else this.#counts.set(principal.tokenId, now);
    };
  }

  close(): void {
    this.#stop.abort();
  }
}
