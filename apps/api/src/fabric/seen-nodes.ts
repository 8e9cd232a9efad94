import { FABRIC_NAME, type FabricOverride, FabricSpec } from '@coxswain/api-types';
import { type Fabric, fabricFromNodes, selectedKeys, withOverrides } from '@coxswain/fabric';
import {
  type Clock,
  type KubeClient,
  KubeApiError,
  type KubeObject,
  ObjectCache,
  Reflector,
  sleep,
  systemClock,
  WATCH_CHECK,
} from '@coxswain/kube';
import { collectionOf, sentenceOf } from '../cluster/resources.ts';
import { identityOf, NodeWatch } from './node-watch.ts';
import { SeenDevices } from './seen-devices.ts';

/** What an administrator says of nodes; undefined where this release cannot read it. */
interface FabricOverrides extends KubeObject {
  readonly overrides: readonly FabricOverride[] | undefined;
}

/** What a cluster of thousands of nodes says of itself changes many times a second; a picture of it need not. */
const RECOMPUTE_MS = 2_000;
const STALE_MS = 60_000;
const POLL_MS = 20;

/** The nodes of the cluster, or in a sentence why they are not seen. */
export type FabricObservation =
  | { readonly fabric: Fabric; readonly isStale: boolean; readonly problem?: undefined }
  | { readonly problem: string; readonly fabric?: undefined };

interface Parts {
  readonly kube: Pick<KubeClient, 'list' | 'requestStream'>;
  /** Ends watching. */
  readonly stopping: AbortSignal;
  readonly clock: Clock;
}

/**
 * Nodes as this process sees them, with what DRA drivers say of their devices and the Fabric resource says of them. It begins to watch when somebody first asks, and goes on until the process
 * stops: a replica that nobody asks for a fabric costs the API server nothing.
 */
export class SeenNodes {
  readonly #parts: Parts;
  readonly #fabrics = new ObjectCache<FabricOverrides>();
  readonly #fabricReflector: Reflector<FabricOverrides>;
  readonly #devices: SeenDevices;
  #nodes: NodeWatch | undefined;
  /** Keeps other labels, and takes over as soon as it has seen every node. */
  #nextNodes: NodeWatch | undefined;
  #problem: unknown;
  /** Whether reading the Fabric failed. The picture is then drawn without its overrides. */
  #hasTriedFabric = false;
  #overrides: readonly FabricOverride[] = [];
  #drawn: { readonly fabric: Fabric; readonly atMs: number } | undefined;
  #hasChanged = false;

  constructor({ kube, stopping, clock = systemClock }: Omit<Parts, 'clock'> & Partial<Parts>) {
    this.#parts = { kube, stopping, clock };
    this.#devices = new SeenDevices({ kube, clock, onChange: () => (this.#hasChanged = true) });
    this.#fabrics.onChange((change) => {
      if (change.object.metadata.name === FABRIC_NAME)
        this.#obey(change.kind === 'deleted' ? [] : change.object.overrides);
    });
    this.#fabricReflector = new Reflector<FabricOverrides>({
      client: kube,
      clock,
      random: Math.random,
      collectionPath: collectionOf('fabrics'),
      cache: this.#fabrics,
      check: WATCH_CHECK,
      trim: (fabric) => ({ ...identityOf(fabric), overrides: overridesOf(fabric) }),
      onError: () => (this.#hasTriedFabric = true),
    });
  }

  /** The fabric, as soon as it was seen once; a problem where the cluster refuses, or does not tell within so many milliseconds. */
  async observe(patienceMs: number): Promise<FabricObservation> {
    const { clock, stopping } = this.#parts;
    const until = clock.monotonicMs() + patienceMs;
    for (;;) {
      this.#devices.watch();
      const nodes = this.#watch();
      if (this.#canDraw(nodes)) return { fabric: this.#draw(nodes), isStale: nodes.outageMs() > STALE_MS };
      const isLate = stopping.aborted || clock.monotonicMs() >= until;
      // Whom it refuses once it refuses again; whatever else is wrong may pass.
      if (isRefusal(this.#problem) || (isLate && this.#problem !== undefined))
        return { problem: `the nodes of the cluster cannot be read: ${sentenceOf(this.#problem)}` };
      if (isLate) return { problem: 'the nodes of the cluster have not all been read yet; ask again in a few seconds' };
      await sleep(clock, POLL_MS, stopping);
    }
  }

  /** What overrides choose by, and what drivers say, is waited for at first; later the picture before is good enough. */
  #canDraw(nodes: NodeWatch): boolean {
    const isFabricRead = this.#hasTriedFabric || this.#fabricReflector.hasSynced();
    return (
      nodes.hasSynced() &&
      isFabricRead &&
      this.#devices.hasTried &&
      (this.#drawn !== undefined || this.#nextNodes === undefined)
    );
  }

  #watch(): NodeWatch {
    if (this.#nodes === undefined) {
      this.#nodes = this.#watchNodes(new Set());
      void this.#fabricReflector.run(this.#parts.stopping);
    }
    if (this.#nextNodes?.hasSynced() === true) {
      this.#nodes.end();
      this.#nodes = this.#nextNodes;
      this.#nextNodes = undefined;
      this.#hasChanged = true;
    }
    return this.#nodes;
  }

  #watchNodes(keys: ReadonlySet<string>): NodeWatch {
    const { kube, clock, stopping } = this.#parts;
    return new NodeWatch({
      kube,
      clock,
      signal: stopping,
      keys,
      onChange: () => (this.#hasChanged = true),
      onError: (error) => (this.#problem = error),
    });
  }

  /** Applies overrides. If they cannot be read (undefined), the previous ones stay in effect. */
  #obey(overrides: readonly FabricOverride[] | undefined): void {
    if (overrides === undefined || JSON.stringify(overrides) === JSON.stringify(this.#overrides)) return;
    this.#overrides = overrides;
    this.#hasChanged = true;
    const keys = selectedKeys(overrides);
    const kept = (this.#nextNodes ?? this.#nodes)?.keys ?? new Set();
    if ([...keys].every((key) => kept.has(key))) return;
    this.#nextNodes?.end();
    this.#nextNodes = this.#watchNodes(keys);
  }

  /** The same object until something else is to be said. */
  #draw(nodes: NodeWatch): Fabric {
    const nowMs = this.#parts.clock.monotonicMs();
    const drawn = this.#drawn;
    if (drawn !== undefined && (!this.#hasChanged || nowMs - drawn.atMs < RECOMPUTE_MS)) return drawn.fabric;
    this.#hasChanged = false;
    const fabric = fabricFromNodes(
      nodes.facts().map((facts) => withOverrides(this.#devices.with(facts), this.#overrides)),
    );
    this.#drawn = { fabric, atMs: nowMs };
    return fabric;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof KubeApiError && (error.status === 401 || error.status === 403);
}

function overridesOf(fabric: KubeObject): readonly FabricOverride[] | undefined {
  const read = FabricSpec.safeParse((fabric as { spec?: unknown }).spec ?? {});
  return read.success ? (read.data.overrides ?? []) : undefined;
}
