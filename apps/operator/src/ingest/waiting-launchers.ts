/** More than the pods of all gangs that one operator is meant for, and half of the connections that it takes. */
const MOST = 4_000;

/**
 * Launchers that wait for the next leader: each pod has one place, which its newest connection holds, and there are so many of them in all. They are
 * apart from the places of strangers, which one pod with many connections would fill for everybody.
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

  /** Returns how to leave; undefined where all places are taken. `replace` is called when a newer connection of the pod takes the place. */
  enter(podUid: string, replace: () => void): (() => void) | undefined {
    const earlier = this.#byPod.get(podUid);
    if (earlier === undefined && this.#byPod.size >= this.#most) return undefined;
    this.#byPod.set(podUid, replace);
    earlier?.();
    return () => {
      // Whoever was replaced leaves too, and the place is another's by then.
      if (this.#byPod.get(podUid) === replace) this.#byPod.delete(podUid);
    };
  }
}
