import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { LAUNCHER_ENV } from './settings.ts';

/** Sends a signal to every process of a group; nothing happens when none is left. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: the group is gone, which is what the signal was for. EPERM cannot be helped.
  }
}

/**
 * Ends with SIGKILL what this launcher started and what left its process group since: a daemon keeps the environment that it was
 * started with, and with it the launcher's mark. Gives how many were found. What clears its environment escapes; the container's end
 * catches it.
 */
export function killStrays(bootId: string): number {
  const mark = `${LAUNCHER_ENV.bootId}=${bootId}`;
  const killed = new Set<number>();
  // A process that forks while it is looked for is found in the next round.
  for (let round = 0; round < 10; round += 1) {
    const found = processIds().filter((pid) => !killed.has(pid) && environmentOf(pid).includes(mark));
    if (found.length === 0) break;
    for (const pid of found) {
      killed.add(pid);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
  }
  return killed.size;
}

/**
 * Ends the ranks when the launcher itself is killed with SIGKILL, where no code of its own can run: a shell that reads the numbers of
 * process groups from a pipe and kills them when the pipe breaks. Where the image has no /bin/sh the container's end does the same.
 */
export class Guard {
  readonly #shell: ChildProcess;

  constructor() {
    this.#shell = spawn('/bin/sh', ['-c', GUARD_SCRIPT], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: {},
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

const GUARD_SCRIPT = 'while read -r group; do set -- "$@" "-$group"; done; [ $# -eq 0 ] || kill -s KILL -- "$@"';

function processIds(): readonly number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid > 1 && pid !== process.pid);
  } catch {
    return [];
  }
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}
