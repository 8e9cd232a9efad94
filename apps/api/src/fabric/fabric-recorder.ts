import { type Fabric, recordedNode } from '@coxswain/fabric';
import { type Clock, sleep } from '@coxswain/kube';
import type { Logger } from '@coxswain/telemetry';
import type { SeenNodes } from './seen-nodes.ts';
import { type DigestedFabric, digested, type SnapshotStore } from './snapshot-store.ts';

/** What the recorder reads from, writes to and logs with. */
export interface FabricRecorderParts {
  readonly nodes: Pick<SeenNodes, 'observe'>;
  readonly store: Pick<SnapshotStore, 'newest' | 'record' | 'seeAgain'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

const EVERY_MS = 30_000;
const PATIENCE_MS = 15_000;
/** A fabric is recorded when two observations agree on it, because a kubelet that restarts reports no GPUs for some seconds. A fabric that keeps changing is recorded as it is then. */
const RESTLESS_MS = 300_000;
/** Resolution of the time until which the newest snapshot is known to hold. */
const SEEN_EVERY_MS = 600_000;

/** Records what the fabric looks like, where that is another than what was recorded last. One process of a cluster does at a time. */
export class FabricRecorder {
  readonly #parts: FabricRecorderParts;
  #digested: { readonly of: Fabric; readonly fabric: DigestedFabric } | undefined;
  /** Digest of the newest snapshot, as far as this process knows. */
  #newest: string | undefined;
  #seenAtMs = -Infinity;
  #other: { readonly sha256: string; readonly sinceMs: number } | undefined;
  #unrecordedObservations = 0;

  constructor(parts: FabricRecorderParts) {
    this.#parts = parts;
  }

  /** Looks from time to time until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#parts;
    while (!signal.aborted) {
      await this.recordChange().catch((error: unknown) =>
        logger.warn({ reason: (error as Error).message }, 'the fabric was not recorded; trying again'),
      );
      await sleep(clock, EVERY_MS, signal);
    }
  }

  /** Once. Throws what the database says. */
  async recordChange(): Promise<void> {
    const { nodes, store, clock } = this.#parts;
    const seen = await nodes.observe(PATIENCE_MS);
    // What has not been heard of for a minute was recorded already, or is not known.
    if (seen.fabric === undefined || seen.isStale) return;
    const fabric = this.#digest(seen.fabric);
    this.#newest ??= await store.newest();
    const nowMs = clock.monotonicMs();
    if (this.#newest === fabric.sha256) return this.#seeAgain(fabric, nowMs);
    const hasSettled = this.#newest === undefined || this.#other?.sha256 === fabric.sha256;
    const sinceMs = this.#other?.sinceMs ?? nowMs;
    this.#other = { sha256: fabric.sha256, sinceMs };
    if ((hasSettled || nowMs - sinceMs >= RESTLESS_MS) && (await store.record(fabric, this.#unrecordedObservations)))
      return this.#recorded(fabric, nowMs);
    this.#unrecordedObservations += 1;
  }

  async #seeAgain({ sha256 }: DigestedFabric, nowMs: number): Promise<void> {
    this.#other = undefined;
    if (nowMs - this.#seenAtMs < SEEN_EVERY_MS) return;
    await this.#parts.store.seeAgain(sha256);
    this.#seenAtMs = nowMs;
  }

  #recorded({ sha256, counts }: DigestedFabric, nowMs: number): void {
    this.#newest = sha256;
    this.#seenAtMs = nowMs;
    this.#other = undefined;
    this.#unrecordedObservations = 0;
    this.#parts.logger.info({ ...counts }, 'recorded the fabric, which changed');
  }

  #digest(of: Fabric): DigestedFabric {
    if (this.#digested?.of !== of) this.#digested = { of, fabric: digested(of.nodes.map(recordedNode)) };
    return this.#digested.fabric;
  }
}
