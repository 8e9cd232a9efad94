/** Writes inferred fabric labels to nodes if that is enabled, and removes them otherwise. */
import { createHash } from 'node:crypto';
import { type FabricNode, labelChange, publishedLabels } from '@coxswain/fabric';
import { isConflict, isNotFound, KubeApiError, type Clock, type KubeClient } from '@coxswain/kube';
import type { CachedNode } from '../cluster/cached-node.ts';
import { nodesPath } from '../cluster/paths.ts';

/** Parts of the controller. `client` must reject writes while this process does not lead. */
export interface NodeLabelControllerParts {
  readonly client: Pick<KubeClient, 'patch'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly isAsked: boolean;
  readonly onError: (error: unknown) => void;
}

type Labels = Readonly<Record<string, string>>;

/** Limits of one reconcile, so that labelling 10,000 nodes does not block other work; it then takes ten minutes. */
const MOST_WRITES = 100;
const LOOK_BUDGET_MS = 2_000;
/** Minimum time between two writes of one node, in case another program writes the same labels. */
const BETWEEN_WRITES_MS = 60_000;
/** Pause after the API server denied a write. */
const REFUSED_MS = 300_000;
const NONE: Labels = {};

/** Keeps the inferred labels of nodes current. */
export class NodeLabelController {
  readonly #parts: NodeLabelControllerParts;
  #wanted: { readonly of: ReadonlyMap<string, FabricNode>; readonly labels: ReadonlyMap<string, Labels> } | undefined;
  /** Due changes of the previous reconcile; only a change that is due twice is written, so that flapping labels are not followed. */
  #before: ReadonlyMap<string, string> = new Map();
  #writtenAtMs = new Map<string, number>();
  #refusedUntilMs = -Infinity;

  constructor(parts: NodeLabelControllerParts) {
    this.#parts = parts;
  }

  /** Reconciles once. Writes only nodes whose labels differ. */
  async reconcile(fabric: ReadonlyMap<string, FabricNode>, nodes: readonly CachedNode[]): Promise<void> {
    const { clock } = this.#parts;
    const beganAtMs = clock.monotonicMs();
    if (beganAtMs < this.#refusedUntilMs) return;
    const due = this.#due(fabric, nodes, beganAtMs);
    for (const { node, change } of due.slice(0, MOST_WRITES)) {
      const nowMs = clock.monotonicMs();
      if (nowMs - beganAtMs > LOOK_BUDGET_MS || nowMs < this.#refusedUntilMs) return;
      await this.#write(node, change);
    }
  }

  #due(
    fabric: ReadonlyMap<string, FabricNode>,
    nodes: readonly CachedNode[],
    nowMs: number,
  ): readonly { readonly node: CachedNode; readonly change: NonNullable<ReturnType<typeof labelChange>> }[] {
    const wanted = this.#parts.isAsked ? this.#wantedOf(fabric) : new Map<string, Labels>();
    const before = this.#before;
    const now = new Map<string, string>();
    const writtenAtMs = new Map<string, number>();
    const due = nodes.flatMap((node) => {
      const { name } = node.metadata;
      const lastMs = this.#writtenAtMs.get(name);
      if (lastMs !== undefined) writtenAtMs.set(name, lastMs);
      const labels = wanted.get(name);
      // The usual case if labels are disabled.
      if (node.published === undefined && labels === undefined) return [];
      const change = labelChange(node.published ?? NONE, labels ?? NONE);
      if (change === undefined) return [];
      const text = JSON.stringify(change);
      now.set(name, text);
      const isSettled = before.get(name) === text;
      return isSettled && nowMs - (lastMs ?? -Infinity) >= BETWEEN_WRITES_MS ? [{ node, change }] : [];
    });
    this.#before = now;
    this.#writtenAtMs = writtenAtMs;
    return due;
  }

  #wantedOf(fabric: ReadonlyMap<string, FabricNode>): ReadonlyMap<string, Labels> {
    if (this.#wanted?.of === fabric) return this.#wanted.labels;
    const digests = new Map<string, string>();
    const digest = (text: string): string => {
      const known = digests.get(text) ?? createHash('sha256').update(text).digest('hex');
      digests.set(text, known);
      return known;
    };
    const labels = new Map([...fabric].map(([name, node]) => [name, publishedLabels(node, digest)] as const));
    this.#wanted = { of: fabric, labels };
    return labels;
  }

  async #write({ metadata: { name, uid } }: CachedNode, labels: object): Promise<void> {
    const { client, clock, onError } = this.#parts;
    this.#writtenAtMs.set(name, clock.monotonicMs());
    try {
      // The UID protects another node that took the name.
      await client.patch(
        nodesPath(name),
        { metadata: { ...(uid === undefined ? {} : { uid }), labels } },
        { type: 'merge' },
      );
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 403)
        this.#refusedUntilMs = clock.monotonicMs() + REFUSED_MS;
      if (!isConflict(error) && !isNotFound(error)) onError(error);
    }
  }
}
