/** More than the pods of all gangs that one operator supports, and half of its connections. */
const MOST = 4_000;

interface Place {
  readonly namespace: string;
  /** Ends the connection; with a reason unless a newer connection of the same pod took the place. */
  readonly leave: (why?: string) => void;
}

/**
 * Launchers that wait for the next leader. Each pod has one place, which its newest connection holds, and the number of places is limited. These places are
 * separate from those of unidentified connections, which one pod with many connections could fill.
 *
 * If all places are taken, the namespace with the most places loses its oldest one, if it holds more than the new launcher's namespace would. Otherwise the
 * new launcher gets none.
 */
export class WaitingLaunchers {
  readonly #most: number;
  readonly #byPod = new Map<string, Place>();

  constructor(most = MOST) {
    this.#most = most;
  }

  get size(): number {
    return this.#byPod.size;
  }

  /** Returns a function that frees the place; undefined if there is none. Calls `leave` when another connection takes the place. */
  enter(podUid: string, leave: (why?: string) => void, namespace = ''): (() => void) | undefined {
    const earlier = this.#byPod.get(podUid);
    if (earlier === undefined && this.#byPod.size >= this.#most && !this.#makeRoomFor(namespace)) return undefined;
    const place = { namespace, leave };
    this.#byPod.set(podUid, place);
    earlier?.leave();
    return () => {
      // A replaced connection leaves too, but its place already belongs to the newer one.
      if (this.#byPod.get(podUid) === place) this.#byPod.delete(podUid);
    };
  }

  #makeRoomFor(namespace: string): boolean {
    const byNamespace = Map.groupBy(this.#byPod, ([, place]) => place.namespace);
    const [largest] = [...byNamespace.values()].toSorted((one, other) => other.length - one.length);
    const oldest = largest?.[0];
    if (largest === undefined || oldest === undefined) return false;
    if (largest.length <= (byNamespace.get(namespace)?.length ?? 0) + 1) return false;
    const [podUid, place] = oldest;
    this.#byPod.delete(podUid);
    place.leave(`too many launchers of namespace ${place.namespace} wait for the next leader on this replica; retry`);
    return true;
  }
}
