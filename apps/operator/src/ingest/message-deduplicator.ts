/** Remembers which messages of each pod were handled, so that a message that is sent again after a lost acknowledgement counts once. */
export class MessageDeduplicator {
  readonly #newest = new Map<string, { readonly bootId: string; readonly sequence: number }>();
  readonly #maxPods: number;

  constructor(maxPods = 50_000) {
    this.#maxPods = maxPods;
  }

  /** Whether the message is new. Records it as seen. */
  isNew(podUid: string, message: { readonly bootId: string; readonly sequence: number }): boolean {
    const newest = this.#newest.get(podUid);
    if (newest?.bootId === message.bootId && message.sequence <= newest.sequence) return false;
    this.#newest.delete(podUid);
    this.#newest.set(podUid, message);
    // Insertion order is the order of the last message: the pod that has been silent longest goes first.
    const [oldest] = this.#newest.keys();
    if (this.#newest.size > this.#maxPods && oldest !== undefined) this.#newest.delete(oldest);
    return true;
  }
}
