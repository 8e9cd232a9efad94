import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Most bytes of answers that wait for their readers. */
export interface UnsentBounds {
  readonly ofOwner: number;
  readonly inAll: number;
}

/** Several readers at the full speed of a page of 1 MiB, and all of them together a twentieth of the container's memory. */
export const UNSENT_BYTES: UnsentBounds = { ofOwner: 16_777_216, inAll: 67_108_864 };

interface Unsent {
  readonly owner: string;
  readonly bytes: number;
  readonly cut: () => void;
}

/**
 * Counts the bytes of answers that wait for their readers. An owner with too many loses its oldest answers, whose readers are the slowest; if all have too many together, the owner
 * with most bytes does. The answer that is added stays.
 */
export class UnsentAnswers {
  readonly #bounds: UnsentBounds;
  /** In the order in which they were added. */
  readonly #byOwner = new Map<string, Set<Unsent>>();
  readonly #bytes = new Map<string, number>();
  #inAll = 0;

  constructor(bounds: UnsentBounds) {
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#inAll;
  }

  /** Returns what is to be called when the answer was sent or its reader is gone. */
  add(answer: Unsent): () => void {
    const { owner, bytes } = answer;
    const answers = this.#byOwner.get(owner) ?? new Set<Unsent>();
    this.#byOwner.set(owner, answers.add(answer));
    this.#bytes.set(owner, this.#bytesOf(owner) + bytes);
    this.#inAll += bytes;
    while (this.#bytesOf(owner) > this.#bounds.ofOwner && this.#cutOldest(owner, answer));
    while (this.#inAll > this.#bounds.inAll && this.#cutOldest(this.#largestOwner(), answer));
    return () => this.#forget(answer);
  }

  /** Whether there was one beside the newest. */
  #cutOldest(owner: string, newest: Unsent): boolean {
    const [oldest] = this.#byOwner.get(owner) ?? [];
    if (oldest === undefined || oldest === newest) return false;
    this.#forget(oldest);
    oldest.cut();
    return true;
  }

  #forget(answer: Unsent): void {
    const { owner, bytes } = answer;
    const answers = this.#byOwner.get(owner);
    if (answers?.delete(answer) !== true) return;
    this.#inAll -= bytes;
    if (answers.size > 0) return void this.#bytes.set(owner, this.#bytesOf(owner) - bytes);
    this.#byOwner.delete(owner);
    this.#bytes.delete(owner);
  }

  #bytesOf(owner: string): number {
    return this.#bytes.get(owner) ?? 0;
  }

  #largestOwner(): string {
    let largest = '';
    for (const [owner, bytes] of this.#bytes) if (bytes > this.#bytesOf(largest)) largest = owner;
    return largest;
  }
}

/** Bounds the answers that wait for their readers. Streams bound themselves. */
export function boundUnsentAnswers(
  fastify: FastifyInstance,
  { ownerOf, unsent }: { readonly ownerOf: (request: FastifyRequest) => string; readonly unsent: UnsentAnswers },
): void {
  fastify.addHook('onSend', (request, { raw }, payload, done) => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) {
      const bytes = Buffer.byteLength(payload);
      // A reset: what was sent already would stay in the kernel until the reader has it.
      const sent = unsent.add({ owner: ownerOf(request), bytes, cut: () => raw.socket?.resetAndDestroy() });
      raw.once('finish', sent).once('close', sent);
      if (raw.destroyed) sent();
    }
    done(null, payload);
  });
}
