import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SANDBOX_PID_FILE } from '@coxswain/local-cluster';
import type { Pod } from '../kube/kube-types.ts';

/** The folder with the files of one pod. Logs stay after the pod is deleted, for debugging. */
export class PodFolder {
  readonly path: string;

  constructor(directory: string, pod: Pod) {
    const { namespace, name, uid } = pod.metadata;
    this.path = join(directory, 'pods', `${namespace}_${name}_${uid}`);
  }

  get volumes(): string {
    return join(this.path, 'volumes');
  }

  create(): void {
    for (const folder of ['volumes', 'logs', 'termination', 'roots']) {
      mkdirSync(join(this.path, folder), { recursive: true });
    }
  }

  logPath(container: string, restart: number): string {
    const folder = join(this.path, 'logs', container);
    mkdirSync(folder, { recursive: true });
    return join(folder, `${restart}.log`);
  }

  /** The log of the newest run of `container`, or of the one before; undefined when there was none. */
  findLog(container: string, which: 'current' | 'previous'): string | undefined {
    const folder = join(this.path, 'logs', container);
    if (!existsSync(folder)) {
      return undefined;
    }
    const runs = readdirSync(folder)
      .map((file) => Number.parseInt(file, 10))
      .sort((a, b) => b - a);
    const run = which === 'current' ? runs[0] : runs[1];
    return run === undefined ? undefined : join(folder, `${run}.log`);
  }

  /** An empty file that the container may write its last words to. */
  terminationFile(container: string, restart: number): string {
    const path = join(this.path, 'termination', `${container}-${restart}`);
    writeFileSync(path, '', { mode: 0o666 });
    return path;
  }

  /** The folder on which the container's root is built. */
  rootOf(container: string): string {
    const path = join(this.path, 'roots', container);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** Keeps the process id of the pod's sandbox where other programs find it; undefined once it has ended. */
  recordSandbox(pid: number | undefined): void {
    const path = join(this.path, SANDBOX_PID_FILE);
    if (pid === undefined) {
      rmSync(path, { force: true });
    } else {
      writeFileSync(path, `${pid}\n`);
    }
  }

  /** Removes everything but the logs. */
  removeAllButLogs(): void {
    for (const folder of ['volumes', 'termination', 'roots']) {
      rmSync(join(this.path, folder), { recursive: true, force: true });
    }
  }
}
