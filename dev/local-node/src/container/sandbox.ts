import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import type { Bind, MountMode } from './mount-plan.ts';

/** One run of one container. */
export interface ContainerRun {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly logPath: string;
  readonly mounts?: {
    readonly as: 'root' | 'user';
    /** An empty folder on which the container's root is built; nothing of it is seen from outside. */
    readonly at: string;
    readonly image?: string;
    readonly binds: readonly Bind[];
  };
}

/** How a container ended: by itself with a code, or by a signal. */
export type ContainerExit =
  { readonly code: number; readonly signal: null } | { readonly code: null; readonly signal: number };

/** A running container, or why it could not be started. */
export type StartedContainer =
  | { readonly kind: 'started'; readonly pid: number; readonly exited: Promise<ContainerExit> }
  | { readonly kind: 'failed'; readonly message: string };

const SCRIPT = join(import.meta.dirname, 'sandbox.py');
const SIGKILL = 9;

interface Answer {
  readonly id?: string;
  readonly started?: number;
  readonly failed?: string;
  readonly code?: number | null;
  readonly signal?: number | null;
}

interface Waiting {
  readonly started: PromiseWithResolvers<StartedContainer>;
  readonly exited: PromiseWithResolvers<ContainerExit>;
}

/** The pause container of one pod; `sandbox.py` says how it keeps its promises. */
export class Sandbox {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<string, Waiting>();
  /** Resolves when the sandbox and all its containers are gone. */
  readonly closed: Promise<void>;

  constructor() {
    this.#process = spawn('python3', ['-I', '-S', SCRIPT], {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true, // Ctrl-C on the terminal is for the agent; it ends its pods in order.
      env: { PATH: process.env['PATH'] },
    });
    this.#process.stdin.on('error', () => undefined); // It has been killed; `closed` tells.
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#hear(JSON.parse(line) as Answer));
    const closed = Promise.withResolvers<void>();
    this.#process.once('error', () => this.#process.stdout.destroy());
    this.#process.once('close', () => {
      this.#end();
      closed.resolve();
    });
    this.closed = closed.promise;
  }

  /** Process id of the sandbox; undefined when Python could not be started. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  start(id: string, run: ContainerRun): Promise<StartedContainer> {
    const waiting = {
      started: Promise.withResolvers<StartedContainer>(),
      exited: Promise.withResolvers<ContainerExit>(),
    };
    if (!this.#process.stdin.writable) {
      return Promise.resolve({ kind: 'failed', message: 'the sandbox of the pod is gone (is python3 on PATH?)' });
    }
    this.#waiting.set(id, waiting);
    this.#order({
      start: id,
      argv: run.argv,
      env: run.env,
      cwd: run.cwd,
      log: run.logPath,
      mounts: run.mounts ?? null,
    });
    return waiting.started.promise;
  }

  /** To the container's first process alone, as container runtimes do. */
  signal(id: string, number: number): void {
    this.#order({ signal: id, number });
  }

  /** SIGKILL to every process of the container. */
  kill(id: string): void {
    this.#order({ kill: id });
  }

  /** Kills what is left of the pod and waits until it is gone. */
  close(): Promise<void> {
    this.#process.stdin.end();
    return this.closed;
  }

  #order(order: object): void {
    if (this.#process.stdin.writable) {
      this.#process.stdin.write(`${JSON.stringify(order)}\n`);
    }
  }

  #hear(answer: Answer): void {
    const waiting = answer.id === undefined ? undefined : this.#waiting.get(answer.id);
    if (waiting === undefined || answer.id === undefined) {
      return;
    }
    if (answer.failed !== undefined) {
      waiting.started.resolve({ kind: 'failed', message: answer.failed });
    } else if (answer.started !== undefined) {
      waiting.started.resolve({ kind: 'started', pid: answer.started, exited: waiting.exited.promise });
      return;
    }
    waiting.exited.resolve(
      typeof answer.code === 'number'
        ? { code: answer.code, signal: null }
        : { code: null, signal: answer.signal ?? SIGKILL },
    );
    waiting.started.resolve({ kind: 'failed', message: 'the keeper of the container was killed' });
    this.#waiting.delete(answer.id);
  }

  #end(): void {
    for (const { started, exited } of this.#waiting.values()) {
      started.resolve({ kind: 'failed', message: 'the sandbox of the pod is gone (is python3 on PATH?)' });
      exited.resolve({ code: null, signal: SIGKILL });
    }
    this.#waiting.clear();
  }
}

/** The best way of mounting that works here: as root, else in a user namespace, else none. */
export function findMountMode(scratchFolder: string): MountMode {
  const modes: readonly ('root' | 'user')[] = process.getuid?.() === 0 ? ['root', 'user'] : ['user'];
  return modes.find((mode) => canMount(mode, scratchFolder)) ?? 'rewrite';
}

function canMount(mode: 'root' | 'user', scratchFolder: string): boolean {
  const folder = join(scratchFolder, `probe-${mode}`);
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync('python3', ['-I', '-S', SCRIPT, 'probe', mode, folder], { stdio: 'ignore' });
  rmSync(folder, { recursive: true, force: true });
  return status === 0;
}
