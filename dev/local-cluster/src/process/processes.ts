import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import { GiveUp, waitFor } from './wait.ts';

/** A program to run under supervision. */
export interface ProcessSpec {
  /** What people call it; used in errors. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the program; that of this process unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Its output and errors are appended here; both go to this process's standard error if not given. */
  readonly logPath?: string;
  /** What must be true before it counts as started. */
  readonly ready?: { readonly check: () => boolean | Promise<boolean>; readonly deadlineMs: number };
  /** Run as this user; only when this process is root. */
  readonly user?: string;
  /** The polite way to end it; SIGTERM by default. */
  readonly stopSignal?: NodeJS.Signals;
  /** How long the tree may take to end politely after this process died; 3 s by default. */
  readonly orphanGraceMs?: number;
}

/** How a program ended: a code, or the signal that killed it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that runs, or ran, under supervision. */
export interface ProcessHandle {
  readonly name: string;
  /** Of the program itself, not of its supervisor. */
  readonly pid: number;
  /** `/dev/stderr` when none was given. */
  readonly logPath: string;
  /** Resolves when the program and all its descendants are gone. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal to the program alone. Does nothing once it has ended. */
  signal(signal: NodeJS.Signals): void;
  /** Stop signal to the program, SIGKILL to the whole tree after `graceMs` (10 s by default; 0 kills at once). */
  stop(options?: { readonly graceMs?: number }): Promise<ProcessExit>;
}

const STANDARD_ERROR = '/dev/stderr';
const SUPERVISOR = join(import.meta.dirname, 'supervise.py');
const DEFAULT_GRACE_MS = 10_000;
const LEFTOVER_GRACE_MS = 2_000;

/**
 * Starts a program such that neither it nor any process it starts, detached or not, outlives this process, whatever
 * way this process ends. Rejects when it cannot be started or ends before it is ready; the error then holds the last
 * lines of its log.
 */
export async function startProcess(spec: ProcessSpec): Promise<ProcessHandle> {
  if (spec.logPath !== undefined) {
    mkdirSync(dirname(spec.logPath), { recursive: true });
  }
  const handle = await launch(spec);
  if (spec.ready !== undefined) {
    await becomeReady(handle, spec.ready);
  }
  return handle;
}

async function launch(spec: ProcessSpec): Promise<ProcessHandle> {
  const supervisor = spawn(pythonPath(), ['-I', '-S', SUPERVISOR, JSON.stringify(supervisorSpec(spec))], {
    env: { ...(spec.env ?? process.env) },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // Ctrl-C on the terminal reaches us alone; we end our programs in order.
  });
  supervisor.stdin.on('error', () => undefined); // The program has ended: there is nobody left to order about.
  const answers = readAnswers(supervisor);
  const started = await answers.started;
  if ('error' in started) {
    throw new Error(`${spec.name} could not be started (${spec.command}): ${started.error}`);
  }
  return new SupervisedProcess({ spec, pid: started.pid, exited: answers.exited, orders: supervisor.stdin });
}

type Started = { readonly pid: number } | { readonly error: string };
type Supervisor = ChildProcessByStdio<Writable, Readable, null>;

function readAnswers(supervisor: Supervisor): { started: Promise<Started>; exited: Promise<ProcessExit> } {
  let exit: ProcessExit = { code: null, signal: 'SIGKILL' }; // What happens when the supervisor itself is killed.
  const started = Promise.withResolvers<Started>();
  const exited = Promise.withResolvers<ProcessExit>();
  createInterface({ input: supervisor.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as Started | { exit: { code: number | null; signal: number | null } };
    if ('exit' in answer) {
      exit = { code: answer.exit.code, signal: signalName(answer.exit.signal) };
    } else {
      started.resolve(answer);
    }
  });
  supervisor.once('error', (error) => started.resolve({ error: `python3 does not start: ${error.message}` }));
  supervisor.once('close', () => {
    started.resolve({ error: 'its supervisor ended' });
    exited.resolve(exit);
  });
  return { started: started.promise, exited: exited.promise };
}

function supervisorSpec(spec: ProcessSpec): object {
  return {
    command: spec.command,
    args: spec.args,
    cwd: spec.cwd,
    log: spec.logPath,
    user: process.getuid?.() === 0 ? spec.user : undefined,
    stopSignal: constants.signals[spec.stopSignal ?? 'SIGTERM'],
    orphanGraceMs: spec.orphanGraceMs ?? 3_000,
    leftoverGraceMs: LEFTOVER_GRACE_MS,
  };
}

class SupervisedProcess implements ProcessHandle {
  readonly name: string;
  readonly pid: number;
  readonly logPath: string;
  readonly exited: Promise<ProcessExit>;
  readonly #orders: Writable;

  constructor(parts: { spec: ProcessSpec; pid: number; exited: Promise<ProcessExit>; orders: Writable }) {
    this.name = parts.spec.name;
    this.pid = parts.pid;
    this.logPath = parts.spec.logPath ?? STANDARD_ERROR;
    this.exited = parts.exited;
    this.#orders = parts.orders;
  }

  signal(signal: NodeJS.Signals): void {
    this.#order(`signal ${constants.signals[signal]}`);
  }

  stop(options: { readonly graceMs?: number } = {}): Promise<ProcessExit> {
    this.#order(`stop ${options.graceMs ?? DEFAULT_GRACE_MS}`);
    return this.exited;
  }

  #order(line: string): void {
    if (this.#orders.writable) {
      this.#orders.write(`${line}\n`);
    }
  }
}

async function becomeReady(handle: ProcessHandle, ready: NonNullable<ProcessSpec['ready']>): Promise<void> {
  const state: { exit?: ProcessExit } = {};
  void handle.exited.then((exit) => (state.exit = exit));
  try {
    await waitFor(
      async () => {
        if (state.exit !== undefined) {
          throw new GiveUp(`${handle.name} ended (${describeExit(state.exit)}) before it was ready`);
        }
        return await ready.check();
      },
      { deadlineMs: ready.deadlineMs, what: `${handle.name} to be ready` },
    );
  } catch (error) {
    await handle.stop({ graceMs: 0 });
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${why}\nThe end of ${handle.logPath}:\n${lastLines(handle.logPath)}`, { cause: error });
  }
}

/** "exit code 1" or "killed by SIGKILL". */
export function describeExit(exit: ProcessExit): string {
  return exit.signal === null ? `exit code ${exit.code}` : `killed by ${exit.signal}`;
}

/** The last `count` lines of a file, read from its end; empty when there is none. */
export function lastLines(path: string, count = 20): string {
  if (path === STANDARD_ERROR || !existsSync(path)) {
    return '';
  }
  const file = openSync(path, 'r');
  try {
    const bytes = fstatSync(file).size;
    const buffer = Buffer.alloc(Math.min(bytes, 64 * 1024));
    readSync(file, buffer, 0, buffer.length, bytes - buffer.length);
    return buffer.toString('utf8').trimEnd().split('\n').slice(-count).join('\n');
  } finally {
    closeSync(file);
  }
}

/** Where `command` is on PATH, or undefined. */
export function onPath(command: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':').filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, command)).find((path) => existsSync(path));
}

/** Any Python 3 will do for the supervisor; the system's own starts faster than a version manager's wrapper. */
function pythonPath(): string {
  const path = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : onPath('python3');
  if (path === undefined) {
    throw new Error('python3 is not on PATH; install Python 3.11 or later (Debian, Ubuntu: apt install python3)');
  }
  return path;
}

function signalName(number: number | null): NodeJS.Signals | null {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return number === null || found === undefined ? null : (found[0] as NodeJS.Signals);
}
