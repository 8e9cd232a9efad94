import { smallestChangesInSteps, type TriedChange } from '@coxswain/scheduling';
import type { GpuCountsService } from '../fabric/gpu-counts.service.ts';
import type { SeenNodes } from '../fabric/seen-nodes.ts';
import type { WallClock } from '../infrastructure/tokens.ts';
import { InTurns } from './in-turns.ts';
import { gpusOf } from './queue-answer.ts';
import type { QueueRecords } from './queue-records.ts';
import { type QueueSnapshot, queueSnapshotInSteps, smallerSizes } from './queue-snapshot.ts';

/** A page that many people keep open costs one forecast in this time. */
const KEPT_MS = 3_000;
/** The order is answered without nodes too. A first list of 10,000 nodes takes a few seconds; the page asks again. */
const PATIENCE_MS = 1_000;
/** Jobs whose changes are tried or wait for that. Each may take some tenths of a second of CPU, so answers to more are without changes. */
const MAX_TRIALS = 16;

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
  readonly #snapshotTurns = new InTurns();
  readonly #trialTurns = new InTurns();
  /** Of each snapshot, by UID of the job: readers of the same job cost one trial. */
  readonly #changes = new WeakMap<QueueSnapshot, Map<string, Promise<readonly TriedChange[]>>>();

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

  /** Changes that would let the job start earlier; none while many other jobs are tried. */
  async changes(snapshot: QueueSnapshot, uid: string): Promise<readonly TriedChange[]> {
    const recorded = snapshot.jobs.get(uid)?.job;
    if (snapshot.problem !== undefined || recorded === undefined) return [];
    const known = this.#changes.get(snapshot) ?? new Map<string, Promise<readonly TriedChange[]>>();
    this.#changes.set(snapshot, known);
    const before = known.get(uid);
    if (before !== undefined) return before;
    if (this.#trialTurns.waiting >= MAX_TRIALS) return [];
    const { input } = snapshot.forecast;
    const tried = this.#trialTurns.run(() =>
      smallestChangesInSteps(input, uid, smallerSizes(recorded, gpusOf(input.waiting.find((job) => job.uid === uid)))),
    );
    known.set(uid, tried);
    return tried;
  }

  async #compute(): Promise<QueueSnapshot> {
    const { records, nodes, counts, clock } = this.#sources;
    const [state, seen, gpus] = await Promise.all([
      records.read(),
      nodes.observe(PATIENCE_MS),
      counts.counts().catch(() => undefined),
    ]);
    return this.#snapshotTurns.run(() => queueSnapshotInSteps({ now: clock.now(), state, nodes: seen, gpus }));
  }
}
