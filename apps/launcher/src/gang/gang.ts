/** A little over 400 lines: all that one pod's processes of a gang do together. */
import {
  EXIT_CODES,
  formatRanks,
  isConsequence,
  leftBehindIn,
  RANK_ENV,
  type CheckpointFault,
  type EngineRun,
} from '@coxswain/api-types';
import type { ChildProcess } from 'node:child_process';
import { setImmediate as turn } from 'node:timers/promises';
import { type EngineFact, toFault } from '../facts/engine-facts.ts';
import { EngineProcess, type OutputOptions } from '../engine/engine-process.ts';
import { commandOf, engineRunOf, type Variables } from '../engine/engine-run.ts';
import type { FactServer, Hello } from '../facts/fact-server.ts';
import { withPythonPath } from '../hook/install-hook.ts';
import { IncarnationPlace } from './incarnation-place.ts';
import type { LogSink } from '../logs/log-relay.ts';
import { endOfChild } from '../engine/process-end.ts';
import { StopRecord } from './stop-record.ts';
import { within } from './within.ts';
import { endStrays, Guard } from '../processes/processes.ts';
import { blockOf, variablesOfPod, variablesOfRank, withoutRank, type OwnRanks } from '../engine/rank-environment.ts';
import type { RendezvousAddress } from '../engine/rendezvous.ts';
import { LAUNCHER_ENV, type Settings } from '../program/settings.ts';
import type { RankStart } from '../successors/successor-process.ts';
import type { Successors } from '../successors/successors.ts';
import { StepLineReader } from '../step-lines/step-line-reader.ts';
import type { StepLine } from '../step-lines/printed-step.ts';
import { trackedRun } from '../engine/tracked-run.ts';
import {
  failedVerdict,
  isFailure,
  lateVerdict,
  notStarted,
  orderlyVerdict,
  plainVerdict,
  type RankExit,
  starterVerdict,
  type Verdict,
  withCheckpointFault,
} from '../ending/verdict.ts';

/** How long the last output of a rank may take to arrive once the rank is gone. */
const LAST_OUTPUT_MS = 500;
/**
 * Killed processes end within this time, also if they free much memory, or they hang in the kernel (a dead file server, a GPU that does not answer). Then the pod
 * ends without them: otherwise the failure would never be reported, and the other pods would wait for this one for ever.
 */
const DYING_MS = 60_000;
/**
 * A rank that failed because a rank in another pod was gone lets that pod report first: the operator acts on the first failure that it receives. Shorter than a
 * restart of ranks, and only if the output shows a lost peer and no other error.
 */
const PEER_FIRST_MS = 1_000;

/** What the ranks of this pod run with, and whom they notify. */
export interface GangOptions {
  readonly settings: Pick<Settings, 'nodeName' | 'gracePeriodMs'>;
  readonly own: OwnRanks;
  readonly bootId: string;
  /** Program of one rank, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Environment of every rank, without its identity. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: LogSink;
  readonly stderr: LogSink;
  readonly output?: OutputOptions;
  readonly onFact: (rank: number, fact: EngineFact) => void;
  /** A line of a step that the engine printed. */
  readonly onStepLine?: (rank: number, line: StepLine) => void;
  /** The first rank of this pod failed. */
  readonly onFailure?: () => void;
  /** A rank has ended in good order, and others of this pod may still run. */
  readonly onRankEnd?: () => void;
  /** Processes that have imported PyTorch and may take over; undefined: each rank is started anew. */
  readonly successors?: Successors | undefined;
  /** Whether other ranks may start in this pod after these, so that successors are worth their memory. */
  readonly mayRestart?: boolean;
  /** How long ranks that were killed may take to end; default 60 s. */
  readonly dyingMs?: number;
}

/** The ranks that one process of a gang is, or starts. */
interface Started {
  readonly ranks: readonly number[];
  readonly starter: string | undefined;
  readonly run: EngineRun | undefined;
  readonly command: readonly [string, ...string[]];
  readonly adopted?: ChildProcess | undefined;
}

/** Of lines that finished ranks wrote. */
const OF_ERRORS = /Error\b|Exception\b|^Traceback/;

/** Runs the ranks of this pod: one process each, or one that starts them all. If one fails, the others are killed: they would wait for it for ever. */
export class Gang {
  readonly #options: GangOptions;
  #guard: Guard | undefined;
  readonly #verdict = Promise.withResolvers<Verdict>();
  #processes: readonly EngineProcess[] = [];
  /** How the processes ended. For a starter that names the failed rank, how that rank ended: the starter's own exit code does not show it. */
  readonly #exits = new Map<EngineProcess, RankExit>();
  /** The last fault that each rank reported of a checkpoint that it could not load. */
  readonly #faults = new Map<number, CheckpointFault>();
  readonly #lastSteps = new Map<number, number>();
  /** Ranks whose hooks have disconnected, in order. */
  #silent: readonly number[] = [];
  /** Whether the ends of these ranks are known, one after the other. */
  #known: Promise<boolean> = Promise.resolve(true);
  /** The verdict, once there is one: later exits are consequences. */
  #decided: Verdict | undefined;
  /** Set once the ranks were asked to stop. */
  #stop: StopRecord | undefined;
  /** Resolved when the ranks are to be killed. */
  readonly #killAsked = Promise.withResolvers<void>();
  /** No process is left. */
  #isOver = false;
  #graceTimer: NodeJS.Timeout | undefined;
  #dyingTimer: NodeJS.Timeout | undefined;
  #place: IncarnationPlace | undefined;
  /** Marks of what its ranks started. */
  #marks: readonly string[];
  /** Successors that may have become ranks, by rank. */
  #adopted: ReadonlyMap<number, number> = new Map();
  /** What its ranks were started with, for their successors; empty once these were asked for. */
  #starts: readonly RankStart[] = [];

  constructor(options: GangOptions) {
    this.#options = options;
    this.#marks = [options.bootId];
  }

  /** How it ended; settles once, when no process is left, or none that can be ended. */
  get ended(): Promise<Verdict> {
    return this.#verdict.promise;
  }

  get isRunning(): boolean {
    return !this.#isOver;
  }

  /** Numbers of lines that were not facts, and of rejected connections. */
  get garbage(): { readonly lines: number; readonly connections: number } {
    const { garbage = 0, refused = 0 } = this.#place?.facts ?? {};
    return { lines: garbage, connections: refused };
  }

  /** Ranks for which neither the engine nor the hook beside it has connected. */
  get silentRanks(): readonly number[] {
    const reporting = this.#place?.facts.reporting ?? new Set();
    return this.#processes.flatMap(({ ranks }) => ranks.filter((rank) => !reporting.has(rank)));
  }

  /** What was started; none before the start. */
  get processes(): readonly EngineProcess[] {
    return this.#processes;
  }

  /** Global rank and whether its process runs. */
  get alive(): readonly { readonly rank: number; readonly alive: boolean }[] {
    return this.#processes.flatMap(({ ranks, exit, finishedRanks }) =>
      ranks.map((rank) => ({ rank, alive: exit === undefined && !finishedRanks.includes(rank) })),
    );
  }

  /** The server for facts and requests of its ranks; undefined before they start. */
  get facts(): FactServer | undefined {
    return this.#place?.facts;
  }

  /** The last lines of the rank's process; without a rank, of the pod's only process. */
  lastLinesOf(rank: number | undefined): readonly string[] {
    const writer =
      rank === undefined ? this.#processes.at(0) : this.#processes.find(({ ranks }) => ranks.includes(rank));
    return writer?.lastLines ?? [];
  }

  /** The last lines of the first rank that shows an error or left programs behind, else of the first rank: all exited with 0. */
  get lastLinesOfFinished(): readonly string[] {
    const tails = this.#processes.map(({ lastLines }) => lastLines);
    return (
      tails.find((lines) => lines.some((line) => OF_ERRORS.test(line) || leftBehindIn(line) !== undefined)) ??
      tails[0] ??
      []
    );
  }

  /** Starts every rank. */
  async start(address: RendezvousAddress): Promise<void> {
    if (this.#decided !== undefined) return;
    try {
      await this.#start(address);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.kill(plainVerdict('launcherFailed', `no rank was started: ${why}`));
    }
  }

  /** Asks every rank to save and stop; kills what is left after `graceMs`. */
  requestStop(graceMs: number): void {
    if (this.#isOver) return;
    this.#stop ??= new StopRecord({ graceMs, nowMs: performance.now() });
    const reporting = (rank: number): readonly number[] => this.#place?.facts.enginesOf(rank) ?? [];
    for (const process of this.#processes) this.#stop.add(process.askToStop(process.ranks.flatMap(reporting), graceMs));
    this.#startGrace(graceMs);
  }

  /** Ends every rank at once; `why` is the verdict unless there is one already. */
  kill(why: Verdict): void {
    this.#killAsked.resolve();
    if (this.#isOver) return;
    this.#decided ??= why;
    this.#killRanks();
    this.#settleWhenAllEnded();
  }

  async #start(address: RendezvousAddress): Promise<void> {
    const { own, bootId, environment, stderr } = this.#options;
    const run = engineRunOf(environment);
    const { startedBy = 'launcher', files = [] } = run ?? {};
    const group = startedBy === 'launcher' ? { rank: own.podIndex, count: own.podCount } : blockOf(own);
    if (group === undefined)
      throw new Error(
        `${startedBy} gives every pod as many ranks, which follow each other, and this one has ${formatRanks(own.ranks)} of ${own.worldSize}; leave engine.startedBy out`,
      );
    const ofPod = { ...withoutRank(environment), ...variablesOfPod(own, group, address) };
    const place = await IncarnationPlace.open(
      {
        bootId,
        ranks: own.ranks,
        started: () => this.#processes.flatMap(({ pid }) => pid ?? []),
        adopted: () => this.#adopted,
        onFact: (rank, fact) => this.#accept(rank, fact),
        onSilent: (hello) => this.#fellSilent(hello),
      },
      { files, variables: ofPod, logLine: (sentence) => stderr.logLine(sentence) },
    );
    if (this.#decided !== undefined) return await place.close(0);
    this.#place = place;
    const common = this.#commonVariables(place, run);
    if (startedBy === 'launcher') {
      const starts = own.ranks.map((rank, localRank): RankStart => {
        const ofRank = { ...trackedRun(environment, rank), ...variablesOfRank(own, localRank, address) };
        const env = { ...environment, ...ofRank, ...common, ...this.#options.successors?.variablesOf(rank) };
        return { rank, env, command: commandOf(this.#options.command, run, env) };
      });
      return await this.#startRanks(starts, run, place.directory);
    }
    this.#guard = new Guard({ marks: this.#marks, directory: place.directory });
    const env = { ...ofPod, ...trackedRun(environment, own.ranks[0] ?? 0), ...common };
    const command = commandOf(this.#options.command, run, env);
    this.#processes = [this.#spawn({ ranks: own.ranks, starter: startedBy, run, command }, env)];
  }

  /** Each in its successor if that can take over, else in a new process. */
  async #startRanks(starts: readonly RankStart[], run: EngineRun | undefined, directory: string): Promise<void> {
    const { successors } = this.#options;
    const generation = successors?.release();
    if (generation !== undefined) this.#marks = [...this.#marks, generation.mark];
    this.#guard = new Guard({ marks: this.#marks, directory });
    this.#adopted = generation?.ready ?? new Map();
    const taken =
      successors === undefined || generation === undefined
        ? []
        : await Promise.all(starts.map((start) => successors.take(generation, start)));
    // The gang may have been ended while its successors answered.
    if (this.#decided !== undefined) return generation?.end('the ranks were ended');
    this.#processes = starts.map(({ rank, env, command }, index) =>
      this.#spawn({ ranks: [rank], starter: undefined, run, command, adopted: taken[index] }, env),
    );
    this.#starts = starts;
    if (generation !== undefined) successors?.finish(generation);
  }

  /** Its ranks make steps: from now on successors may import beside them. */
  #prepareSuccessors(): void {
    const starts = this.#starts;
    this.#starts = [];
    const { successors, mayRestart = false } = this.#options;
    if (starts.length > 0 && mayRestart) successors?.prepare(starts);
  }

  #commonVariables({ facts, filesDirectory, hook }: IncarnationPlace, run: EngineRun | undefined): Variables {
    const { environment } = this.#options;
    const isRead = run?.stepLines !== undefined;
    return {
      ...withPythonPath(environment, { hook, files: filesDirectory }),
      // Lines that wait for a full block of 8 KiB come with those of many steps.
      ...(isRead ? { PYTHONUNBUFFERED: environment['PYTHONUNBUFFERED'] ?? '1' } : {}),
      [LAUNCHER_ENV.reportSocket]: facts.path,
      [LAUNCHER_ENV.bootId]: this.#options.bootId,
      ...(filesDirectory === undefined ? {} : { [RANK_ENV.engineFiles]: filesDirectory }),
    };
  }

  #spawn({ ranks, starter, run, command, adopted }: Started, env: Variables): EngineProcess {
    const { stdout, stderr, output } = this.#options;
    const process = new EngineProcess({
      ranks,
      starter,
      command,
      env,
      adopted,
      stdout,
      stderr,
      output,
      onLine: this.#lineWatch(run?.stepLines, env),
      onExit: (ended, exit) => this.#onExit(ended, exit),
      onRankFinished: () => this.#options.onRankEnd?.(),
      onError: ({ name }, why) => this.kill(notStarted(ranks, `${name} could not be started: ${why}`)),
    });
    if (process.pid !== undefined) this.#guard?.watch(process.pid);
    return process;
  }

  #lineWatch(form: EngineRun['stepLines'], env: Variables): ((rank: number, line: Buffer) => void) | undefined {
    const { command, onStepLine } = this.#options;
    if (form === undefined || onStepLine === undefined) return undefined;
    const reader = new StepLineReader({ form, command, resumedAt: Number(env[RANK_ENV.resumeStep] ?? 0) });
    return (rank, line) => {
      const step = reader.push(line);
      if (step === undefined) return;
      this.#prepareSuccessors();
      onStepLine(rank, step);
    };
  }

  #accept(rank: number, fact: EngineFact): void {
    if (fact.kind === 'checkpointFault') this.#faults.set(rank, toFault(fact));
    if (fact.kind === 'step') {
      this.#processes.find(({ ranks }) => ranks.includes(rank))?.noteStep(rank, fact.step);
      this.#lastSteps.set(rank, fact.step);
      this.#prepareSuccessors();
    }
    this.#stop?.accept(rank, fact, performance.now());
    this.#options.onFact(rank, fact);
  }

  /**
   * A starter reports how a rank ended only after the others have ended, for which it waits 30 s if they ignore SIGTERM. The kernel shows it at once. Handled in
   * order: an earlier rank whose end is unknown may be the reason for this one's end, such as a rank without a hook after which the starter ended this one.
   */
  #fellSilent({ rank, pid }: Hello): void {
    const isNews = !this.#silent.includes(rank);
    this.#silent = [...this.#silent.filter((other) => other !== rank), rank];
    const process = this.#processes.find(({ ranks }) => ranks.includes(rank));
    const parent = process?.starter === undefined ? undefined : process.pid;
    if (!isNews || process === undefined || parent === undefined) return;
    this.#known = this.#known.then(async (isKnown) => {
      const exit = isKnown ? await endOfChild(pid, parent) : undefined;
      // Before it sends a signal a starter writes that it does: that is read first.
      await turn();
      if (exit !== undefined && process.wasSent(exit, pid)) return false;
      if (exit?.kind === 'code' && exit.code === EXIT_CODES.finished.code) process.noteFinished(rank);
      if (exit !== undefined && isFailure(exit) && this.#decided === undefined && this.#stop === undefined) {
        this.#decided = this.#failure(process, rank, exit);
        this.#killRanks();
      }
      return exit !== undefined;
    });
  }

  #onExit(process: EngineProcess, ownExit: RankExit): void {
    const first = process.firstFailure(this.#silent);
    const exit = first?.exit ?? ownExit;
    this.#exits.set(process, exit);
    if (isFailure(exit) && this.#decided === undefined) {
      this.#decided = this.#failure(process, first?.rank, exit);
      // Not SIGTERM, which asks to save: a gang that lost a rank has nothing whole to save.
      this.#killRanks();
    } else if (exit.kind === 'code' && exit.code === EXIT_CODES.stopped.code) {
      // The gang agreed to stop at one step, so the others are about to end as well.
      this.#startGrace(this.#options.settings.gracePeriodMs);
    }
    // What a rank started and left behind ends with it.
    if (this.#decided === undefined) {
      process.noteLeftBehind();
      process.signal('SIGKILL');
    }
    if (!this.#haveEnded()) this.#options.onRankEnd?.();
    this.#settleWhenAllEnded();
  }

  /** Ranks that SIGTERM ended after they were asked to stop did not fail; they only saved nothing. */
  #failure({ ranks, starter, name }: EngineProcess, failed: number | undefined, exit: RankExit): Verdict {
    this.#options.onFailure?.();
    const { nodeName } = this.#options.settings;
    const rank = failed ?? (starter === undefined ? ranks[0] : undefined);
    const verdict =
      rank === undefined
        ? starterVerdict(`${starter ?? 'the starter'} of ${name} on node ${nodeName}`, exit)
        : failedVerdict(rank, exit, nodeName);
    // A starter that names no rank was itself ended by the signal.
    const isAsked = this.#stop !== undefined && (rank === undefined || verdict.exitCode === 128 + 15);
    if (!isAsked) return verdict;
    return { ...verdict, kind: 'stopped', message: `${verdict.message} when it was asked to stop, and saved nothing` };
  }

  #startGrace(graceMs: number): void {
    this.#graceTimer ??= setTimeout(() => {
      const late = this.#processes.find(({ hasEnded }) => !hasEnded);
      this.kill(lateVerdict(late ?? { ranks: [], name: 'a rank' }, { graceMs, node: this.#options.settings.nodeName }));
    }, graceMs);
  }

  #signalGroups(signal: NodeJS.Signals): void {
    for (const process of this.#processes) process.signal(signal);
  }

  #killRanks(): void {
    this.#signalGroups('SIGKILL');
    this.#dyingTimer ??= setTimeout(() => this.#settle(), this.#options.dyingMs ?? DYING_MS);
  }

  #settleWhenAllEnded(): void {
    if (this.#areJudged()) this.#settle();
  }

  /** Whether all processes have ended, and their last output was read. */
  #areJudged(): boolean {
    return this.#processes.every((process) => process.pid === undefined || this.#exits.has(process));
  }

  #haveEnded(): boolean {
    return this.#processes.every(({ hasEnded }) => hasEnded);
  }

  #settle(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#graceTimer);
    clearTimeout(this.#dyingTimer);
    void this.#resolve();
  }

  async #resolve(): Promise<void> {
    const verdict = this.#decided ?? orderlyVerdict([...this.#exits.values()]);
    const overAtMs = performance.now();
    this.#signalGroups('SIGKILL');
    const areGone = (await endStrays(this.#marks)) && this.#haveEnded();
    this.#guard?.dismiss();
    const lastOutput = this.#processes.map(({ closed }) => closed);
    await within(LAST_OUTPUT_MS, Promise.all([...lastOutput, this.#place?.close(LAST_OUTPUT_MS)]));
    if (this.#isConsequence(verdict)) await within(PEER_FIRST_MS, this.#killAsked.promise);
    // Only now: the last fact of a rank may be read after its exit is known.
    const fault = verdict.rank === undefined ? undefined : this.#faults.get(verdict.rank);
    this.#verdict.resolve({
      ...withCheckpointFault(verdict, fault),
      ...(areGone ? {} : { leavesProcesses: true }),
      ...(this.#stop === undefined
        ? {}
        : { stop: this.#stop.factsAfter(verdict, { overAtMs, lastSteps: this.#lastSteps }) }),
    });
  }

  /** Whether the failure follows from that of a rank in another pod, judged by the output here. */
  #isConsequence({ kind, signal, rank }: Verdict): boolean {
    const isByItself = signal === undefined || signal === 'SIGABRT';
    const isOfOthers = kind === 'engineFailed' && isByItself && this.#options.own.podCount > 1;
    return isOfOthers && isConsequence(this.lastLinesOf(rank));
  }
}
