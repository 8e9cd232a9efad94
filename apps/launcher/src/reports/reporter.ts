import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  LISTENS_TO_WATERMARKS,
  MAX_RANKS_PER_POD,
  parseRanks,
  type LauncherState,
  type PreflightReport,
  type RankAssignment,
  type SavedCheckpoint,
  type StepReport,
  type TerminationCause,
} from '@coxswain/api-types';
import { lookAtSaved, wasSilence } from '../checkpoints/verifier-process.ts';
import type { SavedFact, ToldFact } from '../facts/engine-facts.ts';
import type { StepWords } from '../engine/engine-run.ts';
import { OneAfterTheOther } from './bounded-serial-queue.ts';
import { PendingReports, type Draft } from './pending-reports.ts';
import type { PreflightBoard } from '../preflight/preflight-process.ts';
import { ReportConnection, type Order, type ReportConnectionOptions } from './report-connection.ts';
import { formatAddress, type RendezvousAddress } from '../engine/rendezvous.ts';
import { RanksNow } from './rank-progress.ts';
import type { Settings } from '../program/settings.ts';
import { StepCollector } from './step-collector.ts';
import type { StepLine } from '../step-lines/step-line.ts';
import { StepThrottle } from './step-throttle.ts';
import { LAUNCHER_VERSION } from '../program/version.ts';
import { whatIsMissing } from './describe-dropped.ts';

const HEARTBEAT_MS = 10_000;
const THROTTLE_POLL_MS = 200;
const HEARD_MS = 500;
const HEARD_POLL_MS = 10;
/** Checkpoints that wait to be looked at; no engine saves faster than its file server. */
const MOST_WAITING_LOOKS = 32;
/** Looks at a saved checkpoint while the file server answers nothing: 10 minutes of it by default, and each leaves a process behind. */
const MOST_LOOKS = 5;

export interface ReporterOptions extends Pick<ReportConnectionOptions, 'stacks' | 'say' | 'onStaleEpoch'> {
  readonly settings: Settings;
  readonly bootId: string;
  readonly alive: () => readonly { readonly rank: number; readonly alive: boolean }[];
  /** The ranks that run are to go. */
  readonly onEndRanks: (message: string) => void;
  /** The ranks that run are to save now; said again and again. */
  readonly onSaveWanted: (wanted: Extract<Order, { kind: 'saveWanted' }>) => void;
  readonly stepWords?: StepWords;
}

/** Turns what ranks do into reports, and keeps the connection that carries them. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #pending = new PendingReports();
  readonly #connection: ReportConnection;
  #collector = new StepCollector(0);
  readonly #throttle = new StepThrottle<StepReport>(performance.now());
  /** Resolved and replaced whenever the operator tells something that somebody may wait for. */
  #news = Promise.withResolvers<void>();
  /** Newest that was told. */
  #told: RankAssignment | undefined;
  /** That runs, or ran last. */
  #assignment: RankAssignment | undefined;
  /** Newest incarnation that was begun here or is over before it was; 0 before the first. */
  #newest = 0;
  #state: LauncherState = 'waiting';
  #reaped: Draft | undefined;
  #board: PreflightBoard | undefined;
  #isPreflightDone = false;
  /** What was told before the first rank: whoever begins to lead meanwhile has heard none of it. */
  #toldOfPreflight: readonly Draft[] = [];
  #place: { readonly incarnation: number; readonly address: string } | undefined;
  readonly #timers: readonly NodeJS.Timeout[];
  #ranks = new RanksNow();
  #rendezvous: RendezvousAddress | undefined;
  readonly #verifications = new OneAfterTheOther(MOST_WAITING_LOOKS);
  #droppedFacts = 0;
  #untakenSaves = 0;
  /** The ranks have ended: whatever is looked at now, the pod waits for. */
  #isFinishing = false;
  #hasResumed = false;
  /** What the ranks that run really train, as the first of them said: whoever leads next has heard none of it. */
  #trained: Draft | undefined;
  #hasToldStep = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#connection = this.#connect();
    this.#timers = [
      setInterval(() => this.#beatUnlessHeard(), HEARTBEAT_MS),
      setInterval(() => this.#poll(performance.now()), THROTTLE_POLL_MS),
    ];
    this.#connection.start();
  }

  /** Ranks that this launcher has not run yet. */
  nextAssignment(): Promise<RankAssignment> {
    return this.#until(() => ((this.#told?.incarnation ?? 0) > this.#newest ? this.#told : undefined));
  }

  /** Where rank 0 of that incarnation listens, as the operator hands it out. */
  addressOf(incarnation: number): Promise<string> {
    return this.#until(() => (this.#place?.incarnation === incarnation ? this.#place.address : undefined));
  }

  /** Where the pods of the gang meet before their ranks do, as the operator hands it out. */
  board(): Promise<PreflightBoard> {
    return this.#until(() => this.#board);
  }

  /** The gang meets there. */
  announceBoard(board: PreflightBoard): void {
    this.#tellUntilDone({ kind: 'preflightBoard', ...board });
  }

  /** Tells what this pod is, and settles when ranks may start. */
  async tellPreflight(report: PreflightReport): Promise<void> {
    this.#tellUntilDone({ kind: 'preflight', report });
    await this.preflightDone();
  }

  /** Ranks start, whatever was answered. */
  endPreflight(): void {
    this.#toldOfPreflight = [];
    this.#pending.forgetPreflight();
  }

  /** Somebody of the gang cannot look around, or everybody has and nobody is named. */
  async preflightDone(): Promise<void> {
    await this.#until(() => (this.#isPreflightDone ? true : undefined));
  }

  /** From now on it is these ranks that are told of. */
  begin(assignment: RankAssignment): void {
    this.#assignment = assignment;
    this.#newest = assignment.incarnation;
    this.#state = 'running';
    this.#reaped = undefined;
    this.#pending.forgetReaped();
    this.#collector = new StepCollector(parseRanks(assignment.ranks, MAX_RANKS_PER_POD).length, {
      hasLines: this.#options.stepWords?.stepLines !== undefined,
      tokensPerStep: this.#options.stepWords?.tokensPerStep ?? null,
    });
    this.#ranks = new RanksNow();
    this.#rendezvous = undefined;
    this.#hasResumed = false;
    this.#trained = undefined;
    this.#isFinishing = false;
    this.#heartbeat();
  }

  /** Every process of the incarnation is gone; with a cause where one failed by itself. Said until it is heard, and again to whoever leads next. */
  reaped(cause: TerminationCause | undefined): void {
    this.#state = 'reaped';
    this.#reaped = { kind: 'reaped', ...(cause === undefined ? {} : { cause }) };
    this.#add(this.#reaped);
  }

  get isConnected(): boolean {
    return this.#connection.isWelcome;
  }

  /** Newest step that a local rank completed. */
  get lastStep(): number | undefined {
    return this.#ranks.lastStep;
  }

  get unreportedCheckpoints(): readonly SavedCheckpoint[] {
    return this.#pending.unreportedCheckpointsOf(this.#assignment?.incarnation ?? 1);
  }

  /** From now on every message names where rank 0 listens. */
  announce(rendezvous: RendezvousAddress): void {
    this.#rendezvous = rendezvous;
    this.#heartbeat();
  }

  accept(rank: number, fact: ToldFact): void {
    switch (fact.kind) {
      case 'step':
        this.#ranks.stepDone(rank, fact.step, performance.now());
        this.#offer(this.#collector.push(rank, fact, performance.now()));
        return;
      case 'resumed':
        // Every rank says it; the gang resumed once.
        if (!this.#hasResumed) this.#add({ kind: 'resumed', step: fact.step });
        this.#hasResumed = true;
        return;
      case 'checkpointSaved':
        if (rank === 0 && !this.#verifications.add(() => this.#reportSaved(fact))) this.#untakenSaves += 1;
        return;
      case 'heartbeat':
        if (this.#ranks.heard(rank, fact, performance.now())) this.#heartbeat();
        return;
      case 'trained': {
        // One speaks for the pod: its ranks run the same program.
        if (this.#trained !== undefined) return;
        const { kind, ...facts } = fact;
        this.#trained = { kind, rank, facts };
        this.#add(this.#trained);
        return;
      }
      case 'checkpointFault':
        // The gang keeps it: it is part of how the rank ends.
        return;
      case 'reportsDropped':
        this.#droppedFacts += fact.count;
        return;
    }
  }

  /** A line of a step that the engine printed. */
  acceptLine(rank: number, line: StepLine): void {
    if (line.step !== null) this.#ranks.stepDone(rank, line.step, performance.now());
    this.#offer(this.#collector.note(rank, line, performance.now()));
  }

  /** Waits until every claimed checkpoint has been looked at, and for a moment until the operator has heard of those that are there: it need not be told twice. */
  async finishVerifications(): Promise<void> {
    this.#isFinishing = true;
    this.#offer(this.#collector.flush());
    this.#tell(this.#throttle.flush());
    await this.#verifications.done;
    const untilMs = performance.now() + HEARD_MS;
    while (this.unreportedCheckpoints.length > 0 && this.isConnected && performance.now() < untilMs)
      await delay(HEARD_POLL_MS);
  }

  /** Tells how it ended and waits for the operator to have heard it, at most `deadlineMs`. */
  async end(cause: TerminationCause, deadlineMs: number): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#sayWhatIsMissing();
    this.#add({ kind: 'ended', cause });
    const isHeard = await this.#connection.settle(deadlineMs);
    if (!isHeard)
      this.#options.say('The operator has not acknowledged everything; the termination message holds the rest.');
    await this.#connection.close();
  }

  /** Ends the connection without a last word. */
  async abandon(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#connection.close();
  }

  #connect(): ReportConnection {
    const { settings, bootId, say, onStaleEpoch, stacks } = this.#options;
    return new ReportConnection({
      urls: settings.reportUrls,
      ca: settings.reportCa,
      tokenFile: settings.tokenFile,
      pending: this.#pending,
      hello: {
        kind: 'hello',
        jobUid: settings.jobUid,
        bootId,
        podIndex: settings.podIndex,
        launcherVersion: LAUNCHER_VERSION,
      },
      envelope: () => ({
        podUid: settings.podUid,
        epoch: settings.epoch,
        rendezvous: this.#rendezvous === undefined ? null : formatAddress(this.#rendezvous),
        ...this.#ranksNow(),
      }),
      onListens: () => this.#heartbeat(),
      onPace: (stepsPerSecond) => this.#throttle.keepTo(stepsPerSecond),
      skippedSteps: () => this.#throttle.skipped + this.#pending.shedSteps,
      onWelcome: () => {
        if (this.#reaped !== undefined) this.#add(this.#reaped);
        for (const draft of this.#toldOfPreflight) this.#add(draft);
        if (this.#trained !== undefined && this.#state === 'running') this.#add(this.#trained);
        this.#heartbeat();
      },
      onOrder: (order) => this.#obey(order),
      stacks,
      onStaleEpoch,
      say,
      random: Math.random,
    });
  }

  #obey(order: Order): void {
    const { settings, onEndRanks, onSaveWanted } = this.#options;
    if ('epoch' in order && order.epoch !== settings.epoch) return;
    switch (order.kind) {
      case 'rendezvous':
        this.#place = { incarnation: order.incarnation ?? 1, address: order.address };
        break;
      case 'preflightBoard':
        this.#board = { address: order.address, key: order.key };
        break;
      case 'preflightDone':
        this.#isPreflightDone = true;
        break;
      case 'endRanks':
        return this.#endRanks(order);
      case 'saveWanted':
        if (order.incarnation === this.#running) onSaveWanted(order);
        return;
      case 'assignment':
        if (order.assignment.epoch !== settings.epoch) return;
        if (order.assignment.incarnation <= (this.#told?.incarnation ?? 0)) return;
        this.#told = order.assignment;
        if (this.#running !== undefined) onEndRanks(`incarnation ${order.assignment.incarnation} begins`);
        break;
    }
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }

  /** Of an incarnation that it never heard of it says that none of its processes is left, and never begins it. */
  #endRanks({ incarnation, message }: Extract<Order, { kind: 'endRanks' }>): void {
    if (incarnation === this.#running) this.#options.onEndRanks(message);
    if (incarnation <= this.#newest || this.#state === 'running') return;
    this.#newest = incarnation;
    this.reaped(undefined);
  }

  get #running(): number | undefined {
    return this.#state === 'running' ? this.#assignment?.incarnation : undefined;
  }

  #ranksNow(): { readonly state: LauncherState; readonly incarnation?: number } {
    return { state: this.#state, ...(this.#newest === 0 ? {} : { incarnation: this.#newest }) };
  }

  async #until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await this.#news.promise;
    }
  }

  async #reportSaved(fact: SavedFact): Promise<void> {
    const { settings, say } = this.#options;
    const saveDirectory = this.#assignment?.saveDirectory;
    if (saveDirectory === undefined) {
      say(`Rank 0 claims a checkpoint of step ${fact.step}, but this job keeps none; it is not reported.`);
      return;
    }
    const look = (): ReturnType<typeof lookAtSaved> =>
      lookAtSaved(
        { saveDirectory: join(settings.checkpointMount, saveDirectory), fact },
        { patienceMs: settings.mountPatienceMs },
      );
    let seen = await look();
    for (let looked = 1; looked < MOST_LOOKS && wasSilence(seen) && !this.#isFinishing; looked++) seen = await look();
    const { step } = fact;
    if (seen.kind === 'verified') this.#add({ kind: 'checkpointSaved', checkpoint: seen.value });
    else if (seen.kind === 'unseen')
      say(`The checkpoint of step ${step} was not looked at and is not reported: ${seen.why}`);
    else say(`The checkpoint of step ${step} did not verify and is not reported: ${seen.why}`);
  }

  #poll(nowMs: number): void {
    this.#offer(this.#collector.overdue(nowMs));
    this.#tell(this.#throttle.poll(nowMs));
  }

  #offer(reports: readonly StepReport[]): void {
    for (const report of reports) this.#tell(this.#throttle.offer(report, performance.now()));
  }

  #tell(report: StepReport | undefined): void {
    if (report === undefined) return;
    this.#hasToldStep = true;
    this.#add({ kind: 'step', report });
  }

  /** A step says more than that somebody lives. */
  #beatUnlessHeard(): void {
    if (!this.#hasToldStep) this.#heartbeat();
    this.#hasToldStep = false;
  }

  #heartbeat(): void {
    const listens = this.#connection.listensTo(LISTENS_TO_WATERMARKS);
    const said = this.#ranks.heartbeat(this.#options.alive(), { nowMs: performance.now(), listens });
    this.#add({ kind: 'heartbeat', ...said });
  }

  #tellUntilDone(draft: Draft): void {
    this.#toldOfPreflight = [...this.#toldOfPreflight, draft];
    this.#add(draft);
  }

  /** What is told later was so now. */
  #add(draft: Draft): void {
    this.#pending.add({ ...draft, ...this.#ranksNow() });
    this.#connection.pump();
  }

  #sayWhatIsMissing(): void {
    const { skipped: skippedSteps } = this.#throttle;
    const { shedSteps } = this.#pending;
    const counts = { skippedSteps, shedSteps, droppedFacts: this.#droppedFacts, untakenSaves: this.#untakenSaves };
    for (const sentence of whatIsMissing(counts)) this.#options.say(sentence);
  }
}
