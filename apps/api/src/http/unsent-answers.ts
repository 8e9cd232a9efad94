import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ShareOwner } from './share-owner.ts';

/** Most bytes of answers that wait for their readers. */
export interface UnsentBounds {
  readonly ofOwner: number;
  readonly inAll: number;
}

/** Several readers at the full speed of a page of 1 MiB, and all of them together a twentieth of the container's memory. */
export const UNSENT_BYTES: UnsentBounds = { ofOwner: 16_777_216, inAll: 67_108_864 };

interface Unsent {
  readonly owner: string;
  /** Within the share of the owner: a principal, or the network of a stranger. */
  readonly member: string;
  readonly bytes: number;
  readonly cut: () => void;
}

/** All requests without a valid token share what one project has. */
const STRANGERS = 'strangers';

/**
 * Counts the bytes of answers that wait for their readers. An owner with too many loses the oldest answer of its member with the most bytes, whose readers are the slowest; if
 * all have too many together, the owner with most bytes does. The answer that is added stays.
 */
export class UnsentAnswers {
  readonly #bounds: UnsentBounds;
  readonly #byOwner = new Map<string, Share>();
  #inAll = 0;

  constructor(bounds: UnsentBounds) {
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#inAll;
  }

  /** Returns what is to be called when the answer was sent or its reader is gone. */
  add(answer: Unsent): () => void {
    const { owner } = answer;
    const share = this.#byOwner.get(owner) ?? new Share();
    this.#byOwner.set(owner, share);
    share.add(answer);
    this.#inAll += answer.bytes;
    while (share.bytes > this.#bounds.ofOwner && this.#cutOldest(owner, answer));
    while (this.#inAll > this.#bounds.inAll && this.#cutOldest(this.#largestOwner(), answer));
    return () => this.#forget(answer);
  }

  /** Whether there was one beside the newest. */
  #cutOldest(owner: string, newest: Unsent): boolean {
    const oldest = this.#byOwner.get(owner)?.oldestOfLargestMember(newest);
    if (oldest === undefined) return false;
    this.#forget(oldest);
    oldest.cut();
    return true;
  }

  #forget(answer: Unsent): void {
    const share = this.#byOwner.get(answer.owner);
    if (share?.remove(answer) !== true) return;
    this.#inAll -= answer.bytes;
    if (share.bytes === 0) this.#byOwner.delete(answer.owner);
  }

  #largestOwner(): string {
    let largest = { owner: '', bytes: 0 };
    for (const [owner, { bytes }] of this.#byOwner) if (bytes > largest.bytes) largest = { owner, bytes };
    return largest.owner;
  }
}

/** Answers of one owner, by member. */
class Share {
  /** Of each member in the order in which they were added; never an empty set. */
  readonly #members = new Map<string, { bytes: number; readonly answers: Set<Unsent> }>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(answer: Unsent): void {
    const member = this.#members.get(answer.member) ?? { bytes: 0, answers: new Set<Unsent>() };
    this.#members.set(answer.member, member);
    member.answers.add(answer);
    member.bytes += answer.bytes;
    this.#bytes += answer.bytes;
  }

  /** Whether it was there. */
  remove(answer: Unsent): boolean {
    const member = this.#members.get(answer.member);
    if (member?.answers.delete(answer) !== true) return false;
    member.bytes -= answer.bytes;
    this.#bytes -= answer.bytes;
    if (member.answers.size === 0) this.#members.delete(answer.member);
    return true;
  }

  /** Undefined: there is none but the newest. */
  oldestOfLargestMember(newest: Unsent): Unsent | undefined {
    let most = -1;
    let oldest: Unsent | undefined;
    for (const { bytes, answers } of this.#members.values()) {
      const [first] = answers;
      if (bytes <= most || first === undefined || first === newest) continue;
      most = bytes;
      oldest = first;
    }
    return oldest;
  }
}

/** Bounds the answers that wait for their readers. Streams bound themselves. */
export function boundUnsentAnswers(
  fastify: FastifyInstance,
  { ownerOf, unsent }: { readonly ownerOf: (request: FastifyRequest) => ShareOwner; readonly unsent: UnsentAnswers },
): void {
  fastify.addHook('onSend', (request, { raw }, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
    if (bytes > 0) {
      // A reset: what was sent already would stay in the kernel until the reader has it.
      const { owner = STRANGERS, member } = ownerOf(request);
      const sent = unsent.add({ owner, member, bytes, cut: () => raw.socket?.resetAndDestroy() });
      raw.once('finish', sent).once('close', sent);
      if (raw.destroyed) sent();
    }
    done(null, payload);
  });
}
