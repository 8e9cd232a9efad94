import { spawn, type ChildProcess } from 'node:child_process';
import { EXIT_CODES, type CheckpointFault, type TORCH_RANK_ENV } from '@coxswain/api-types';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { CheckpointFaultFact, EngineFact } from './engine-facts.ts';
import { engineRunOf, expand } from './engine-run.ts';
import { FactServer } from './facts/fact-server.ts';
import { installHook, withHook } from './hook/install-hook.ts';
import { LogRelay, LogTail, type LogSink } from './log-relay.ts';
import { makeOwnDirectory, removeOwnDirectory } from './own-directory.ts';
import { endStrays, Guard, signalGroup } from './processes.ts';
import type { RendezvousAddress } from './rendezvous.ts';
import { LAUNCHER_ENV, type Settings } from './settings.ts';
import { trackedRun } from './tracked-run.ts';
import {
  failedVerdict,
  isFailure,
  orderlyVerdict,
  plainVerdict,
  type RankExit,
  type Verdict,
  withCheckpointFault,
} from './verdict.ts';

/** How long the last output of a rank may take to arrive once the rank is gone. */
const LAST_OUTPUT_MS = 500;
/**
 * What was killed ends in this time, however much memory it gives back, or hangs in the kernel (a dead file server, a GPU that does not answer). The pod ends
 * without it then: nobody would ever hear that a rank had failed, and the other pods would wait for this one for ever.
 */
const DYING_MS = 60_000;

export interface GangOptions {
  readonly settings: Pick<Settings, 'nodeName' | 'gracePeriodMs'>;
  readonly own: OwnRanks;
  readonly bootId: string;
  /** Program of one rank and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Of every rank, beside who it is. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: LogSink;
  readonly stderr: LogSink;
  readonly onFact: (rank: number, fact: EngineFact) => void;
  /** How long ranks that were killed may take to end; default 60 s. */
  readonly dyingMs?: number;
}

/** What the ranks of one incarnation find beside their environment. */
interface Place {
  readonly directory: string;
  readonly facts: FactServer;
  /** Folder for Python's path; undefined where it could not be written. */
  readonly hook: string | undefined;
}

/** The ranks of this pod. */
export interface OwnRanks {
  /** Global, ascending; they need not follow each other. */
  readonly ranks: readonly number[];
  readonly worldSize: number;
  readonly podIndex: number;
  readonly podCount: number;
  readonly incarnation: number;
}

interface Rank {
  readonly rank: number;
  readonly child: ChildProcess;
  readonly tail: LogTail;
  /** The process is gone and all its output was read. */
  readonly closed: Promise<void>;
  exit: RankExit | undefined;
  /** What it told last of the checkpoint that it could not load. */
  fault: CheckpointFault | undefined;
}

/**
 * The ranks of this pod: one process each, in a session of its own, so that a rank and what it started can be signalled together.
 * When one fails the others are ended; they would wait for it for ever.
 */
export class Gang {
  readonly #options: GangOptions;
  #guard: Guard | undefined;
  readonly #verdict = Promise.withResolvers<Verdict>();
  #ranks: readonly Rank[] = [];
  /** What decides, once something has: later exits are consequences. */
  #decided: Verdict | undefined;
  #isStopAsked = false;
  /** No process is left; nothing is to be done any more. */
  #isOver = false;
  #graceTimer: NodeJS.Timeout | undefined;
  #dyingTimer: NodeJS.Timeout | undefined;
  #place: Place | undefined;

  constructor(options: GangOptions) {
    this.#options = options;
  }

  /** How it ended; settles once, when no process is left, or none that can be ended. */
  get ended(): Promise<Verdict> {
    return this.#verdict.promise;
  }

  get isRunning(): boolean {
    return !this.#isOver;
  }

  /** Lines that were no facts, and connections that were not believed. */
  get garbage(): { readonly lines: number; readonly connections: number } {
    const { garbage = 0, refused = 0 } = this.#place?.facts ?? {};
    return { lines: garbage, connections: refused };
  }

  /** Ranks of which neither the engine nor the hook beside it has said a word. */
  get silentRanks(): readonly number[] {
    const heard = this.#place?.facts.heard ?? new Set();
    return this.#ranks.map(({ rank }) => rank).filter((rank) => !heard.has(rank));
  }

  /** Global rank and whether its process runs. */
  get alive(): readonly { readonly rank: number; readonly alive: boolean }[] {
    return this.#ranks.map(({ rank, exit }) => ({ rank, alive: exit === undefined }));
  }

  lastLinesOf(rank: number): readonly string[] {
    return this.#ranks.find((one) => one.rank === rank)?.tail.read() ?? [];
  }

  /** Starts every rank. */
  async start(address: RendezvousAddress): Promise<void> {
    if (this.#decided !== undefined) return;
    const place = await this.#open();
    if (place === undefined) return;
    this.#place = place;
    this.#guard = new Guard({ bootId: this.#options.bootId, directory: place.directory });
    this.#ranks = this.#options.own.ranks.map((rank, localRank) =>
      this.#startRank({ rank, localRank }, { address, place }),
    );
    for (const rank of this.#ranks) rank.child.once('exit', (code, signal) => this.#onExit(rank, toExit(code, signal)));
  }

  /** Asks every rank to save and stop; kills what is left after `graceMs`. */
  requestStop(graceMs: number): void {
    if (this.#isOver) return;
    this.#isStopAsked = true;
    for (const { child, exit } of this.#ranks) if (exit === undefined) child.kill('SIGTERM');
    this.#startGrace(graceMs);
  }

  /** Ends every rank at once; `why` is the verdict unless there is one already. */
  kill(why: Verdict): void {
    if (this.#isOver) return;
    this.#decided ??= why;
    this.#killRanks();
    this.#settleWhenAllEnded();
  }

  /** Undefined where it cannot be opened, or nothing is to be started any more. */
  async #open(): Promise<Place | undefined> {
    const { bootId, own } = this.#options;
    let directory: string | undefined;
    try {
      directory = makeOwnDirectory();
      const facts = await FactServer.listen({
        path: join(directory, 'facts'),
        bootId,
        ranks: own.ranks,
        started: () => this.#ranks.flatMap(({ child }) => child.pid ?? []),
        onFact: (rank, fact) => this.#accept(rank, fact),
      });
      if (this.#decided === undefined) return { directory, facts, hook: this.#installHook(directory) };
      await facts.drain(0);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.kill(plainVerdict('launcherFailed', `no rank was started: ${why}`));
    }
    if (directory !== undefined) removeOwnDirectory(directory);
    return undefined;
  }

  /** Without it training goes on as well. */
  #installHook(directory: string): string | undefined {
    try {
      return installHook(directory);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#options.stderr.say(`The hook cannot be written, so that nobody sees what is really trained: ${why}`);
      return undefined;
    }
  }

  #startRank(
    { rank, localRank }: { readonly rank: number; readonly localRank: number },
    { address, place }: { readonly address: RendezvousAddress; readonly place: Place },
  ): Rank {
    const { command, environment, own, bootId, stdout, stderr } = this.#options;
    const env = {
      ...environment,
      ...trackedRun(environment, rank),
      ...withHook(environment, place.hook),
      ...torchVariables(own, { rank, localRank, address }),
      [LAUNCHER_ENV.reportSocket]: place.facts.path,
      [LAUNCHER_ENV.bootId]: bootId,
    };
    const [program, ...args] = expandAll(command, env);
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env });
    const tail = new LogTail();
    const closed = new Promise<void>((resolve) => {
      child.once('close', resolve);
      child.once('error', (error) => {
        this.kill(notStarted(rank, program, error));
        resolve();
      });
    });
    relay(child.stdout, new LogRelay(rank, stdout, tail));
    relay(child.stderr, new LogRelay(rank, stderr, tail));
    if (child.pid !== undefined) this.#guard?.watch(child.pid);
    return { rank, child, tail, closed, exit: undefined, fault: undefined };
  }

  #accept(rank: number, fact: EngineFact): void {
    const teller = this.#ranks.find((one) => one.rank === rank);
    if (fact.kind === 'checkpointFault' && teller !== undefined) teller.fault = toFault(fact);
    this.#options.onFact(rank, fact);
  }

  #onExit(rank: Rank, exit: RankExit): void {
    rank.exit = exit;
    if (isFailure(exit) && this.#decided === undefined) {
      this.#decided = this.#failure(rank.rank, exit);
      // Not SIGTERM, which asks to save: a gang that lost a rank has nothing whole to save.
      this.#killRanks();
    } else if (exit.kind === 'code' && exit.code === EXIT_CODES.stopped.code) {
      // The gang agreed to stop at one step, so the others are about to end as well.
      this.#startGrace(this.#options.settings.gracePeriodMs);
    }
    // What a rank started and left behind ends with it.
    if (rank.child.pid !== undefined && this.#decided === undefined) signalGroup(rank.child.pid, 'SIGKILL');
    this.#settleWhenAllEnded();
  }

  /** Ranks that SIGTERM ended after they were asked to stop did not fail; they only saved nothing. */
  #failure(rank: number, exit: RankExit): Verdict {
    const verdict = failedVerdict(rank, exit, this.#options.settings.nodeName);
    if (!this.#isStopAsked || verdict.exitCode !== 128 + 15) return verdict;
    return { ...verdict, kind: 'stopped', message: `${verdict.message} when it was asked to stop, and saved nothing` };
  }

  #startGrace(graceMs: number): void {
    this.#graceTimer ??= setTimeout(() => {
      const late = this.#ranks.find(({ exit }) => exit === undefined);
      this.kill({
        kind: 'stopped',
        exitCode: 128 + 9,
        ...(late === undefined ? {} : { rank: late.rank }),
        signal: 'SIGKILL',
        message: `rank ${late?.rank ?? 0} on node ${this.#options.settings.nodeName} did not stop within ${Math.round(graceMs / 1000)} s and was killed`,
      });
    }, graceMs);
  }

  #signalGroups(signal: NodeJS.Signals): void {
    for (const { child } of this.#ranks) if (child.pid !== undefined) signalGroup(child.pid, signal);
  }

  #killRanks(): void {
    this.#signalGroups('SIGKILL');
    this.#dyingTimer ??= setTimeout(() => this.#settle(), this.#options.dyingMs ?? DYING_MS);
  }

  #settleWhenAllEnded(): void {
    if (this.#haveEnded()) this.#settle();
  }

  #haveEnded(): boolean {
    return this.#ranks.every(({ child, exit }) => child.pid === undefined || exit !== undefined);
  }

  #settle(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#graceTimer);
    clearTimeout(this.#dyingTimer);
    void this.#resolve();
  }

  async #resolve(): Promise<void> {
    const verdict = this.#decided ?? orderlyVerdict(this.#ranks.flatMap(({ exit }) => exit ?? []));
    this.#signalGroups('SIGKILL');
    const areGone = (await endStrays(this.#options.bootId)) && this.#haveEnded();
    this.#guard?.dismiss();
    const lastOutput = [...this.#ranks.map(({ closed }) => closed), this.#place?.facts.drain(LAST_OUTPUT_MS)];
    await within(LAST_OUTPUT_MS, Promise.all(lastOutput));
    if (this.#place !== undefined) removeOwnDirectory(this.#place.directory);
    // Only now: what a rank told last may be read after its exit is known.
    const fault = this.#ranks.find(({ rank }) => rank === verdict.rank)?.fault;
    this.#verdict.resolve({
      ...withCheckpointFault(verdict, fault),
      ...(areGone ? {} : { leavesProcesses: true }),
    });
  }
}

/** The command with variables of its rank in place of their names; as it is where no adapter rendered it. */
function expandAll(
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
): readonly [string, ...string[]] {
  if (engineRunOf(env) === undefined) return [program, ...args];
  return [expand(program, env), ...args.map((arg) => expand(arg, env))];
}

/** What torchrun would set for the rank. */
function torchVariables(
  own: OwnRanks,
  {
    rank,
    localRank,
    address,
  }: { readonly rank: number; readonly localRank: number; readonly address: RendezvousAddress },
): Readonly<Record<keyof typeof TORCH_RANK_ENV, string>> {
  return {
    RANK: String(rank),
    WORLD_SIZE: String(own.worldSize),
    LOCAL_RANK: String(localRank),
    LOCAL_WORLD_SIZE: String(own.ranks.length),
    GROUP_RANK: String(own.podIndex),
    GROUP_WORLD_SIZE: String(own.podCount),
    MASTER_ADDR: address.host,
    MASTER_PORT: String(address.port),
    TORCHELASTIC_RESTART_COUNT: String(own.incarnation - 1),
  };
}

function toFault({ fault, path, errno, expected, found }: CheckpointFaultFact): CheckpointFault {
  return {
    kind: fault,
    path,
    ...(errno === undefined ? {} : { errno }),
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
  };
}

function toExit(code: number | null, signal: NodeJS.Signals | null): RankExit {
  return signal === null ? { kind: 'code', code: code ?? 1 } : { kind: 'signal', signal };
}

function notStarted(rank: number, program: string, error: Error): Verdict {
  const { code } = EXIT_CODES.launcherFailed;
  return {
    kind: 'launcherFailed',
    exitCode: code,
    rank,
    message: `rank ${rank} could not be started: ${program}: ${error.message}`,
  };
}

function relay(stream: Readable | null, to: LogRelay): void {
  stream?.on('error', () => undefined);
  stream?.on('data', (chunk: Buffer) => to.push(chunk));
  stream?.on('end', () => to.end());
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
  // A launcher that got no processor for so long finds the time over before it has read what lies in its pipes: that comes first.
  await turn();
}
