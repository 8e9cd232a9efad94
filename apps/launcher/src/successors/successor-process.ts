/** One successor: a process that imports what its rank has imported, and waits until it is released as that rank. */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import type { EngineRun } from '@coxswain/api-types';
import { LineSplitter } from '../logs/line-splitter.ts';
import { type SecretIndex, SecretMask } from '../logs/secret-mask.ts';
import { cpuMsOf } from '../processes/process-facts.ts';
import { ownBytesOf } from '../processes/memory-use.ts';
import { signalGroup } from '../processes/processes.ts';
import { LAUNCHER_ENV } from '../program/settings.ts';
import { parsePython } from './successor-rules.ts';

/** Longest line of the channel: only a successor that is broken writes more. */
const MAX_LINE_BYTES = 65_536;
/** Lines of output that are logged. What comes after them is read and dropped. */
const MAX_LOGGED_LINES = 20;
const MAX_LOGGED_BYTES = 512;

/** Another process may hold the channel of one that has ended. */
const LAST_ANSWER_MS = 500;

/** The descriptor of the channel in the new process. */
const CHANNEL = 3;

/** What a process of a rank starts with. */
export interface RankStart {
  readonly rank: number;
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How to start a successor. */
export interface SuccessorOptions extends RankStart {
  /** Variables that it sees, and that are not in the environment of its start. */
  readonly seen: Readonly<Record<string, string>>;
  /** File with the modules that the rank has imported, and the variables that its program has set. */
  readonly imports: string;
  /** Import none of these modules, so PyTorch alone. */
  readonly isPyTorchAlone: boolean;
  /** How long it may take until its hook answers. Without the hook, Python would run the program. */
  readonly hookMs: number;
  readonly secrets: SecretIndex | undefined;
  /** Receives lines that it prints before it is released. */
  readonly onLine: (line: string) => void;
}

/** The new start of the rank that it takes over. */
interface Release extends Omit<RankStart, 'rank'> {
  readonly startedBy: EngineRun['startedBy'];
}

/** What a successor writes. */
type Answer = { readonly kind: 'here' | 'ready' | 'taken' } | { readonly kind: 'unfit'; readonly why: string };

/** The process, from its start until it is taken or has ended. */
export class SuccessorProcess {
  readonly rank: number;
  readonly #command: readonly string[];
  readonly #child: ChildProcess;
  readonly #channel: Duplex;
  readonly #ready = Promise.withResolvers<void>();
  readonly #taken = Promise.withResolvers<void>();
  readonly #over = Promise.withResolvers<void>();
  readonly #withoutHook: NodeJS.Timeout;
  #isReady = false;
  #isTaken = false;
  #why: string | undefined;
  #cpuMs = 0;

  constructor(options: SuccessorOptions) {
    const { rank, command, env, seen, imports, isPyTorchAlone, hookMs, secrets, onLine } = options;
    this.rank = rank;
    this.#command = command;
    const [program, ...args] = command;
    this.#child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: { ...env, [LAUNCHER_ENV.successorOf]: String(rank), [LAUNCHER_ENV.successorChannel]: String(CHANNEL) },
    });
    this.#channel = this.#child.stdio[CHANNEL] as Duplex;
    this.#channel.on('error', () => undefined);
    this.#channel.once('close', () => this.#afterChannel());
    this.#child.once('error', (error) => this.#end(`it could not be started: ${error.message}`));
    this.#child.once('exit', (code, signal) =>
      this.#afterLastAnswer(`it ended with ${signal ?? `exit code ${code ?? 0}`}`),
    );
    this.#readOutput(secrets, onLine);
    this.#readAnswers();
    this.#write({ given: env, environment: seen, imports, isPyTorchAlone });
    this.#withoutHook = setTimeout(() => this.kill(`its hook did not answer within ${hookMs / 1000} s`), hookMs);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** It has imported all, and waits. */
  get isReady(): boolean {
    return this.#isReady && this.#why === undefined;
  }

  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Why it cannot take over; undefined while it can, or is still importing. */
  get why(): string | undefined {
    return this.#why;
  }

  /** Memory that it shares with no file. */
  get ownBytes(): number {
    return this.pid === undefined ? 0 : ownBytesOf(this.pid);
  }

  /** CPU time that it had used when it was last measured. */
  get cpuMs(): number {
    return this.#cpuMs;
  }

  /** Settles when it is ready or has ended. */
  get settled(): Promise<void> {
    return Promise.race([this.#ready.promise, this.#over.promise]);
  }

  /** Settles when the process is gone. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Measures CPU time, which cannot be read of a process that has ended. */
  measure(): void {
    if (this.pid !== undefined && this.#why === undefined) this.#cpuMs = Math.max(this.#cpuMs, cpuMsOf(this.pid));
  }

  /** Releases it as its rank. Gives the process; undefined if it is not ready, or does not answer within `withinMs`. Then it is ended. */
  async take({ command, env, startedBy }: Release, withinMs: number): Promise<ChildProcess | undefined> {
    if (!this.isReady) return undefined;
    const [begun, wanted] = [this.#command, command].map((one) => parsePython(one, startedBy));
    if (begun === undefined || wanted === undefined || 'why' in begun || 'why' in wanted) return undefined;
    if (JSON.stringify(begun.python.start) !== JSON.stringify(wanted.python.start)) {
      this.kill('its program has another name in each start');
      return undefined;
    }
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, withinMs);
    this.#write({ environment: env, arguments: wanted.python.args });
    await Promise.race([this.#taken.promise, this.#over.promise, late.promise]);
    clearTimeout(timer);
    this.kill(`it did not answer within ${withinMs / 1000} s`);
    return this.#isTaken ? this.#child : undefined;
  }

  /** Ends it with all that it started; nothing if it has been taken. */
  kill(why: string): void {
    if (this.#isTaken) return;
    this.measure();
    this.#why ??= why;
    this.#channel.destroy();
    if (this.pid !== undefined) signalGroup(this.pid, 'SIGKILL');
  }

  /** What it answered last may not have been read when its end is known. */
  #afterLastAnswer(why: string): void {
    if (this.#channel.destroyed) return this.#end(why);
    const late = setTimeout(() => this.#end(why), LAST_ANSWER_MS);
    this.#channel.once('close', () => {
      clearTimeout(late);
      this.#end(why);
    });
  }

  /** No word comes from it any more. Usually it has ended, which is known soon, with the reason. */
  #afterChannel(): void {
    const late = setTimeout(() => this.kill('it closed its channel'), LAST_ANSWER_MS);
    void this.over.then(() => clearTimeout(late));
  }

  #end(why: string): void {
    clearTimeout(this.#withoutHook);
    this.#why ??= why;
    if (!this.#isTaken && this.pid !== undefined) signalGroup(this.pid, 'SIGKILL');
    this.#over.resolve();
  }

  #write(message: object): void {
    this.#channel.write(`${JSON.stringify(message)}\n`);
  }

  #readAnswers(): void {
    const splitter = new LineSplitter(MAX_LINE_BYTES);
    this.#channel.on('data', (chunk: Buffer) => {
      for (const { bytes } of splitter.push(chunk)) this.#receive(parse(bytes.toString('utf8')));
    });
  }

  #receive(answer: Answer | undefined): void {
    if (this.#why !== undefined) return;
    if (answer?.kind === 'here') clearTimeout(this.#withoutHook);
    else if (answer?.kind === 'ready') {
      this.measure();
      this.#isReady = true;
      this.#ready.resolve();
    } else if (answer?.kind === 'taken' && this.#isReady) {
      this.#isTaken = true;
      this.#leaveOutput();
      this.#taken.resolve();
    } else this.kill(answer?.kind === 'unfit' ? answer.why : 'it answered what no successor answers');
  }

  /** What comes from now on is output of the rank, and waits for its reader. */
  #leaveOutput(): void {
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.removeAllListeners('data').pause();
  }

  #readOutput(secrets: SecretIndex | undefined, onLine: (line: string) => void): void {
    let logged = 0;
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      const mask = secrets && new SecretMask(secrets);
      const splitter = new LineSplitter(MAX_LOGGED_BYTES);
      stream?.on('error', () => undefined);
      stream?.on('data', (chunk: Buffer) => {
        for (const { bytes } of splitter.push(mask?.push(chunk) ?? chunk)) {
          logged += 1;
          if (logged <= MAX_LOGGED_LINES) onLine(bytes.toString('utf8'));
        }
      });
    }
  }
}

function parse(line: string): Answer | undefined {
  try {
    const { kind, why } = JSON.parse(line) as { readonly kind?: unknown; readonly why?: unknown };
    if (kind === 'unfit') return { kind, why: String(why).slice(0, 1024) };
    return kind === 'here' || kind === 'ready' || kind === 'taken' ? { kind } : undefined;
  } catch {
    return undefined;
  }
}
