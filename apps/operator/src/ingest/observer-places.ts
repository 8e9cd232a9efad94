/** Bounds of observers: their connections, how often each pod reports, and how many bytes of reports are held. */
import { HeldBytes } from './held-bytes.ts';

const BOUNDS = {
  /** A TLS connection takes 20 to 40 kB. Launchers keep at least 4,500 of the server's places. */
  all: 3_500,
  /** One namespace cannot take the places of all. */
  namespace: 2_500,
  /** One that reports, and one that died and is not detected yet. */
  pod: 2,
  /** Observers hasten to one report a second. */
  betweenMs: 250,
  /** Of reports that have not arrived whole. The connection that holds most is cut. */
  heldBytes: 16_777_216,
} as const;

/** A connection of an observer. */
export interface ObserverSocket {
  once(event: 'close', handler: () => void): unknown;
  destroy(): unknown;
}

interface OfPod {
  /** Oldest first. */
  readonly sockets: Set<ObserverSocket>;
  isReporting: boolean;
  lastMs: number;
}

/** Places of observers whose pods are known. What a pod may take does not depend on how many connections it opens. */
export class ObserverPlaces {
  readonly #bounds: typeof BOUNDS;
  readonly #held: HeldBytes;
  readonly #pods = new Map<string, OfPod>();
  readonly #ofNamespace = new Map<string, number>();
  #connections = 0;

  constructor(bounds: Partial<Record<keyof typeof BOUNDS, number>> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds } as typeof BOUNDS;
    this.#held = new HeldBytes({ unidentified: this.#bounds.heldBytes, all: this.#bounds.heldBytes });
  }

  get connections(): number {
    return this.#connections;
  }

  /** Gives the connection a place, and ends the oldest one of a pod that has too many. False: there is no place. */
  enter({ podUid, namespace }: { podUid: string; namespace: string }, socket: ObserverSocket): boolean {
    const pod = this.#ofPod(podUid);
    if (pod.sockets.has(socket)) return true;
    const leave = (one: ObserverSocket): void => {
      if (!pod.sockets.delete(one)) return;
      this.#connections -= 1;
      this.#ofNamespace.set(namespace, (this.#ofNamespace.get(namespace) ?? 1) - 1);
    };
    const [oldest] = pod.sockets;
    if (oldest !== undefined && pod.sockets.size >= this.#bounds.pod) {
      leave(oldest);
      oldest.destroy();
    }
    const ofNamespace = this.#ofNamespace.get(namespace) ?? 0;
    if (this.#connections >= this.#bounds.all || ofNamespace >= this.#bounds.namespace) return false;
    pod.sockets.add(socket);
    this.#connections += 1;
    this.#ofNamespace.set(namespace, ofNamespace + 1);
    socket.once('close', () => leave(socket));
    return true;
  }

  /** Begins a report. Undefined: the pod has just reported, or another report of it has not arrived whole. */
  begin(
    podUid: string,
    socket: ObserverSocket,
    nowMs: number,
  ): { receive(bytes: number): void; end(): void } | undefined {
    const pod = this.#ofPod(podUid);
    if (pod.isReporting || nowMs - pod.lastMs < this.#bounds.betweenMs) return undefined;
    pod.isReporting = true;
    pod.lastMs = nowMs;
    const held = this.#held.open(() => socket.destroy());
    held.identify();
    const end = (): void => {
      pod.isReporting = false;
      held.close();
    };
    return { receive: (bytes) => held.receive(bytes), end };
  }

  #ofPod(podUid: string): OfPod {
    const known = this.#pods.get(podUid);
    if (known !== undefined) return known;
    // A pod without a connection is remembered for its pace alone.
    if (this.#pods.size >= 2 * this.#bounds.all)
      for (const [uid, { sockets }] of this.#pods) if (sockets.size === 0) this.#pods.delete(uid);
    const pod: OfPod = { sockets: new Set(), isReporting: false, lastMs: Number.NEGATIVE_INFINITY };
    this.#pods.set(podUid, pod);
    return pod;
  }
}
