import type { GpuCountsService } from '../fabric/gpu-counts.service.ts';
import type { SeenNodes } from '../fabric/seen-nodes.ts';
import type { WallClock } from '../infrastructure/tokens.ts';
import type { QueueRecords } from './queue-records.ts';
import { type QueueSnapshot, queueSnapshot } from './queue-snapshot.ts';

/** A page that many people keep open costs one forecast in this time. */
const KEPT_MS = 3_000;
/** The order is answered without nodes too. A first list of 10,000 nodes takes a few seconds; the page asks again. */
const PATIENCE_MS = 1_000;

/** What a snapshot is read from. */
export interface SnapshotSources {
  readonly records: Pick<QueueRecords, 'read'>;
  readonly nodes: Pick<SeenNodes, 'observe'>;
  readonly counts: Pick<GpuCountsService, 'counts'>;
  readonly clock: WallClock;
}

/** The newest snapshot of the queue, computed when somebody asks. */
export class QueueSnapshots {
  readonly #sources: SnapshotSources;
  #last: Promise<QueueSnapshot> | undefined;
  /** When the last one was complete; undefined: it is not yet. */
  #completeAtMs: number | undefined;

  constructor(sources: SnapshotSources) {
    this.#sources = sources;
  }

  newest(): Promise<QueueSnapshot> {
    const nowMs = this.#sources.clock.now().getTime();
    const isKept = this.#completeAtMs === undefined || Math.abs(nowMs - this.#completeAtMs) < KEPT_MS;
    if (this.#last !== undefined && isKept) return this.#last;
    const snapshot = this.#compute();
    this.#last = snapshot;
    this.#completeAtMs = undefined;
    snapshot.then(
      () => (this.#completeAtMs = this.#sources.clock.now().getTime()),
      // The next question computes again.
      () => (this.#last = undefined),
    );
    return snapshot;
  }

  async #compute(): Promise<QueueSnapshot> {
    const { records, nodes, counts, clock } = this.#sources;
    const [state, seen, gpus] = await Promise.all([
      records.read(),
      nodes.observe(PATIENCE_MS),
      counts.counts().catch(() => undefined),
    ]);
    return queueSnapshot({ now: clock.now(), state, nodes: seen, gpus });
  }
}
