import type { ReportedFact, SavedFact, UnmarkedPeriod } from '../facts/engine-facts.ts';
import type { StepLine } from '../step-lines/printed-step.ts';
import type { HeartbeatReporter } from './heartbeat-reporter.ts';
import { OwnCounts, type PrintedLine } from './own-counts.ts';
import type { Draft } from './pending-reports.ts';
import type { RepeatedReports } from './repeated-reports.ts';
import type { RunMarks } from './run-marks.ts';
import type { SaveStops } from './save-stops.ts';
import type { SavedCheckpointReporter } from './saved-checkpoint-reporter.ts';
import type { StepReporter } from './step-reporter.ts';

interface FactReporterParts {
  readonly heartbeats: HeartbeatReporter;
  readonly steps: StepReporter;
  readonly savedCheckpoints: SavedCheckpointReporter;
  readonly marks: RunMarks;
  readonly stops: SaveStops;
  readonly repeated: RepeatedReports;
  readonly report: (draft: Draft) => void;
}

/** Sends each fact of a rank to the reporter that it belongs to, and reports once per incarnation what all ranks say alike. */
export class FactReporter {
  readonly #parts: FactReporterParts;
  readonly #ownCounts = new OwnCounts();
  #hasResumed = false;
  #hasTrained = false;
  #droppedFacts = 0;

  constructor(parts: FactReporterParts) {
    this.#parts = parts;
  }

  /** Facts that hooks dropped because their queues were full, since the start. */
  get droppedFacts(): number {
    return this.#droppedFacts;
  }

  /** Other ranks start. */
  begin(): void {
    this.#hasResumed = false;
    this.#hasTrained = false;
    this.#ownCounts.begin();
  }

  receive(rank: number, fact: ReportedFact): void {
    const { heartbeats, steps, report } = this.#parts;
    switch (fact.kind) {
      case 'step':
        heartbeats.recordStep(rank, fact.step);
        this.#noteStep(fact.step);
        steps.receive(rank, fact);
        this.#noteLines(this.#ownCounts.hear(fact.step));
        return;
      case 'marks':
        this.#parts.marks.receive(rank, fact, performance.now());
        // Before the first step, which is recorded with the marks that are known by then.
        heartbeats.beat();
        return;
      case 'resumed':
        if (fact.late !== true && this.#parts.marks.load(rank, performance.now())) heartbeats.beat();
        // Every rank reports it; the gang resumed once.
        if (!this.#hasResumed) report({ kind: 'resumed', step: fact.step });
        this.#hasResumed = true;
        return;
      case 'checkpointSaved':
        if (rank === 0) this.#receiveSave(withPeriod(fact, steps.progress.periodSince(fact.step)));
        return;
      case 'heartbeat':
        heartbeats.receive(rank, fact);
        if (fact.step !== null) this.#noteLines(this.#ownCounts.hear(fact.step));
        return;
      case 'trained':
        this.#reportTrained(rank, fact);
        return;
      case 'checkpointFault':
        // The gang keeps it: it is part of how the rank ends.
        return;
      case 'reportsDropped':
        this.#droppedFacts += fact.count;
        return;
    }
  }

  /** The launcher found a save of the engine. */
  receiveFound(fact: SavedFact): void {
    this.#receiveSave(fact);
  }

  /** The engine printed a line about a step. */
  receiveLine(rank: number, line: StepLine): void {
    const printed = { rank, line };
    this.#noteLines(line.isOwnCount === true ? this.#ownCounts.take(printed, performance.now()) : [printed]);
  }

  /** No more lines and facts come. */
  flush(): void {
    this.#noteLines(this.#ownCounts.flush());
  }

  #noteLines(lines: readonly PrintedLine[]): void {
    for (const { rank, line } of lines) {
      if (line.step !== null) {
        this.#parts.heartbeats.recordStep(rank, line.step);
        this.#noteStep(line.step);
      }
      this.#parts.steps.receiveLine(rank, line);
    }
  }

  /** How long a save stopped the ranks is reported at once: while steps are reported there are no other heartbeats. */
  #noteStep(step: number): void {
    if (this.#parts.stops.noteStep(step, performance.now())) this.#parts.heartbeats.beat();
  }

  #receiveSave(fact: SavedFact): void {
    if (this.#parts.stops.noteSave(fact.step)) this.#parts.heartbeats.beat();
    this.#parts.savedCheckpoints.receive(fact);
  }

  /** The first rank speaks for the pod: its ranks run the same program. */
  #reportTrained(rank: number, { kind, ...facts }: Extract<ReportedFact, { kind: 'trained' }>): void {
    if (this.#hasTrained) return;
    this.#hasTrained = true;
    const trained: Draft = { kind, rank, facts };
    this.#parts.repeated.keep(trained);
    this.#parts.report(trained);
  }
}

/** An engine reports a save when it is complete. So steps that it reported before belong to a training that went on meanwhile. */
function withPeriod(fact: SavedFact, unmarked: UnmarkedPeriod | undefined): SavedFact {
  return unmarked === undefined ? fact : { ...fact, unmarked };
}
