/** How far is each rank, by the newest report of each? */
import type { RankWatermark } from '@coxswain/api-types';
import type { Gang } from '../gang/gang.ts';
import type { RecordOf, TraceRecord } from '../trace/records.ts';
import { placeOfRank } from '../verdict/grounds.ts';
import type { Patience } from './patience.ts';
import type { Silence } from './silence.ts';
import { waitsOf } from './walk.ts';

/** A wait as its rank reported it. The wait may have ended since, so no time is added to `ageMs`. */
export interface Wait {
  readonly rank: number;
  readonly group: string;
  readonly operation: string;
  readonly front: number;
  readonly ageMs: number;
  /** Key under which {@link Patience} learns how long the operation usually takes. */
  readonly key: string;
}

/** Consecutive reports of an earlier step after which a rank counts as restarted; a single one may have been overtaken by a later report. */
const RESTART_REPORTS = 3;

/** Memory of a watermark, and of each of its groups, with their texts. */
const WATERMARK_BYTES = 200;
const MARK_BYTES = 240;

/** The newest report of each rank. Each report also teaches {@link Patience} and {@link Silence} what is usual. */
export class RankProgress {
  readonly #gang: Gang;
  readonly #patience: Patience;
  readonly #silence: Silence;
  readonly #watermarks: (RankWatermark | undefined)[];
  readonly #watermarkAtMs: Float64Array;
  readonly #reportedAtMs: Float64Array;
  readonly #steps: Int32Array;
  readonly #steppedAtMs: Float64Array;
  /** Consecutive reports of a step before the newest one, by rank. */
  readonly #backwardReports: Uint8Array;
  #hasWatermarks = false;
  #watermarkBytes = 0;
  #newestStepAtMs = -1;

  constructor(gang: Gang, learners: { readonly patience: Patience; readonly silence: Silence }) {
    this.#gang = gang;
    this.#patience = learners.patience;
    this.#silence = learners.silence;
    this.#watermarks = new Array<RankWatermark | undefined>(gang.ranks).fill(undefined);
    this.#watermarkAtMs = new Float64Array(gang.ranks);
    this.#reportedAtMs = new Float64Array(gang.ranks).fill(-1);
    this.#steps = new Int32Array(gang.ranks).fill(-1);
    this.#steppedAtMs = new Float64Array(gang.ranks).fill(-1);
    this.#backwardReports = new Uint8Array(gang.ranks);
  }

  /** Whether any rank has reported a watermark. */
  get hasWatermarks(): boolean {
    return this.#hasWatermarks;
  }

  /** Memory that the newest watermarks take, estimated. */
  get watermarkBytes(): number {
    return this.#watermarkBytes;
  }

  /** Key under which the usual duration of an operation of that group is learnt. */
  keyOf(group: string, operation: string): string {
    return `${this.#gang.groups.get(group)?.name ?? 'undeclared'} ${operation}`;
  }

  /** The rank's newest watermark; undefined before its first. */
  watermarkOf(rank: number): RankWatermark | undefined {
    return this.#watermarks[rank];
  }

  /** Where the rank was by its newest watermark: its step, its phase and the operations that it completed. Any progress changes it. */
  placeOf(rank: number): string {
    const { at } = placeOfRank(rank, this.#watermarks[rank]);
    return at === undefined ? `step ${this.stepOf(rank)}` : `${at.step ?? 'none'} ${at.phase} ${at.completed}`;
  }

  /** Milliseconds since the rank's newest report of any kind; undefined before its first. */
  silentMs(rank: number, nowMs: number): number | undefined {
    const reportedAtMs = this.#reportedAtMs[rank] ?? -1;
    return reportedAtMs < 0 ? undefined : nowMs - reportedAtMs;
  }

  /** The newest complete step of a rank; -1 before the first. */
  stepOf(rank: number): number {
    return this.#steps[rank] ?? -1;
  }

  /** When the rank first reported its newest step; -1 before the first. */
  steppedAtMs(rank: number): number {
    return this.#steppedAtMs[rank] ?? -1;
  }

  /** Every wait that ranks reported last. */
  waits(): readonly Wait[] {
    return this.#watermarks.flatMap((watermark) => (watermark === undefined ? [] : this.#waitsOf(watermark)));
  }

  /** Takes one record of the trace into account. */
  receive(record: TraceRecord): void {
    switch (record.kind) {
      case 'watermarks':
        for (const watermark of record.ranks) this.#receiveWatermark(watermark, record.atMs);
        return;
      case 'step':
        return this.#receiveStep(record);
      case 'heartbeat':
        for (const { rank, step } of record.ranks) this.#recordReport(rank, step, record.atMs);
        return;
      case 'collectives':
        return this.#receiveCollectives(record);
      case 'group':
      case 'tick':
        return;
    }
  }

  #receiveWatermark(watermark: RankWatermark, atMs: number): void {
    const { rank } = watermark;
    const before = this.#watermarks[rank];
    if (before !== undefined) {
      this.#learnFrom(before, watermark);
      // A job that has stopped sends only watermarks, so the gaps between reports are learnt from them and not from steps.
      this.#silence.learn(atMs - (this.#watermarkAtMs[rank] ?? atMs), atMs);
    }
    this.#watermarkAtMs[rank] = atMs;
    this.#hasWatermarks = true;
    this.#watermarks[rank] = watermark;
    this.#watermarkBytes += bytesOf(watermark) - (before === undefined ? 0 : bytesOf(before));
    this.#recordReport(rank, watermark.step, atMs);
  }

  #receiveStep({ step, atMs, ranks }: RecordOf<'step'>): void {
    if (this.#newestStepAtMs >= 0) this.#patience.learnGap(atMs - this.#newestStepAtMs);
    for (const { rank, stepTimeMs } of ranks) {
      this.#recordReport(rank, step, atMs);
      this.#patience.learnStep(step, stepTimeMs);
    }
  }

  #receiveCollectives({ atMs, ranks }: RecordOf<'collectives'>): void {
    for (const { rank, groups } of ranks) {
      this.#reportedAtMs[rank] = atMs;
      for (const { group, operation, maxMs } of groups) {
        this.#patience.learnOperation(this.keyOf(group, operation), maxMs);
      }
    }
  }

  #recordReport(rank: number, step: number | null, atMs: number): void {
    this.#reportedAtMs[rank] = atMs;
    const known = this.#steps[rank] ?? -1;
    if (step === null || step === known) return;
    const backwardReports = step < known ? (this.#backwardReports[rank] ?? 0) + 1 : 0;
    this.#backwardReports[rank] = backwardReports;
    if (step < known && backwardReports < RESTART_REPORTS) return;
    this.#backwardReports[rank] = 0;
    this.#steps[rank] = step;
    this.#newestStepAtMs = Math.max(this.#newestStepAtMs, atMs);
    this.#steppedAtMs[rank] = atMs;
  }

  /** A phase or a wait that ended shows how long it may take. */
  #learnFrom(before: RankWatermark, now: RankWatermark): void {
    if (before.phase !== now.phase) this.#patience.learnPhase(now.rank, before.phase, before.phaseAgeMs);
    for (const { group, operation, completed, ageMs } of waitsOf(before)) {
      const after = now.groups.find((mark) => mark.group === group);
      if (after !== undefined && after.completed > completed) {
        this.#patience.learnOperation(this.keyOf(group, operation), ageMs);
      }
    }
  }

  #waitsOf(watermark: RankWatermark): Wait[] {
    return waitsOf(watermark).map(({ group, operation, completed, ageMs }) => ({
      rank: watermark.rank,
      group,
      operation,
      front: completed + 1,
      ageMs,
      key: this.keyOf(group, operation),
    }));
  }
}

function bytesOf({ groups }: RankWatermark): number {
  return WATERMARK_BYTES + MARK_BYTES * groups.length;
}
