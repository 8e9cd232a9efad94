import { areSameFacts, factsOfNode, type NodeFacts, withFabricLabels } from '@coxswain/fabric';
import {
  type Clock,
  type KubeClient,
  type KubeObject,
  ObjectCache,
  Reflector,
  resourcePath,
  WATCH_CHECK,
} from '@coxswain/kube';

/** Of a node, what its place in the fabric follows from. */
interface SeenNode extends KubeObject {
  readonly facts: NodeFacts;
}

/** What a watch of all nodes needs, and whom it notifies. */
export interface NodeWatchParts {
  readonly kube: Pick<KubeClient, 'list' | 'requestStream'>;
  readonly clock: Clock;
  /** Ends watching. */
  readonly signal: AbortSignal;
  /** Labels that are kept beside those that say where a node sits. */
  readonly keys: ReadonlySet<string>;
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

/** Every node, with as many labels as somebody reads: 10,000 nodes of 150 labels each are 54 MB with all of them. */
export class NodeWatch {
  readonly keys: ReadonlySet<string>;
  readonly #cache = new ObjectCache<SeenNode>();
  readonly #reflector: Reflector<SeenNode>;
  readonly #ending = new AbortController();

  constructor({ kube, clock, signal, keys, onChange, onError }: NodeWatchParts) {
    this.keys = keys;
    this.#cache.onChange((change) => {
      if (change.kind !== 'updated' || !areSameFacts(change.object.facts, change.previous.facts)) onChange();
    });
    this.#reflector = new Reflector<SeenNode>({
      client: kube,
      clock,
      random: Math.random,
      collectionPath: resourcePath({ group: '', version: 'v1', plural: 'nodes' }),
      cache: this.#cache,
      check: WATCH_CHECK,
      trim: (node) => ({ ...identityOf(node), facts: withFabricLabels(factsOfNode(node), keys) }),
      onError: ({ error }) => onError(error),
    });
    void this.#reflector.run(AbortSignal.any([signal, this.#ending.signal]));
  }

  hasSynced(): boolean {
    return this.#reflector.hasSynced();
  }

  outageMs(): number {
    return this.#reflector.health().outageMs;
  }

  facts(): readonly NodeFacts[] {
    return this.#cache.list().map(({ facts }) => facts);
  }

  end(): void {
    this.#ending.abort();
  }
}

/** Of an object, what a reflector knows it by. */
export function identityOf({ apiVersion, kind, metadata: { name, uid, resourceVersion } }: KubeObject): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}
