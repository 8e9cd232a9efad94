import { randomUUID } from 'node:crypto';
import type { SavedCheckpoint, StepReport, TerminationCause } from '@coxswain/api-types';
import { verifySaved } from './checkpoint-verification.ts';
import type { EngineFact, SavedFact } from './engine-facts.ts';
import { PendingReports } from './pending-reports.ts';
import { ReportConnection } from './report-connection.ts';
import { formatAddress, type RendezvousAddress } from './rendezvous.ts';
import type { Settings } from './settings.ts';
import { StepCollector } from './step-collector.ts';
import { StepThrottle } from './step-throttle.ts';
import { LAUNCHER_VERSION } from './version.ts';

const HEARTBEAT_MS = 10_000;
const THROTTLE_POLL_MS = 200;

export interface ReporterOptions {
  readonly settings: Settings;
  readonly bootId: string;
  readonly alive: () => readonly { readonly rank: number; readonly alive: boolean }[];
  readonly onStaleEpoch: (message: string) => void;
  readonly say: (sentence: string) => void;
}

/** Turns what ranks do into reports, and keeps the connection that carries them. Says nothing where nobody listens. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #pending = new PendingReports();
  readonly #connection: ReportConnection | undefined;
  readonly #collector: StepCollector;
  readonly #throttle = new StepThrottle<StepReport>(performance.now());
  readonly #operatorsAddress = Promise.withResolvers<string>();
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #stepOfRank = new Map<number, number>();
  #rendezvous: RendezvousAddress | undefined;
  #verifications: Promise<void> = Promise.resolve();
  #hasResumed = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#collector = new StepCollector(options.settings.localWorldSize);
    this.#connection = this.#connect();
    this.#timers = [
      setInterval(() => this.#heartbeat(), HEARTBEAT_MS),
      setInterval(() => this.#tell(this.#throttle.poll(performance.now())), THROTTLE_POLL_MS),
    ];
    this.#connection?.start();
  }

  /** Rank 0's address as the operator hands it out. */
  get operatorsAddress(): Promise<string> {
    return this.#operatorsAddress.promise;
  }

  get isConnected(): boolean {
    return this.#connection?.isWelcome ?? false;
  }

  /** Newest step that a local rank completed. */
  get lastStep(): number | undefined {
    return this.#stepOfRank.size === 0 ? undefined : Math.max(...this.#stepOfRank.values());
  }

  get unreportedCheckpoints(): readonly SavedCheckpoint[] {
    return this.#pending.unreportedCheckpoints;
  }

  /** From now on every message names where rank 0 listens. */
  announce(rendezvous: RendezvousAddress): void {
    this.#rendezvous = rendezvous;
    this.#heartbeat();
  }

  accept(rank: number, fact: EngineFact): void {
    switch (fact.kind) {
      case 'step':
        this.#stepOfRank.set(rank, Math.max(fact.step, this.#stepOfRank.get(rank) ?? 0));
        for (const step of this.#collector.push(rank, fact)) this.#tell(this.#throttle.offer(step, performance.now()));
        return;
      case 'resumed':
        // Every rank says it; the gang resumed once.
        if (!this.#hasResumed) this.#add({ kind: 'resumed', step: fact.step });
        this.#hasResumed = true;
        return;
      case 'checkpointSaved':
        if (rank === 0) this.#verifications = this.#verifications.then(() => this.#reportSaved(fact));
        return;
      case 'checkpointFault':
        // The gang keeps it: it is part of how the rank ends.
        return;
      case 'reportsDropped':
        this.#options.say(`Rank ${rank} could not report ${fact.count} facts in time; its series has a gap.`);
        return;
    }
  }

  /** Waits until every claimed checkpoint has been looked at. */
  async finishVerifications(): Promise<void> {
    this.#tell(this.#throttle.flush());
    await this.#verifications;
  }

  /** Tells how it ended and waits for the operator to have heard it, at most `deadlineMs`. */
  async end(cause: TerminationCause, deadlineMs: number): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#sayWhatIsMissing();
    if (this.#connection === undefined) return;
    this.#add({ kind: 'ended', cause });
    const isHeard = await this.#connection.settle(deadlineMs);
    if (!isHeard)
      this.#options.say('The operator has not acknowledged everything; the termination message holds the rest.');
    await this.#connection.close();
  }

  /** Ends the connection without a last word. */
  async abandon(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#connection?.close();
  }

  #connect(): ReportConnection | undefined {
    const { settings, bootId, say, onStaleEpoch } = this.#options;
    if (settings.reportUrls.length === 0) return undefined;
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
      }),
      onWelcome: () => this.#heartbeat(),
      onPace: (stepsPerSecond) => this.#throttle.keepTo(stepsPerSecond),
      skippedSteps: () => this.#throttle.skipped + this.#pending.shedSteps,
      onRendezvous: (address) => this.#operatorsAddress.resolve(address),
      onStaleEpoch,
      say,
      random: Math.random,
    });
  }

  async #reportSaved(fact: SavedFact): Promise<void> {
    const { settings, say } = this.#options;
    if (settings.saveDirectory === undefined) {
      say(`Rank 0 claims a checkpoint of step ${fact.step}, but this job keeps none; it is not reported.`);
      return;
    }
    const seen = await verifySaved(settings.saveDirectory, fact);
    if (seen.kind === 'verified') this.#add({ kind: 'checkpointSaved', checkpoint: seen.value });
    else say(`The checkpoint of step ${fact.step} did not verify and is not reported: ${seen.why}`);
  }

  #tell(report: StepReport | undefined): void {
    if (report !== undefined) this.#add({ kind: 'step', report });
  }

  #heartbeat(): void {
    const ranks = this.#options
      .alive()
      .map(({ rank, alive }) => ({ rank, alive, step: this.#stepOfRank.get(rank) ?? null }));
    this.#add({ kind: 'heartbeat', ranks });
  }

  #add(draft: Parameters<PendingReports['add']>[0]): void {
    if (this.#connection === undefined) return;
    this.#pending.add(draft);
    this.#connection.pump();
  }

  #sayWhatIsMissing(): void {
    const { skipped } = this.#throttle;
    const { shedSteps } = this.#pending;
    if (this.#connection === undefined || skipped + shedSteps === 0) return;
    this.#options.say(
      `The series lacks ${skipped + shedSteps} steps: ${skipped} came faster than the operator takes them, ${shedSteps} while the operator was away.`,
    );
  }
}

/** Names one start of a launcher, so that a restarted process in the same pod is told from its predecessor. */
export function newBootId(): string {
  return randomUUID();
}
