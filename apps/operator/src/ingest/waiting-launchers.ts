/** More than the pods of all gangs that one operator supports, and half of its connections. */
const MOST = 4_000;

/**
 * Launchers that wait for the next leader. Each pod has one place, which its newest connection holds, and the number of places is limited. These places are
 * separate from those of unidentified connections, which one pod with many connections could fill.
 */
export class WaitingLaunchers {
  readonly #most: number;
  readonly #byPod = new Map<string, () => void>();

  constructor(most = MOST) {
    this.#most = most;
  }

  get size(): number {
    return this.#byPod.size;
  }

  /** Returns a function that frees the place; undefined if all places are taken. Calls `replace` when a newer connection of the pod takes the place. */
  enter(podUid: string, replace: () => void): (() => void) | undefined {
    const earlier = this.#byPod.get(podUid);
    if (earlier === undefined && this.#byPod.size >= this.#most) return undefined;
    this.#byPod.set(podUid, replace);
    earlier?.();
    return () => {
      // A replaced connection leaves too, but its place already belongs to the newer one.
      if (this.#byPod.get(podUid) === replace) this.#byPod.delete(podUid);
    };
  }
}
