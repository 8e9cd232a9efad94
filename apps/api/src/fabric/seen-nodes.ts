import { FABRIC_NAME, type FabricOverride, FabricSpec, type FabricWindow } from '@coxswain/api-types';
import {
  type Fabric,
  fabricFromNodes,
  type NodeWindow,
  selectedKeys,
  windowsOfNode,
  withOverrides,
} from '@coxswain/fabric';
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

/** What an administrator says of nodes. */
interface StatedOfNodes {
  readonly overrides: readonly FabricOverride[];
  readonly windows: readonly FabricWindow[];
}

/** `stated` is undefined where this release cannot read it. */
interface StatedFabric extends KubeObject {
  readonly stated: StatedOfNodes | undefined;
}

/** What a cluster of thousands of nodes says of itself changes many times a second; a picture of it need not. */
const RECOMPUTE_MS = 2_000;
const STALE_MS = 60_000;
const POLL_MS = 20;

/** The nodes of the cluster, or in a sentence why they are not seen. */
export type FabricObservation =
  | (Drawn & { readonly isStale: boolean; readonly problem?: undefined })
  | { readonly problem: string; readonly fabric?: undefined };

/** The nodes, and windows of the Fabric over them by name; nodes without windows are not in it. */
interface Drawn {
  readonly fabric: Fabric;
  readonly windows: ReadonlyMap<string, readonly NodeWindow[]>;
}

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
  readonly #fabrics = new ObjectCache<StatedFabric>();
  readonly #fabricReflector: Reflector<StatedFabric>;
  readonly #devices: SeenDevices;
  #nodes: NodeWatch | undefined;
  /** Keeps other labels, and takes over as soon as it has seen every node. */
  #nextNodes: NodeWatch | undefined;
  #problem: unknown;
  /** Whether reading the Fabric failed. The picture is then drawn without its overrides. */
  #hasTriedFabric = false;
  #stated: StatedOfNodes = NOTHING_STATED;
  #drawn: (Drawn & { readonly atMs: number }) | undefined;
  #hasChanged = false;

  constructor({ kube, stopping, clock = systemClock }: Omit<Parts, 'clock'> & Partial<Parts>) {
    this.#parts = { kube, stopping, clock };
    this.#devices = new SeenDevices({ kube, clock, onChange: () => (this.#hasChanged = true) });
    this.#fabrics.onChange((change) => {
      if (change.object.metadata.name === FABRIC_NAME)
        this.#obey(change.kind === 'deleted' ? NOTHING_STATED : change.object.stated);
    });
    this.#fabricReflector = new Reflector<StatedFabric>({
      client: kube,
      clock,
      random: Math.random,
      collectionPath: collectionOf('fabrics'),
      cache: this.#fabrics,
      check: WATCH_CHECK,
      trim: (fabric) => ({ ...identityOf(fabric), stated: statedIn(fabric) }),
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
      if (this.#canDraw(nodes)) return { ...this.#draw(nodes), isStale: nodes.outageMs() > STALE_MS };
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

  /** Applies overrides and windows. If they cannot be read (undefined), the previous ones stay in effect. */
  #obey(stated: StatedOfNodes | undefined): void {
    if (stated === undefined || JSON.stringify(stated) === JSON.stringify(this.#stated)) return;
    this.#stated = stated;
    this.#hasChanged = true;
    const keys = selectedKeys([...stated.overrides, ...stated.windows]);
    const kept = (this.#nextNodes ?? this.#nodes)?.keys ?? new Set();
    if ([...keys].every((key) => kept.has(key))) return;
    this.#nextNodes?.end();
    this.#nextNodes = this.#watchNodes(keys);
  }

  /** The same object until something else is to be said. */
  #draw(nodes: NodeWatch): Drawn {
    const nowMs = this.#parts.clock.monotonicMs();
    const drawn = this.#drawn;
    if (drawn !== undefined && (!this.#hasChanged || nowMs - drawn.atMs < RECOMPUTE_MS)) return drawn;
    this.#hasChanged = false;
    const { overrides, windows } = this.#stated;
    const facts = nodes.facts();
    const over = facts.map((node) => [node.name, windowsOfNode(node, windows)] as const);
    this.#drawn = {
      fabric: fabricFromNodes(facts.map((node) => withOverrides(this.#devices.with(node), overrides))),
      windows: new Map(over.filter(([, ofNode]) => ofNode.length > 0)),
      atMs: nowMs,
    };
    return this.#drawn;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof KubeApiError && (error.status === 401 || error.status === 403);
}

const NOTHING_STATED: StatedOfNodes = { overrides: [], windows: [] };

function statedIn(fabric: KubeObject): StatedOfNodes | undefined {
  const read = FabricSpec.safeParse((fabric as { spec?: unknown }).spec ?? {});
  if (!read.success) return undefined;
  const { overrides = [], windows = [] } = read.data;
  return { overrides, windows };
}
