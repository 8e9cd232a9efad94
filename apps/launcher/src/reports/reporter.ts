import { setTimeout as delay } from 'node:timers/promises';
import {
  LISTENS_TO_STOP,
  LISTENS_TO_BROKEN_SAVES,
  LISTENS_TO_COLLECTIVES,
  LISTENS_TO_CONTENTS,
  LISTENS_TO_PROCESSES,
  LISTENS_TO_WATERMARKS,
  MAX_RANKS_PER_POD,
  type MemorySave,
  parseRanks,
  type PodMarks,
  type RankAssignment,
  type RankProcess,
  type SavedCheckpoint,
  type TerminationCause,
} from '@coxswain/api-types';
import type { BucketSaves } from '../bucket/bucket-saves.ts';
import type { SavingGang } from '../bucket/gang-saves.ts';
import type { StepWords } from '../engine/engine-run.ts';
import { formatAddress, type RendezvousAddress } from '../engine/rendezvous.ts';
import type { Settings } from '../program/settings.ts';
import { LAUNCHER_VERSION } from '../program/version.ts';
import { describeDropped } from './describe-dropped.ts';
import { FactReporter } from './fact-reporter.ts';
import { HeartbeatReporter } from './heartbeat-reporter.ts';
import { IncarnationTracker } from './incarnation-tracker.ts';
import { OrderReceiver, type OrderReceiverOptions } from './order-receiver.ts';
import { PendingReports, type Draft } from './pending-reports.ts';
import { PreflightReporter } from './preflight-reporter.ts';
import { RepeatedReports } from './repeated-reports.ts';
import { RunMarks } from './run-marks.ts';
import { SaveStops } from './save-stops.ts';
import { ReportConnection, type ReportConnectionOptions } from './report-connection.ts';
import { type LastVerifications, SavedCheckpointReporter } from './saved-checkpoint-reporter.ts';
import { StepReporter } from './step-reporter.ts';

const ACKNOWLEDGED_MS = 500;
const ACKNOWLEDGED_POLL_MS = 10;

/** What reports are about, and whom orders of the operator notify. */
export interface ReporterOptions
  extends
    Pick<ReportConnectionOptions, 'stacks' | 'logLine' | 'onStaleEpoch'>,
    Pick<OrderReceiverOptions, 'onEndRanks' | 'onSaveWanted'> {
  readonly settings: Settings;
  readonly bucket: BucketSaves | undefined;
  readonly bootId: string;
  readonly alive: () => readonly { readonly rank: number; readonly alive: boolean }[];
  readonly processes: () => readonly RankProcess[];
  readonly stepWords?: StepWords;
  readonly engineSaving?: SavingGang['engine'];
}

/** Reports to the operator over one connection, and receives its orders. Puts together the classes that do each part of that. */
export class Reporter {
  readonly orders: OrderReceiver;
  readonly facts: FactReporter;
  readonly preflight: PreflightReporter;
  readonly #options: ReporterOptions;
  readonly #incarnations = new IncarnationTracker();
  readonly #pending = new PendingReports();
  readonly #repeated = new RepeatedReports();
  readonly #marks = new RunMarks();
  readonly #stops = new SaveStops();
  readonly #connection: ReportConnection;
  readonly #heartbeats: HeartbeatReporter;
  readonly #steps: StepReporter;
  readonly #savedCheckpoints: SavedCheckpointReporter;
  #rendezvous: RendezvousAddress | undefined;
  /** As reported when ranks ended last. */
  #memorySaves: readonly MemorySave[] = [];

  constructor(options: ReporterOptions) {
    this.#options = options;
    const { settings, bucket, logLine, stepWords, alive, processes, onEndRanks, onSaveWanted } = options;
    const report = (draft: Draft): void => this.#report(draft);
    this.orders = new OrderReceiver({
      epoch: settings.epoch,
      incarnations: this.#incarnations,
      onEndRanks,
      onSaveWanted,
      // No rank has begun since, so the saves are as they were.
      onSkipped: () => this.reaped(undefined, this.#memorySaves),
    });
    this.#connection = this.#connect();
    const readsWatermarks = (): boolean => this.#connection.listensTo(LISTENS_TO_WATERMARKS);
    this.#heartbeats = new HeartbeatReporter({
      alive,
      readsWatermarks,
      readsBrokenSaves: () => this.#connection.listensTo(LISTENS_TO_BROKEN_SAVES),
      processes: () => (this.#connection.listensTo(LISTENS_TO_PROCESSES) ? processes() : undefined),
      report,
    });
    this.#steps = new StepReporter({
      stepWords,
      report: (step) => {
        this.#heartbeats.noteStepReported();
        report({ kind: 'step', report: step });
      },
    });
    const saveDirectory = (): string | undefined => this.#incarnations.assignment?.saveDirectory;
    this.#savedCheckpoints = new SavedCheckpointReporter({
      settings,
      saveDirectory,
      logLine,
      report,
      bucket,
      gang: () => gangOf(this.#incarnations.assignment, this.#options.engineSaving),
      reportBroken: (broken) => this.#heartbeats.addBrokenSave(broken),
      progressAt: (step, unmarked) => this.#steps.progress.at(step, unmarked),
      readsVerdicts: () => this.#connection.lastListenedTo(LISTENS_TO_CONTENTS),
    });
    this.facts = new FactReporter({
      heartbeats: this.#heartbeats,
      steps: this.#steps,
      savedCheckpoints: this.#savedCheckpoints,
      marks: this.#marks,
      stops: this.#stops,
      repeated: this.#repeated,
      report,
    });
    this.preflight = new PreflightReporter({
      orders: this.orders,
      pending: this.#pending,
      repeated: this.#repeated,
      report,
    });
    this.#connection.start();
  }

  get isConnected(): boolean {
    return this.#connection.isWelcome;
  }

  /** Whether the operator that was heard last reads what happened after SIGTERM in a cause. */
  get readsStop(): boolean {
    return this.#connection.lastListenedTo(LISTENS_TO_STOP);
  }

  /** Whether the operator that was connected last reads what work a finished pod has done. */
  get readsWork(): boolean {
    return this.#connection.lastListenedTo(LISTENS_TO_PROCESSES);
  }

  /** Why the last try to reach an operator failed; undefined before one did, and after a success. */
  get whyUnreached(): string | undefined {
    return this.#connection.whyUnreached;
  }

  /** A rank has ended: the operator need not wait for the next heartbeat. */
  rankEnded(): void {
    this.#heartbeats.beat();
  }

  /** The latest step that a rank of this pod completed. */
  get lastStep(): number | undefined {
    return this.#heartbeats.lastStep;
  }

  /** Collectives of the rank of this pod that completed the most; undefined: none is known, or the operator that was connected last does not read it. */
  get collectives(): number | undefined {
    return this.#connection.lastListenedTo(LISTENS_TO_COLLECTIVES) ? this.#heartbeats.collectives : undefined;
  }

  /** Checkpoints of the present incarnation whose report the operator has not acknowledged. */
  get unreportedCheckpoints(): readonly SavedCheckpoint[] {
    return this.#pending.unreportedCheckpointsOf(this.#incarnations.assignment?.incarnation ?? 1);
  }

  /** The ranks of `assignment` start: from now on reports are of them. */
  begin(assignment: RankAssignment): void {
    this.#incarnations.begin(assignment);
    this.#repeated.forget('reaped', 'trained');
    this.#pending.forgetReaped();
    this.#heartbeats.begin();
    const rankCount = parseRanks(assignment.ranks, MAX_RANKS_PER_POD).length;
    this.#marks.begin(rankCount);
    this.#stops.begin();
    this.#steps.begin(rankCount, assignment.memorySave?.step ?? assignment.resume?.step ?? 0);
    this.#savedCheckpoints.begin();
    this.facts.begin();
    this.#rendezvous = undefined;
    this.#heartbeats.beat();
  }

  /** The process of every rank of this pod was started. */
  started(): void {
    this.#marks.start(performance.now());
    this.#heartbeats.beat();
  }

  /** A rank has failed, and the launcher ends the others. */
  failed(): void {
    this.#marks.fail(performance.now());
  }

  /** From now on every message names the address on which rank 0 listens. */
  announceRendezvous(address: RendezvousAddress): void {
    this.#rendezvous = address;
    this.#heartbeats.beat();
  }

  /**
   * Reports that every process of the incarnation is gone, with a cause if one of them failed by itself, and saves in memory that every rank of the pod has.
   * The report is repeated until it is
   * acknowledged, and to every new leader.
   */
  reaped(cause: TerminationCause | undefined, memorySaves: readonly MemorySave[] = []): void {
    this.#memorySaves = memorySaves;
    this.#incarnations.reap();
    this.#marks.reap(performance.now());
    const draft: Draft = {
      kind: 'reaped',
      ...(cause === undefined ? {} : { cause }),
      ...(memorySaves.length === 0 ? {} : { memorySaves: [...memorySaves] }),
    };
    this.#repeated.forget('trained');
    this.#repeated.keep(draft);
    this.#report(draft);
  }

  /**
   * Waits until every claimed checkpoint was verified, and 500 ms at most until the operator has acknowledged those that are complete, so that the
   * termination message need not list them. `isStopping`: the pod was asked to stop, and may be killed soon.
   */
  async finishVerifications(how: LastVerifications): Promise<void> {
    this.#savedCheckpoints.hurry(how);
    this.facts.flush();
    this.#steps.flush();
    await this.#savedCheckpoints.done();
    const untilMs = performance.now() + ACKNOWLEDGED_MS;
    while (this.unreportedCheckpoints.length > 0 && this.isConnected && performance.now() < untilMs)
      await delay(ACKNOWLEDGED_POLL_MS);
  }

  /** Reports how the pod ended, and waits until the operator acknowledged everything, at most `deadlineMs`. */
  async end(cause: TerminationCause, deadlineMs: number): Promise<void> {
    this.#stopTimers();
    this.#logDropped();
    this.#report({ kind: 'ended', cause });
    const isAcknowledged = await this.#connection.settle(deadlineMs);
    if (!isAcknowledged)
      this.#options.logLine('The operator has not acknowledged everything; the termination message holds the rest.');
    await this.#connection.close();
  }

  /** Ends the connection without a last report. */
  async abandon(): Promise<void> {
    this.#stopTimers();
    await this.#connection.close();
  }

  #connect(): ReportConnection {
    const { settings, bootId, logLine, onStaleEpoch, stacks } = this.#options;
    const { jobUid, podUid, podIndex, epoch } = settings;
    return new ReportConnection({
      urls: settings.reportUrls,
      ca: settings.reportCa,
      tokenFile: settings.tokenFile,
      pending: this.#pending,
      hello: { kind: 'hello', jobUid, bootId, podIndex, launcherVersion: LAUNCHER_VERSION },
      envelope: () => ({
        podUid,
        epoch,
        rendezvous: this.#rendezvous === undefined ? null : formatAddress(this.#rendezvous),
        ...this.#incarnations.status,
      }),
      marks: () => this.#marksNow(),
      onListens: () => {
        this.#heartbeats.beat();
        // What a new connection repeated first had no part that the operator had not announced.
        for (const draft of this.#repeated.all)
          if (draft.kind === 'reaped' && draft.memorySaves !== undefined) this.#report(draft);
      },
      onPace: (stepsPerSecond) => this.#steps.setRate(stepsPerSecond),
      skippedSteps: () => this.#steps.skipped + this.#pending.shedSteps,
      onWelcome: () => {
        for (const draft of this.#repeated.all) this.#report(draft);
        this.#heartbeats.beat();
      },
      onOrder: (order) => this.orders.receive(order),
      stacks,
      onStaleEpoch,
      logLine,
      random: Math.random,
    });
  }

  #marksNow(): PodMarks {
    const saves = [...this.#stops.measured];
    return { ...this.#marks.ages(performance.now()), ...(saves.length === 0 ? {} : { saves }) };
  }

  /** A report that is sent later still carries the state and incarnation of now. */
  #report(draft: Draft): void {
    this.#pending.add({ ...draft, ...this.#incarnations.status });
    this.#connection.pump();
  }

  #stopTimers(): void {
    this.#heartbeats.stop();
    this.#steps.stop();
  }

  #logDropped(): void {
    const dropped = describeDropped({
      skippedSteps: this.#steps.skipped,
      shedSteps: this.#pending.shedSteps,
      droppedFacts: this.facts.droppedFacts,
      droppedSaves: this.#savedCheckpoints.droppedSaves,
    });
    for (const sentence of dropped) this.#options.logLine(sentence);
  }
}

/** The gang of an assignment that saves on the disks of several nodes, if the job has a bucket; undefined: all ranks are in this pod. */
function gangOf(assignment: RankAssignment | undefined, engine: SavingGang['engine']): SavingGang | undefined {
  if (assignment?.saveDirectory === undefined) return undefined;
  const { ranks, worldSize, saveDirectory } = assignment;
  if (parseRanks(ranks, MAX_RANKS_PER_POD).length === worldSize) return undefined;
  return { saveDirectory, ranks, worldSize, engine };
}
