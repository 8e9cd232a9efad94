/** The successors of this pod's ranks: when they start, when they end, and who takes over. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { formatRanks, type EngineRun } from '@coxswain/api-types';
import { formatBytes, formatDuration } from '@coxswain/units';
import { withoutRank } from '../engine/rank-environment.ts';
import { HOOK_ENTRY, installHook, PYTHON_PATH, withPythonPath } from '../hook/install-hook.ts';
import type { SecretIndex } from '../logs/secret-mask.ts';
import { memoryNow, type MemoryNow } from '../processes/memory-use.ts';
import { makeOwnDirectory, removeOwnDirectory } from '../processes/own-directory.ts';
import { endStrays, Guard } from '../processes/processes.ts';
import { LAUNCHER_ENV } from '../program/settings.ts';
import { SuccessorProcess, type RankStart } from './successor-process.ts';
import { formatRefusal, isMemoryShort, memoryRefusal, parsePython, SUCCESSOR_BYTES } from './successor-rules.ts';

const TIMES = {
  /** How long ranks have made steps before successors import beside them: the first steps use the most processor and memory. */
  afterFirstStepMs: 5_000,
  /** An import that takes longer hangs. */
  importMs: 600_000,
  /** How long Python may take to load the hook. */
  hookMs: 10_000,
  /** How long a rank waits for the answer of its successor. Then it starts as if there were none. */
  answerMs: 2_000,
  /** How often memory is measured. */
  lookMs: 2_000,
};
/** After so many failures, others would fail too. */
const MOST_FAILURES = 3;

/** What successors are made from. */
export interface SuccessorsOptions {
  /** Of a rank, before variables are filled in. */
  readonly command: readonly string[];
  readonly startedBy: EngineRun['startedBy'];
  readonly secrets?: SecretIndex | undefined;
  readonly logLine: (sentence: string) => void;
  readonly memory?: () => MemoryNow | undefined;
  /** Overrides for tests. */
  readonly times?: Partial<typeof TIMES>;
  readonly mostBytes?: number;
}

/** Successors that wait for the next start of the ranks, and share a mark. */
export class Generation {
  /** In the environment of each, and of what they start: `COXSWAIN_BOOT_ID`. */
  readonly mark = randomUUID();
  readonly processes: SuccessorProcess[] = [];
  /** Set once the ranks start without waiting any longer. */
  isOver = false;
  readonly #directory: string;
  #guard: Guard | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  add(process: SuccessorProcess): void {
    this.processes.push(process);
    this.#guard ??= new Guard({ marks: [this.mark], directory: this.#directory });
    if (process.pid !== undefined) this.#guard.watch(process.pid);
  }

  /** Processes that may become ranks, by rank. */
  get ready(): ReadonlyMap<number, number> {
    const ready = this.processes.filter(({ isReady }) => isReady);
    return new Map(ready.flatMap(({ rank, pid }) => (pid === undefined ? [] : [[rank, pid] as const])));
  }

  /** Ends all that were not taken. */
  end(why: string): void {
    this.isOver = true;
    for (const process of this.processes) process.kill(why);
    this.#guard?.dismiss();
    this.#guard = undefined;
  }
}

/** Starts successors one after the other, so that they use one processor of the pod at a time, and hands them over. */
export class Successors {
  readonly #options: SuccessorsOptions;
  readonly #times: typeof TIMES;
  readonly #mostBytes: number;
  readonly #watch: NodeJS.Timeout;
  #directory: string | undefined;
  #generation: Generation | undefined;
  /** Those that waited when the pod came to its end. */
  #last: Generation | undefined;
  #highestBytes = 0;
  #failures = 0;
  /** False once an import of more than PyTorch has made a successor unfit. */
  #importsAll = true;
  #endedCpuMs = 0;
  #logged: string | undefined;
  #isEnded = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #isRefused: boolean;

  constructor(options: SuccessorsOptions) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
    this.#mostBytes = options.mostBytes ?? SUCCESSOR_BYTES;
    const parsed = parsePython(options.command, options.startedBy);
    this.#isRefused = 'why' in parsed;
    if ('why' in parsed) this.#logRefusal(parsed.why);
    this.#look();
    this.#watch = setInterval(() => this.#look(), this.#times.lookMs).unref();
  }

  /** CPU time of successors that ended and were never a rank. */
  get endedCpuMs(): number {
    return this.#endedCpuMs;
  }

  /** Variables that a rank needs so that it can have a successor. */
  variablesOf(rank: number): Readonly<Record<string, string>> {
    const directory = this.#place();
    return directory === undefined ? {} : { [LAUNCHER_ENV.imports]: importsFile(directory, rank) };
  }

  /** The ranks have made a step: their successors may import. */
  prepare(starts: readonly RankStart[]): void {
    const directory = this.#place();
    if (directory === undefined || this.#generation !== undefined || this.#failures >= MOST_FAILURES) return;
    const why = this.#obstacle(starts.length, directory);
    if (why !== undefined) return this.#logRefusal(why);
    const generation = new Generation(directory);
    this.#generation = generation;
    const begin = (): void => void this.#startAll(generation, { starts, directory });
    this.#timer = setTimeout(begin, this.#times.afterFirstStepMs).unref();
  }

  /** The ranks start again now. Successors that are not ready end. */
  release(): Generation | undefined {
    clearTimeout(this.#timer);
    const generation = this.#generation;
    this.#generation = undefined;
    if (generation === undefined) return undefined;
    generation.isOver = true;
    for (const process of generation.processes) if (!process.isReady) process.kill('it was still importing');
    return generation;
  }

  /** The process that takes over as this rank; undefined: none can. */
  async take(generation: Generation, { rank, command, env }: RankStart): Promise<ChildProcess | undefined> {
    const process = generation.processes.find((one) => one.rank === rank);
    const wasReady = process?.isReady === true;
    const child = await process?.take({ command, env, startedBy: this.#options.startedBy }, this.#times.answerMs);
    if (child !== undefined) return child;
    if (wasReady) this.#failures += 1;
    this.#options.logLine(`Rank ${rank} imports PyTorch anew: ${process?.why ?? 'its successor had not started'}.`);
    return undefined;
  }

  /** All that can take over have done so. */
  finish(generation: Generation): void {
    const taken = generation.processes.filter(({ isTaken }) => isTaken).map(({ rank }) => rank);
    if (taken.length > 0)
      this.#options.logLine(
        `${taken.length === 1 ? 'Rank' : 'Ranks'} ${formatRanks(taken)}: a successor that has imported PyTorch takes over.`,
      );
    generation.end('the rank was started without it');
  }

  /** Ends all that wait, for good. */
  stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#watch);
    this.#last = this.release();
    this.#last?.end('the pod ends');
  }

  /** The same, once no rank is left either: ranks that were successors have their hook here. Returns when none is left. */
  async end(): Promise<void> {
    this.stop();
    if (this.#last !== undefined) await endStrays([this.#last.mark]);
    if (this.#directory !== undefined) removeOwnDirectory(this.#directory);
  }

  #place(): string | undefined {
    if (this.#isRefused || this.#isEnded) return undefined;
    if (this.#directory !== undefined) return this.#directory;
    try {
      const directory = makeOwnDirectory();
      installHook(directory);
      this.#directory = directory;
    } catch (error) {
      this.#logRefusal(`their files cannot be written: ${error instanceof Error ? error.message : String(error)}`);
    }
    return this.#directory;
  }

  /** Python would find no hook in a copy that a program has deleted, and would run the program. */
  #obstacle(count: number, directory: string): string | undefined {
    const entry = join(directory, HOOK_ENTRY);
    if (!existsSync(entry)) return `${entry} is gone; let no program delete it`;
    return memoryRefusal(this.#memory(), { highestBytes: this.#highestBytes, count });
  }

  async #startAll(
    generation: Generation,
    { starts, directory }: { readonly starts: readonly RankStart[]; readonly directory: string },
  ): Promise<void> {
    for (const [index, start] of starts.entries()) {
      if (generation.isOver || this.#failures >= MOST_FAILURES) return;
      const why = this.#obstacle(starts.length - index, directory);
      if (why !== undefined) return this.#logRefusal(why);
      const { why: unfit } = await this.#startOne(generation, { start, directory });
      if (unfit === undefined || !this.#importsAll || generation.isOver) continue;
      // What it imported beside PyTorch may be the reason. The next ones do without it.
      this.#importsAll = false;
      await this.#startOne(generation, { start, directory });
    }
    const ready = generation.processes.filter(({ isReady }) => isReady);
    if (generation.isOver || ready.length === 0) return;
    const bytes = ready.reduce((sum, { ownBytes }) => sum + ownBytes, 0);
    this.#options.logLine(
      `Successors of ranks ${formatRanks(ready.map(({ rank }) => rank))} have imported PyTorch and wait; they use ${formatBytes(bytes)} of memory.`,
    );
  }

  async #startOne(
    generation: Generation,
    { start, directory }: { readonly start: RankStart; readonly directory: string },
  ): Promise<SuccessorProcess> {
    const { rank, env } = start;
    const { RANK = '', LOCAL_RANK = '' } = env;
    const { [LAUNCHER_ENV.reportSocket]: _socket, ...hidden } = withoutRank(env);
    const hook = join(directory, 'hook');
    // The first entry of a rank is the hook of its own start, which goes with it.
    const rest = (env[PYTHON_PATH] ?? '').split(':').slice(1).join(':');
    const process = new SuccessorProcess({
      ...start,
      env: {
        ...hidden,
        ...withPythonPath({ [PYTHON_PATH]: rest }, { hook, files: undefined }),
        [LAUNCHER_ENV.bootId]: generation.mark,
      },
      seen: { RANK, LOCAL_RANK },
      imports: importsFile(directory, rank),
      isPyTorchAlone: !this.#importsAll,
      hookMs: this.#times.hookMs,
      secrets: this.#options.secrets,
      onLine: (line) => this.#options.logLine(`Successor of rank ${rank}: ${line}`),
    });
    const before = generation.processes.findIndex((one) => one.rank === rank);
    if (before >= 0) generation.processes.splice(before, 1);
    generation.add(process);
    const { importMs } = this.#times;
    const late = setTimeout(() => process.kill(`it imported for ${formatDuration(importMs)}`), importMs).unref();
    void process.over.then(() => {
      if (process.isTaken) return;
      this.#endedCpuMs += process.cpuMs;
      if (!generation.isOver) this.#fail(process);
    });
    await process.settled;
    clearTimeout(late);
    return process;
  }

  #fail({ rank, why = 'it ended' }: SuccessorProcess): void {
    this.#failures += 1;
    this.#options.logLine(`Rank ${rank} has no successor: ${why}.`);
    if (this.#failures === MOST_FAILURES) this.#logRefusal(`${MOST_FAILURES} of them failed in this pod`);
  }

  #memory(): MemoryNow | undefined {
    return (this.#options.memory ?? memoryNow)();
  }

  /** Measures, and ends what the pod has no room for. */
  #look(): void {
    const memory = this.#memory();
    const waiting = (this.#generation?.processes ?? []).filter(({ why }) => why === undefined);
    const ofSuccessors = waiting.reduce((sum, { ownBytes }) => sum + ownBytes, 0);
    this.#highestBytes = Math.max(this.#highestBytes, (memory?.usedBytes ?? 0) - ofSuccessors);
    for (const process of waiting) {
      process.measure();
      const { ownBytes } = process;
      if (ownBytes > this.#mostBytes)
        process.kill(
          `it uses ${formatBytes(ownBytes)} of memory, and at most ${formatBytes(this.#mostBytes)} are allowed`,
        );
    }
    if (waiting.length === 0 || !isMemoryShort(memory)) return;
    this.#logRefusal('the ranks need the memory that they use');
    this.#generation?.end('the ranks need its memory');
  }

  #logRefusal(why: string): void {
    if (this.#logged === why) return;
    this.#logged = why;
    this.#options.logLine(formatRefusal(why));
  }
}

function importsFile(directory: string, rank: number): string {
  return join(directory, `imports-${rank}`);
}
