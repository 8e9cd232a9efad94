import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { POD_ENV, TerminationCause } from '@coxswain/api-types';
import { LAUNCHER_ENV } from '../program/settings.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));
/** From its source, as tests run it: the built executable has a test of its own. */
const FROM_SOURCE = [process.execPath, '--disable-warning=ExperimentalWarning', MAIN];

const TELL_FACTS = fileURLToPath(new URL('tell-facts.ts', import.meta.url));
/** What a script writes to descriptor 3 is told as facts, all of it before the script has ended. */
const FACTS_ON_3 = [
  'mkfifo "facts-of-$RANK"',
  `NODE_OPTIONS= '${process.execPath}' --disable-warning=ExperimentalWarning '${TELL_FACTS}' < "facts-of-$RANK" & told=$!`,
  'exec 3> "facts-of-$RANK"',
  `trap 'exec 3>&-; wait $told' EXIT`,
  '',
].join('\n');

export interface Start {
  /** Program of a rank, or a script for /bin/sh, which may write facts to descriptor 3. */
  readonly engine: string | readonly string[];
  /** Where it reports, with the authority's certificate. */
  readonly operators: { readonly urls: readonly string[]; readonly ca: string };
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly launcher?: readonly string[];
  /** Leaves the launcher's output unread. */
  readonly isUnread?: boolean;
}

/** A pod's launcher under test, in a temporary directory of its own. */
export class LauncherProcess {
  readonly directory = mkdtempSync(join(tmpdir(), 'launcher-'));
  readonly child: ChildProcess;
  readonly exited: Promise<number>;
  #stdout = Buffer.alloc(0);
  #stderr = '';

  constructor(start: Start) {
    const [program = '', ...args] = start.launcher ?? FROM_SOURCE;
    const engine = typeof start.engine === 'string' ? ['/bin/sh', '-c', scriptOf(start.engine)] : start.engine;
    writeFileSync(join(this.directory, 'token'), 'a-token');
    this.child = spawn(program, [...args, 'run', '--', ...engine], {
      cwd: this.directory,
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        ...aPod(this.directory),
        ...reporting(start.operators),
        ...start.environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (start.isUnread !== true) this.read();
    this.child.stderr?.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()));
    this.exited = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve(signal === null ? (code ?? -1) : -1));
    });
  }

  get stdout(): Buffer {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  read(): void {
    this.child.stdout?.on('data', (chunk: Buffer) => (this.#stdout = Buffer.concat([this.#stdout, chunk])));
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /** Content of a file that a rank wrote into its working directory; undefined while there is none. */
  written(name: string): string | undefined {
    return existsSync(this.path(name)) ? readFileSync(this.path(name), 'utf8').trim() || undefined : undefined;
  }

  /** The termination message, which must fit the contract. */
  cause(): TerminationCause {
    return TerminationCause.parse(JSON.parse(readFileSync(this.path('termination'), 'utf8')));
  }

  async dispose(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.exited;
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function scriptOf(engine: string): string {
  return engine.includes('>&3') ? `${FACTS_ON_3}${engine}` : engine;
}

function reporting({ urls, ca }: Start['operators']): Record<string, string> {
  return { [POD_ENV.reportUrls]: urls.join(','), [POD_ENV.reportCa]: ca };
}

function aPod(directory: string): Record<string, string> {
  return {
    [POD_ENV.jobName]: 'job',
    [POD_ENV.jobUid]: 'job-uid',
    [POD_ENV.namespace]: 'default',
    [POD_ENV.podName]: 'job-e1-0',
    [POD_ENV.podUid]: 'pod-uid',
    [POD_ENV.podIp]: '127.0.0.1',
    [POD_ENV.nodeName]: 'node-2',
    [POD_ENV.podIndex]: '0',
    [POD_ENV.epoch]: '1',
    [POD_ENV.tokenFile]: join(directory, 'token'),
    [POD_ENV.checkpointMount]: directory,
    [POD_ENV.gracePeriodSeconds]: '30',
    [LAUNCHER_ENV.terminationLog]: join(directory, 'termination'),
  };
}

/** Whether a process is there and not merely waiting to be reaped. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
