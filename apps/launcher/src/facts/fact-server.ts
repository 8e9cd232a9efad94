/** The Unix socket on which ranks report facts, and the checks on who may connect. */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { TokenBucket } from '@coxswain/units';
import { z } from 'zod';
import { MAX_RANKS_PER_POD } from '@coxswain/api-types';
import { LAUNCHER_ENV } from '../program/settings.ts';
import { LineSplitter, type Line } from '../logs/line-splitter.ts';
import { MAX_FACT_BYTES, parseFact, type EngineFact } from './engine-facts.ts';
import { realProcesses, type ProcessFacts } from '../processes/process-facts.ts';

/** How long a connection may stay without a hello. */
const HELLO_MS = 5_000;
/** Connections in addition to those of ranks; a connection without a hello is closed after {@link HELLO_MS}. */
const SPARE_CONNECTIONS = 32;
/**
 * Bytes that the server reads per second from one connection, and at once after a pause. A step takes 300 bytes. Faster data waits in the socket,
 * then in the queue of the hook. The hook drops its oldest steps and reports how many.
 */
const BYTES_PER_SECOND = 262_144;
const BURST_BYTES = 1_048_576;
/** A line, and a read that completes none, costs no less than this, so that empty ones and single bytes are not free. */
const LEAST_LINE_BYTES = 128;

/** Who reports: the engine's own calls, or what Python loads by itself at its start. */
export const HOOKS = ['engine', 'sitecustomize'] as const;

/** Facts that the engine knows better than the hook beside it. */
const ENGINES_OWN: readonly EngineFact['kind'][] = ['step', 'resumed'];

const Hello = z.object({
  kind: z.literal('hello'),
  version: z.literal(1),
  pid: z
    .int()
    .min(1)
    .max(2 ** 31),
  bootId: z.string().max(64),
  rank: z
    .int()
    .min(0)
    .max(2 ** 31),
  hook: z.enum(HOOKS),
  python: z.string().max(64).optional(),
  /** Which questions it answers; absent: one of a release that says nothing of it, which may know `stacks`. What is not known here is left alone. */
  reads: z.array(z.string().max(32)).max(16).optional(),
});
/** First line of a connection: which process connects, for which rank, and which requests its hook can answer. */
export type Hello = z.infer<typeof Hello>;

/** The answer to the first line of a connection. Clients need not read it. */
export type HelloAnswer = { readonly kind: 'welcome' } | { readonly kind: 'refused'; readonly why: string };
/** What is asked of it later. A hook of the release before reads nothing more. */
interface Question {
  readonly kind: 'stacksWanted' | 'saveWanted';
  readonly request: number;
}
/** A process that was asked, and whether its hook has announced that it answers such requests. */
export interface AskedProcess {
  readonly pid: number;
  readonly saysItAnswers: boolean;
}
/** What became of a request to save: the engine has it (`asked`), the engine cannot read it (`cannot`), or no engine is connected (`silent`). */
export type SaveAsked = 'asked' | 'cannot' | 'silent';
/** Questions that a hook has not read; it gets no more of them then. */
const MAX_UNREAD_BYTES = 4_096;

/** Who may connect, and whom the server notifies of facts. */
export interface FactServerOptions {
  /** Of the socket, in a directory that belongs to this launcher alone. */
  readonly path: string;
  readonly bootId: string;
  /** Of this pod; any: whatever ranks the processes say they are. */
  readonly ranks: readonly number[] | 'any';
  /** Processes that the launcher itself started. */
  readonly started: () => readonly number[];
  /** Processes that became a rank after their start, by rank. Their environment at that time does not name it. */
  readonly adopted?: () => ReadonlyMap<number, number>;
  readonly onFact: (rank: number, fact: EngineFact) => void;
  /** A hook of a rank begins to speak, and falls silent. */
  readonly onHello?: (hello: Hello) => void;
  readonly onSilent?: (hello: Hello) => void;
  readonly processes?: ProcessFacts;
  readonly helloMs?: number;
}

/**
 * The socket on which ranks tell facts. A connection is believed where its process has the launcher's mark and the rank in the environment that it was started
 * with, and descends from a process that the launcher started. Of a successor, which became a rank later, the launcher knows the process itself. Processes of one user in one pod can pretend to be each other all the same: this keeps out what
 * is lost, late or mistaken, and bounds what is hostile.
 */
export class FactServer {
  readonly #options: FactServerOptions;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #reporting = new Set<number>();
  /** Ranks whose engine reports its own steps: steps that a hook observes would be reported twice. */
  readonly #selfReporting = new Set<number>();
  #garbage = 0;
  #refused = 0;

  private constructor(options: FactServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
    const most = options.ranks === 'any' ? MAX_RANKS_PER_POD : options.ranks.length;
    this.#server.maxConnections = most * HOOKS.length + SPARE_CONNECTIONS;
    this.#server.on('drop', () => (this.#refused += 1));
    this.#server.on('error', () => undefined);
  }

  static async listen(options: FactServerOptions): Promise<FactServer> {
    const made = new FactServer(options);
    made.#server.listen(options.path);
    await once(made.#server, 'listening');
    return made;
  }

  get path(): string {
    return this.#options.path;
  }

  /** Lines that were no facts. */
  get garbage(): number {
    return this.#garbage;
  }

  /** Connections that were not believed, or one too many. */
  get refused(): number {
    return this.#refused;
  }

  /** Ranks whose hello was accepted at least once. */
  get reporting(): ReadonlySet<number> {
    return this.#reporting;
  }

  /** Requests the current stack traces of a rank. Returns the process that was asked; undefined if the rank has no hook. */
  askForStacks(rank: number, request: number): AskedProcess | undefined {
    const ofRank = this.#connectionsOf(rank);
    const asked = ofRank.find(({ hello }) => hello?.hook === 'sitecustomize') ?? ofRank[0];
    asked?.ask({ kind: 'stacksWanted', request });
    return asked?.hello && { pid: asked.hello.pid, saysItAnswers: asked.hello.reads?.includes('stacks') ?? false };
  }

  /** Processes in which the engine of that rank reports now. The hook that Python loads by itself may report from a launcher or a helper. */
  enginesOf(rank: number): readonly number[] {
    return this.#connectionsOf(rank).flatMap(({ hello }) => (hello?.hook === 'engine' ? [hello.pid] : []));
  }

  /** Asks the engine of that rank to save, with all ranks, and to train on. */
  askToSave(rank: number, request: number): SaveAsked {
    const engine = this.#connectionsOf(rank).find(({ hello }) => hello?.hook === 'engine');
    if (engine === undefined) return 'silent';
    if (engine.hello?.reads?.includes('saves') !== true) return 'cannot';
    engine.ask({ kind: 'saveWanted', request });
    return 'asked';
  }

  #connectionsOf(rank: number): readonly Connection[] {
    return [...this.#connections].filter(({ hello }) => hello?.rank === rank);
  }

  /** Reads what processes that have ended left in their sockets, without a rate limit. Connections that are still open after `deadlineMs` are closed. */
  async drain(deadlineMs: number): Promise<void> {
    this.#server.close();
    for (const connection of this.#connections) connection.hurry();
    const gone = Promise.all([...this.#connections].map(({ closed }) => closed));
    const over = setTimeout(() => this.#closeAll(), deadlineMs);
    await gone;
    clearTimeout(over);
    rmSync(this.#options.path, { force: true });
  }

  #closeAll(): void {
    for (const connection of this.#connections) connection.close();
  }

  #accept(socket: Socket): void {
    const connection = new Connection(socket, {
      helloMs: this.#options.helloMs ?? HELLO_MS,
      onHello: (line) => this.#judge(connection, line),
      onLine: (hello, line) => this.#take(hello, line),
    });
    this.#connections.add(connection);
    void connection.closed.then(() => {
      this.#connections.delete(connection);
      if (connection.hello === undefined) this.#refused += 1;
      else this.#options.onSilent?.(connection.hello);
    });
  }

  #judge(connection: Connection, line: Line): Hello | string {
    const hello = helloOf(line);
    if (hello === undefined) return 'the first line is no hello of version 1';
    const why = this.#whyNot(connection, hello);
    if (why !== undefined) return why;
    this.#reporting.add(hello.rank);
    if (hello.hook === 'engine') this.#selfReporting.add(hello.rank);
    this.#options.onHello?.(hello);
    return hello;
  }

  #whyNot(asking: Connection, { pid, bootId, rank, hook }: Hello): string | undefined {
    const { processes = realProcesses, ranks, started, adopted } = this.#options;
    if (bootId !== this.#options.bootId) return 'it names another start of the launcher';
    if (ranks !== 'any' && !ranks.includes(rank)) return `rank ${rank} is not one of this pod`;
    const own = adopted?.().get(rank);
    if (own === undefined || !processes.isBelow(pid, [own])) {
      const environment = processes.environmentOf(pid);
      if (!environment.includes(`${LAUNCHER_ENV.bootId}=${bootId}`))
        return `process ${pid} was not started by this launcher`;
      if (!environment.includes(`RANK=${rank}`)) return `process ${pid} was not started as rank ${rank}`;
      if (!processes.isBelow(pid, started())) return `process ${pid} does not descend from a rank`;
    }
    const others = [...this.#connections].filter((one) => one !== asking);
    const isTaken = others.some(({ hello }) => hello?.rank === rank && hello.hook === hook);
    return isTaken ? `rank ${rank} has a hook "${hook}" already` : undefined;
  }

  #take({ rank, hook }: Hello, line: Line): void {
    const fact = line.cutBytes > 0 ? undefined : parseFact(line.bytes.toString('utf8'));
    if (fact === undefined) this.#garbage += 1;
    else if (hook === 'sitecustomize' && this.#selfReporting.has(rank) && ENGINES_OWN.includes(fact.kind)) return;
    else this.#options.onFact(rank, fact);
  }
}

interface ConnectionOptions {
  readonly helloMs: number;
  /** Who it is, or why it is not believed. */
  readonly onHello: (line: Line) => Hello | string;
  readonly onLine: (hello: Hello, line: Line) => void;
}

/** One connection, read no faster than it may speak. */
class Connection {
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #splitter = new LineSplitter(MAX_FACT_BYTES);
  readonly #pace = new TokenBucket({ perSecond: BYTES_PER_SECOND, burst: BURST_BYTES }, performance.now());
  #hello: Hello | undefined;
  #helloTimer: NodeJS.Timeout;
  #paceTimer: NodeJS.Timeout | undefined;
  #isHurried = false;
  #isRefused = false;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#helloTimer = setTimeout(() => this.close(), options.helloMs);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        clearTimeout(this.#helloTimer);
        clearTimeout(this.#paceTimer);
        resolve();
      });
    });
  }

  /** The accepted hello of the process; undefined before. */
  get hello(): Hello | undefined {
    return this.#hello;
  }

  /** Nothing more will come than is there. */
  hurry(): void {
    this.#isHurried = true;
    clearTimeout(this.#paceTimer);
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  ask(question: Question): void {
    if (this.#socket.writableLength < MAX_UNREAD_BYTES) this.#write(question);
  }

  #read(chunk: Buffer): void {
    const lines = this.#splitter.push(chunk);
    for (const line of lines) {
      if (this.#socket.destroyed || this.#isRefused) return;
      if (this.#hello === undefined) this.#begin(line);
      else this.#options.onLine(this.#hello, line);
    }
    this.#rest(Math.max(chunk.length, Math.max(1, lines.length) * LEAST_LINE_BYTES));
  }

  #begin(line: Line): void {
    const answer = this.#options.onHello(line);
    if (typeof answer === 'string') {
      this.#isRefused = true;
      this.#write({ kind: 'refused', why: answer });
      this.#socket.destroySoon();
      return;
    }
    clearTimeout(this.#helloTimer);
    this.#hello = answer;
    this.#write({ kind: 'welcome' });
  }

  #write(line: HelloAnswer | Question): void {
    this.#socket.write(`${JSON.stringify(line)}\n`);
  }

  #rest(bytes: number): void {
    const waitMs = this.#pace.borrow(performance.now(), bytes);
    if (waitMs === 0 || this.#isHurried) return;
    this.#socket.pause();
    this.#paceTimer = setTimeout(() => this.#socket.resume(), waitMs);
  }
}

function helloOf(line: Line): Hello | undefined {
  if (line.cutBytes > 0) return undefined;
  try {
    const parsed = Hello.safeParse(JSON.parse(line.bytes.toString('utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
