import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parentOf, sessionOf, stateOf } from './process-facts.ts';
import { LAUNCHER_ENV } from '../program/settings.ts';

/** Sends a signal to every process of a group; nothing happens when none is left. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: the group is gone, which is what the signal was for. EPERM cannot be helped.
  }
}

/** Living processes of the session that `leader` began, without the leader. */
export function processesOfSession(leader: number): readonly number[] {
  return realTable.ids().filter((pid) => pid !== leader && sessionOf(pid) === leader && stateOf(pid) !== 'Z');
}

/** Processes that `parent` started itself, and that were started with the variable. */
export function processesBelow(parent: number, variable: string): readonly number[] {
  return realTable
    .ids()
    .filter((pid) => parentOf(pid) === parent && `\0${realTable.environmentOf(pid)}`.includes(`\0${variable}=`));
}

/** The running processes that `parent` started itself as ranks, by rank. One that has ended shows no variables. */
export function ranksBelow(parent: number): ReadonlyMap<number, number> {
  return new Map(
    processesBelow(parent, 'RANK').flatMap((pid) => {
      const [, rank] = /\0RANK=(\d{1,9})\0/.exec(`\0${realTable.environmentOf(pid)}\0`) ?? [];
      return rank === undefined ? [] : [[Number(rank), pid] as const];
    }),
  );
}

/** The processes of this container, from /proc. */
export interface ProcessTable {
  ids(): readonly number[];
  /** Empty for one that has ended, is about to, or is being replaced by another program at this moment. */
  environmentOf(pid: number): string;
  /** Whether it has ended, be it that nobody has asked how. */
  hasEnded(pid: number): boolean;
  kill(pid: number): void;
  monotonicMs(): number;
  pause(ms: number): Promise<void>;
}

/** What is killed is gone within milliseconds, or within seconds where it has much memory to give back; after that it hangs in the kernel. */
const STRAYS_MS = 10_000;
const LOOK_AGAIN_MS = 10;
/** A process that forks or execs during a search is found by the next one. */
const QUIET_LOOKS = 2;

function toVariable(mark: string): string {
  return `${LAUNCHER_ENV.bootId}=${mark}`;
}

/**
 * Ends with SIGKILL every process that this launcher started with one of these marks (`COXSWAIN_BOOT_ID`), also those that left its process group, and waits until they have ended. A daemon keeps
 * the environment of its start, and with it the launcher's mark. False if a process does not end. A process that clears its environment escapes,
 * until the container ends.
 */
export async function endStrays(marks: readonly string[], table: ProcessTable = realTable): Promise<boolean> {
  const variables = marks.map(toVariable);
  const isMarked = (pid: number): boolean => {
    const environment = table.environmentOf(pid);
    return variables.some((variable) => environment.includes(variable));
  };
  const untilMs = table.monotonicMs() + STRAYS_MS;
  let dying: readonly number[] = [];
  for (let quiet = 0; quiet < QUIET_LOOKS;) {
    const found = table.ids().filter(isMarked);
    for (const pid of found) table.kill(pid);
    // One that has given back its memory shows no mark any more, and may hold its files and devices still.
    dying = [...new Set([...dying, ...found])].filter((pid) => !table.hasEnded(pid));
    quiet = dying.length === 0 ? quiet + 1 : 0;
    if (table.monotonicMs() >= untilMs) break;
    await table.pause(LOOK_AGAIN_MS);
  }
  return dying.length === 0;
}

/**
 * Ends the ranks if the launcher itself is killed with SIGKILL, when none of its code can run. A shell reads the numbers of process groups from a
 * pipe. If the pipe breaks, it kills the groups, and then the processes that carry the launcher's mark. If the image has no /bin/sh or no grep, the
 * container's end does the same.
 */
export class Guard {
  readonly #shell: ChildProcess;

  constructor({ marks, directory }: { readonly marks: readonly string[]; readonly directory: string }) {
    // To grep, each line is a pattern.
    const patterns = marks.map(toVariable).join('\n');
    this.#shell = spawn('/bin/sh', ['-c', GUARD_SCRIPT, patterns, directory], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    });
    this.#shell.on('error', () => undefined);
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
  }

  watch(group: number): void {
    this.#shell.stdin?.write(`${group}\n`);
  }

  /** The ranks are gone and their numbers may soon belong to others. */
  dismiss(): void {
    this.#shell.kill('SIGKILL');
    this.#shell.stdin?.destroy();
  }
}

/**
 * Kills process groups first. Then it finds processes that left their group, as torchrun's workers do, by the mark. It repeats that while there are
 * any, because they may start others.
 */
const GUARD_SCRIPT = [
  'mark=$0; directory=$1; shift',
  'while read -r group; do set -- "$@" "-$group"; done',
  '[ $# -eq 0 ] || kill -s KILL -- "$@"',
  'looks=0',
  // Its exit status says that some of the files cannot be read, whether or not it found any.
  'while files=$(grep -lsF -- "$mark" /proc/[0-9]*/environ); [ -n "$files" ] && [ $looks -lt 20 ]; do',
  'for file in $files; do pid=${file#/proc/}; kill -s KILL "${pid%/environ}"; done',
  'looks=$((looks + 1))',
  'done',
  'rm -rf -- "$directory"',
].join('\n');

const realTable: ProcessTable = {
  ids() {
    try {
      return readdirSync('/proc')
        .map(Number)
        .filter((pid) => Number.isInteger(pid) && pid > 1 && pid !== process.pid);
    } catch {
      return [];
    }
  },
  environmentOf: (pid) => procFile(pid, 'environ') ?? '',
  hasEnded(pid) {
    const state = procFile(pid, 'stat');
    return state === undefined || /\) [ZX] /.test(state);
  },
  kill(pid) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  },
  monotonicMs: () => performance.now(),
  pause: (ms) => delay(ms),
};

function procFile(pid: number, name: 'environ' | 'stat'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}
