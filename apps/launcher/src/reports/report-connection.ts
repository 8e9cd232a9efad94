// A little over 400 lines: one connection with its handshake, its queue and its ends.
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  LISTENS_TO_BACKGROUND_SAVES,
  LISTENS_TO_MARKS,
  LISTENS_TO_MEMORY_SAVES,
  LISTENS_TO_CONTENTS,
  LISTENS_TO_PROGRESS,
  LISTENS_TO_NOT_FINITE,
  MAX_REPORT_BYTES,
  type OperatorMessage,
  REPLICA_URL_HEADER,
  REPORT_PATH,
  UNREACHABLE_LEADER_HEADER,
  type LauncherMessage,
  type PodMarks,
  type PodStacks,
  type SavedCheckpoint,
  type StepReport,
} from '@coxswain/api-types';
import WebSocket from 'ws';
import { type Draft, type PendingReports, withoutInspection } from './pending-reports.ts';
import { ConnectFailures, text } from './connect-failures.ts';
import { parseOperatorMessage } from './parse-operator-message.ts';
import { isHttpsBase } from '../program/settings.ts';

/** When the leader of thousands dies, their handshakes queue for some seconds at the next one. */
const HANDSHAKE_MS = 10_000;
const PING_MS = 4_500;
/** How late a silence may be seen: thousands are to be welcome elsewhere 15 s after their leader’s death. */
const CHECK_MS = 1_000;
/** A healthy operator answers each ping; longer silence means that it or its node died. */
const SILENCE_MS = 10_000;
const FIRST_BACKOFF_MS = 200;
/** All launchers lose a leader at once. They reconnect spread over this time, in which no other leader exists yet anyway. */
const SPREAD_MS = 3_000;
const LONGEST_BACKOFF_MS = 5_000;
/** Of one message. */
const MAX_SKIPPED = 1_000_000;
/** Above this the kernel and the socket have enough to do; more waits in the pending reports, where it can be shed. */
const MAX_IN_FLIGHT_BYTES = 262_144;

/** Messages of the operator that direct the ranks, or distribute addresses of the gang. */
export type Order = Extract<
  OperatorMessage,
  {
    kind: 'rendezvous' | 'assignment' | 'verifyWanted' | 'endRanks' | 'saveWanted' | 'preflightBoard' | 'preflightDone';
  }
>;

/** The operator asks for the current stack traces of the ranks. */
export type StacksWanted = Omit<Extract<OperatorMessage, { kind: 'stacksWanted' }>, 'kind'>;

/** Addresses and credentials of the operator, the reports to send, and whom answers notify. */
export interface ReportConnectionOptions {
  readonly urls: readonly string[];
  /** PEM of the authority that signed the endpoint's certificate; the system's own when absent. */
  readonly ca: string | undefined;
  readonly tokenFile: string;
  readonly pending: PendingReports;
  /** First message of every connection. */
  readonly hello: Draft;
  readonly envelope: () => Pick<LauncherMessage, 'podUid' | 'epoch' | 'rendezvous' | 'state' | 'incarnation'>;
  /** The marks that the ranks have passed, as ages in milliseconds: they are as of the moment when a message is sent. */
  readonly marks: () => PodMarks;
  readonly onWelcome: () => void;
  /** The operator has announced which optional parts of messages it reads. */
  readonly onListens: () => void;
  /** The operator accepts this many steps per second. */
  readonly onPace: (stepsPerSecond: number) => void;
  /** Steps that are never reported, since the start. */
  readonly skippedSteps: () => number;
  readonly onOrder: (message: Order) => void;
  /** Must not reject. */
  readonly stacks: (wanted: StacksWanted) => Promise<PodStacks>;
  readonly onStaleEpoch: (message: string) => void;
  readonly logLine: (sentence: string) => void;
  /** In [0, 1): spreads the launchers of a gang over time. */
  readonly random: () => number;
}

type SessionEnd =
  /** Ended by us. */
  | { readonly kind: 'closed' }
  | { readonly kind: 'leaderElsewhere'; readonly url: string }
  | { readonly kind: 'lost'; readonly why: string; readonly wasWelcome: boolean };

/**
 * Keeps one WebSocket to the leading operator for as long as the launcher lives. Losing it is normal: training continues, and important reports stay
 * pending. Then it tries the next address: within 3 s if the lost connection was welcome, otherwise after a pause that doubles from 0.2 s to 5 s.
 */
export class ReportConnection {
  readonly #options: ReportConnectionOptions;
  readonly #closing = new AbortController();
  #socket: WebSocket | undefined;
  #isWelcome = false;
  #listensTo: readonly string[] = [];
  #lastListenedTo: readonly string[] = [];
  #wasEverWelcome = false;
  #whyUnreached: string | undefined;
  readonly #failures: ConnectFailures;
  #sequence = 0;
  #pace: Extract<OperatorMessage, { kind: 'pace' }> | undefined;
  #stepsDueAtMs = 0;
  #stepsTimer: NodeJS.Timeout | undefined;
  #reportedSkipped = 0;
  #isSettling = false;
  #lastComplaint = '';
  /** Where the last connection ended badly: a follower that still takes it for the leader is not to send us there again. */
  #lostLeader: string | undefined;
  #loop: Promise<void> = Promise.resolve();
  #onSettled: (() => void) | undefined;

  constructor(options: ReportConnectionOptions) {
    this.#options = options;
    this.#failures = new ConnectFailures(options.ca);
  }

  get isWelcome(): boolean {
    return this.#isWelcome;
  }

  /** Whether the operator at the other end reads that optional part of messages. */
  listensTo(part: string): boolean {
    return this.#isWelcome && this.#listensTo.includes(part);
  }

  /** The same of the operator that announced its parts last, connected or not: a termination message is read after the connection ends. */
  lastListenedTo(part: string): boolean {
    return this.#lastListenedTo.includes(part);
  }

  /** Why the last try failed; undefined before one did, and while an operator is connected. */
  get whyUnreached(): string | undefined {
    return this.#whyUnreached;
  }

  start(): void {
    this.#loop = this.#keepConnected();
  }

  /** Sends what waits, if there is a connection that takes it. */
  pump(): void {
    const { pending } = this.#options;
    while (this.#isWelcome && this.#socket !== undefined && this.#socket.bufferedAmount < MAX_IN_FLIGHT_BYTES) {
      const draft = pending.take(this.#sequence + 1, this.#howStepsGo());
      if (draft === undefined) return;
      const readable = this.#readable(draft);
      this.#send(this.#socket, readable.kind === 'steps' ? this.#noteGathered(readable) : readable);
    }
  }

  /** Removes optional parts that the connected operator does not read: a report may be sent to another operator than it was made for. */
  #readable(draft: Draft): Draft {
    if (draft.kind === 'checkpointSaved') return { ...draft, checkpoint: this.#readableSave(draft.checkpoint) };
    // A new leader gives out ranks as soon as it has heard all launchers, which may be before it has said what it reads.
    if (draft.kind === 'reaped' && !this.lastListenedTo(LISTENS_TO_MEMORY_SAVES)) {
      const { memorySaves: _, ...plain } = draft;
      return this.#withMarks(plain);
    }
    if (draft.kind === 'heartbeat' || draft.kind === 'reaped') return this.#withMarks(draft);
    if (this.listensTo(LISTENS_TO_NOT_FINITE)) return draft;
    const plain = ({ notFinite: _, ...report }: StepReport): StepReport => report;
    if (draft.kind === 'step') return { ...draft, report: plain(draft.report) };
    return draft.kind === 'steps' ? { ...draft, reports: draft.reports.map(plain) } : draft;
  }

  #withMarks(draft: Extract<Draft, { kind: 'heartbeat' | 'reaped' }>): Draft {
    return this.listensTo(LISTENS_TO_MARKS) ? { ...draft, marks: this.#options.marks() } : draft;
  }

  #readableSave(saved: SavedCheckpoint): SavedCheckpoint {
    if (!this.listensTo(LISTENS_TO_CONTENTS)) return withoutInspection(saved);
    const { progress, ...plain } = saved;
    if (progress === undefined || !this.listensTo(LISTENS_TO_PROGRESS)) return plain;
    const { duringWrite: _, ...known } = progress;
    return this.listensTo(LISTENS_TO_BACKGROUND_SAVES) ? saved : { ...plain, progress: known };
  }

  #howStepsGo(): 'each' | 'gathered' | 'later' {
    if (this.#pace === undefined) return 'each';
    const waitMs = this.#isSettling ? 0 : this.#stepsDueAtMs - performance.now();
    if (waitMs <= 0) return 'gathered';
    this.#stepsTimer ??= setTimeout(() => {
      this.#stepsTimer = undefined;
      this.pump();
    }, waitMs).unref();
    return 'later';
  }

  #noteGathered(draft: Extract<Draft, { kind: 'steps' }>): Draft {
    this.#stepsDueAtMs = performance.now() + (this.#pace?.gatherMs ?? 0);
    const skippedInAll = this.#options.skippedSteps();
    const skipped = Math.min(MAX_SKIPPED, skippedInAll - this.#reportedSkipped);
    this.#reportedSkipped = skippedInAll;
    return { ...draft, skipped };
  }

  /** Waits until everything important is acknowledged; false if `deadlineMs` passed first, or the connection is closed for good. */
  async settle(deadlineMs: number): Promise<boolean> {
    // Nothing more is worth gathering.
    this.#isSettling = true;
    this.pump();
    if (this.#options.pending.isSettled) return true;
    const { signal } = this.#closing;
    if (signal.aborted) return false;
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), deadlineMs);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve(false);
      });
      this.#onSettled = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#socket?.terminate();
    await this.#loop;
  }

  async #keepConnected(): Promise<void> {
    const { urls } = this.#options;
    let backoffMs = FIRST_BACKOFF_MS;
    let next = Math.floor(this.#options.random() * urls.length);
    let leader: string | undefined;
    while (!this.#closing.signal.aborted) {
      const url = leader ?? urls[next++ % urls.length] ?? '';
      const cameFromFollower = leader !== undefined;
      leader = undefined;
      const end = await this.#session(url);
      if (end.kind === 'closed') return;
      if (end.kind === 'leaderElsewhere' && !cameFromFollower) {
        leader = end.url;
        continue;
      }
      const why = end.kind === 'lost' ? end.why : `${url} and the leader that it named refer to each other`;
      this.#whyUnreached = why;
      const meanwhile = this.#wasEverWelcome ? 'Training continues' : 'No rank has started';
      this.#complain(`The operator cannot be reached: ${why}. ${meanwhile}; retrying.`);
      if (end.kind === 'lost' && end.wasWelcome) {
        backoffMs = FIRST_BACKOFF_MS;
        await this.#pause(SPREAD_MS * this.#options.random());
        continue;
      }
      await this.#pause(backoffMs * (0.5 + this.#options.random()));
      backoffMs = Math.min(LONGEST_BACKOFF_MS, backoffMs * 2);
    }
  }

  async #session(url: string): Promise<SessionEnd> {
    const { tokenFile, ca } = this.#options;
    let token: string;
    try {
      // Read for every connection: the kubelet renews it.
      token = (await readFile(tokenFile, 'utf8')).trim();
    } catch (error) {
      return { kind: 'lost', why: `the token file ${tokenFile} cannot be read (${text(error)})`, wasWelcome: false };
    }
    if (this.#closing.signal.aborted) return { kind: 'closed' };
    let socket: WebSocket;
    try {
      socket = new WebSocket(toWebSocketUrl(url), {
        headers: {
          authorization: `Bearer ${token}`,
          ...(this.#lostLeader === undefined ? {} : { [UNREACHABLE_LEADER_HEADER]: this.#lostLeader }),
        },
        handshakeTimeout: HANDSHAKE_MS,
        maxPayload: MAX_REPORT_BYTES,
        perMessageDeflate: false,
        ...(ca === undefined ? {} : { ca }),
      });
    } catch (error) {
      return { kind: 'lost', why: text(error), wasWelcome: false };
    }
    this.#socket = socket;
    try {
      return await this.#converse(socket, url);
    } finally {
      this.#isWelcome = false;
      this.#pace = undefined;
      this.#listensTo = [];
      this.#socket = undefined;
      socket.terminate();
    }
  }

  #converse(socket: WebSocket, url: string): Promise<SessionEnd> {
    return new Promise((resolve) => {
      let wasWelcome = false;
      let lastReceivedMs = performance.now();
      let lastPingMs = 0;
      let why = `${url} closed the connection`;
      const watch = setInterval(() => {
        const nowMs = performance.now();
        if (nowMs - lastReceivedMs > SILENCE_MS) {
          why = `${url} has been silent for ${SILENCE_MS / 1000} s`;
          socket.terminate();
        } else if (socket.readyState === WebSocket.OPEN && nowMs - Math.max(lastReceivedMs, lastPingMs) >= PING_MS) {
          lastPingMs = nowMs;
          socket.ping();
        }
      }, CHECK_MS);
      let replica = url;
      const end = (result: SessionEnd): void => {
        clearInterval(watch);
        if (result.kind === 'lost') this.#lostLeader = replica;
        resolve(result);
      };
      socket.on('upgrade', ({ headers }) => {
        const own = headers[REPLICA_URL_HEADER];
        if (typeof own === 'string') replica = own;
      });
      socket.on('open', () => this.#send(socket, this.#options.hello));
      socket.on('pong', () => {
        lastReceivedMs = performance.now();
      });
      socket.on('error', (error) => {
        why = `${url}: ${this.#failures.describe(error)}`;
      });
      socket.on('close', () => {
        end(this.#closing.signal.aborted ? { kind: 'closed' } : { kind: 'lost', why, wasWelcome });
      });
      socket.on('message', (data, isBinary) => {
        lastReceivedMs = performance.now();
        const message = isBinary ? undefined : parseOperatorMessage(String(data));
        if (message?.kind === 'welcome') wasWelcome = true;
        if (message?.kind === 'refused') end(this.#refused(message, { url, wasWelcome }));
        else if (message !== undefined) this.#receive(message);
      });
    });
  }

  #receive(message: Exclude<OperatorMessage, { kind: 'refused' }>): void {
    switch (message.kind) {
      case 'welcome':
        this.#isWelcome = true;
        this.#wasEverWelcome = true;
        this.#whyUnreached = undefined;
        this.#lostLeader = undefined;
        if (this.#lastComplaint !== '') this.#options.logLine('Connected to the operator again.');
        this.#lastComplaint = '';
        this.#options.pending.reconnected();
        this.#options.onWelcome();
        this.pump();
        return;
      case 'rendezvous':
      case 'assignment':
      case 'verifyWanted':
      case 'endRanks':
      case 'saveWanted':
      case 'preflightBoard':
      case 'preflightDone':
        this.#options.onOrder(message);
        return;
      case 'stacksWanted':
        void this.#answer(message);
        return;
      case 'pace':
        this.#pace = message;
        this.#options.onPace(message.stepsPerSecond);
        return;
      case 'listensTo':
        this.#listensTo = message.parts;
        this.#lastListenedTo = message.parts;
        this.#options.onListens();
        return;
      case 'ack':
        this.#options.pending.acknowledge(message.sequence);
        if (this.#options.pending.isSettled) this.#onSettled?.();
        return;
    }
  }

  /** Answers on the same connection only: on another one the operator asks again. */
  async #answer(wanted: StacksWanted): Promise<void> {
    const socket = this.#socket;
    const stacks = await this.#options.stacks(wanted);
    if (socket !== undefined && socket === this.#socket) this.#send(socket, { kind: 'stacks', stacks });
  }

  #refused(
    refusal: Extract<OperatorMessage, { kind: 'refused' }>,
    session: { readonly url: string; readonly wasWelcome: boolean },
  ): SessionEnd {
    const { code, leaderUrl, message } = refusal;
    if (code === 'staleEpoch') {
      this.#closing.abort();
      this.#options.onStaleEpoch(message);
      return { kind: 'closed' };
    }
    // Only to where a certificate of the same authority answers, but never in clear text.
    if (code === 'notLeader' && leaderUrl !== undefined && isHttpsBase(leaderUrl)) {
      return { kind: 'leaderElsewhere', url: leaderUrl.replace(/\/+$/, '') };
    }
    return { kind: 'lost', why: `${session.url} refused (${code}): ${message}`, wasWelcome: session.wasWelcome };
  }

  #send(socket: WebSocket, draft: Draft): void {
    this.#sequence += 1;
    const message = { ...this.#options.envelope(), ...draft, sequence: this.#sequence };
    socket.send(JSON.stringify(message), () => this.pump());
  }

  /** Logs a reason once, however often it occurs in a row. */
  #complain(sentence: string): void {
    if (sentence === this.#lastComplaint) return;
    this.#lastComplaint = sentence;
    this.#options.logLine(sentence);
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }
}

function toWebSocketUrl(base: string): string {
  const url = new URL(REPORT_PATH, base);
  url.protocol = 'wss:';
  return url.href;
}
