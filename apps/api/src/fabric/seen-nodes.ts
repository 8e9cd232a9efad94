import { type Fabric, fabricFromNodes, factsOfNode, type NodeFacts } from '@coxswain/fabric';
import {
  type Clock,
  type KubeClient,
  type KubeObject,
  ObjectCache,
  Reflector,
  resourcePath,
  sleep,
  systemClock,
} from '@coxswain/kube';
import { sentenceOf } from '../cluster/resources.ts';

/** Of a node, what its place in the fabric follows from. */
interface SeenNode extends KubeObject {
  readonly facts: NodeFacts;
}

/** What a cluster of thousands of nodes says of itself changes many times a second; a picture of it need not. */
const RECOMPUTE_MS = 2_000;
const STALE_MS = 60_000;
const LOOK_MS = 20;

/** The nodes of the cluster, or in a sentence why they are not seen. */
export type Sight =
  | { readonly fabric: Fabric; readonly isStale: boolean; readonly problem?: undefined }
  | { readonly problem: string; readonly fabric?: undefined };

/**
 * Nodes as this process sees them. It begins to watch when somebody first asks, and goes on until the process stops: a replica that nobody asks for a
 * fabric costs the API server nothing.
 */
export class SeenNodes {
  readonly #cache = new ObjectCache<SeenNode>();
  readonly #reflector: Reflector<SeenNode>;
  readonly #stopping: AbortSignal;
  readonly #clock: Clock;
  #isWatching = false;
  #problem: string | undefined;
  #drawn: { readonly fabric: Fabric; readonly atMs: number } | undefined;
  #hasChanged = false;

  constructor(parts: {
    readonly kube: Pick<KubeClient, 'list' | 'requestStream'>;
    /** Ends watching. */
    readonly stopping: AbortSignal;
    readonly clock?: Clock;
  }) {
    const { kube, stopping, clock = systemClock } = parts;
    this.#stopping = stopping;
    this.#clock = clock;
    this.#cache.onChange((change) => {
      if (change.kind !== 'updated' || !sameFacts(change.object, change.previous)) this.#hasChanged = true;
    });
    this.#reflector = new Reflector<SeenNode>({
      client: kube,
      collectionPath: resourcePath({ group: '', version: 'v1', plural: 'nodes' }),
      cache: this.#cache,
      clock,
      random: Math.random,
      trim: toSeenNode,
      onError: ({ error }) => (this.#problem = sentenceOf(error)),
    });
  }

  /** The fabric, as soon as it was seen once; a problem where the cluster refuses, or does not tell within so many milliseconds. */
  async look(patienceMs: number): Promise<Sight> {
    this.#watch();
    const until = this.#clock.monotonicMs() + patienceMs;
    while (!this.#reflector.hasSynced()) {
      if (this.#problem !== undefined) return { problem: `the nodes of the cluster cannot be read: ${this.#problem}` };
      if (this.#stopping.aborted || this.#clock.monotonicMs() >= until)
        return { problem: 'the nodes of the cluster have not all been read yet; ask again in a few seconds' };
      await sleep(this.#clock, LOOK_MS, this.#stopping);
    }
    return { fabric: this.#draw(), isStale: this.#reflector.health().outageMs > STALE_MS };
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#reflector.run(this.#stopping);
  }

  /** The same object until something else is to be said. */
  #draw(): Fabric {
    const nowMs = this.#clock.monotonicMs();
    const drawn = this.#drawn;
    if (drawn !== undefined && (!this.#hasChanged || nowMs - drawn.atMs < RECOMPUTE_MS)) return drawn.fabric;
    this.#hasChanged = false;
    const fabric = fabricFromNodes(this.#cache.list().map(({ facts }) => facts));
    this.#drawn = { fabric, atMs: nowMs };
    return fabric;
  }
}

function toSeenNode(node: KubeObject): SeenNode {
  const { name, uid, resourceVersion } = node.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    facts: factsOfNode(node),
  };
}

function sameFacts(one: SeenNode, other: SeenNode): boolean {
  return JSON.stringify(one.facts) === JSON.stringify(other.facts);
}
