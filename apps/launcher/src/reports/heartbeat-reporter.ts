import { type BrokenSave, MAX_BROKEN_SAVES, type RankProcess } from '@coxswain/api-types';
import type { HeartbeatFact } from '../facts/engine-facts.ts';
import type { Draft } from './pending-reports.ts';
import { RankProgress } from './rank-progress.ts';

const HEARTBEAT_MS = 10_000;

/** Which ranks are alive, and where heartbeats go. */
export interface HeartbeatReporterOptions {
  readonly alive: () => readonly { readonly rank: number; readonly alive: boolean }[];
  /** Whether the operator at the other end reads watermarks. */
  readonly readsWatermarks: () => boolean;
  /** The processes of each running rank; undefined if the operator does not read them. */
  readonly processes: () => readonly RankProcess[] | undefined;
  /** Whether the operator at the other end reads broken saves. */
  readonly readsBrokenSaves: () => boolean;
  readonly report: (draft: Draft) => void;
}

/** Reports every 10 s which ranks are alive and how far each of them is. */
export class HeartbeatReporter {
  readonly #options: HeartbeatReporterOptions;
  readonly #timer: NodeJS.Timeout;
  #progress = new RankProgress();
  #hasReportedStep = false;
  /** The newest, repeated until other ranks start: a heartbeat may be lost. */
  #brokenSaves: readonly BrokenSave[] = [];

  constructor(options: HeartbeatReporterOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#beatUnlessStepReported(), HEARTBEAT_MS);
  }

  /** The latest step that a rank of this pod completed. */
  get lastStep(): number | undefined {
    return this.#progress.lastStep;
  }

  /** Collectives of the rank that completed the most; undefined: no rank reports them. */
  get collectives(): number | undefined {
    return this.#progress.collectives;
  }

  /** Other ranks start: forgets the progress of those before. */
  begin(): void {
    this.#progress = new RankProgress();
    this.#brokenSaves = [];
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  recordStep(rank: number, step: number): void {
    this.#progress.recordStep(rank, step, performance.now());
  }

  /** Records what a rank reported of itself. A rank that waits for others is reported at once. */
  receive(rank: number, fact: HeartbeatFact): void {
    if (this.#progress.receive(rank, fact, performance.now())) this.beat();
  }

  /** Reports a save that no Checkpoint will show. */
  addBrokenSave(broken: BrokenSave): void {
    this.#brokenSaves = [...this.#brokenSaves, broken].slice(-MAX_BROKEN_SAVES);
    this.beat();
  }

  /** A step was reported. It shows that this launcher is alive, so the next heartbeat is left out. */
  noteStepReported(): void {
    this.#hasReportedStep = true;
  }

  /** Reports a heartbeat now. */
  beat(): void {
    const { alive, readsWatermarks, readsBrokenSaves, processes, report } = this.#options;
    const progress = this.#progress.heartbeat(alive(), {
      nowMs: performance.now(),
      readsWatermarks: readsWatermarks(),
    });
    const found = processes();
    const broken = readsBrokenSaves() && this.#brokenSaves.length > 0 ? [...this.#brokenSaves] : undefined;
    report({
      kind: 'heartbeat',
      ...progress,
      ...(found === undefined ? {} : { processes: [...found] }),
      ...(broken === undefined ? {} : { brokenSaves: broken }),
    });
  }

  #beatUnlessStepReported(): void {
    if (!this.#hasReportedStep) this.beat();
    this.#hasReportedStep = false;
  }
}
