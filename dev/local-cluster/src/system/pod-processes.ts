import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Name of the file, in a pod's folder, that holds the process id of its sandbox while that runs. */
export const SANDBOX_PID_FILE = 'sandbox.pid';

/** A living process of a pod on a local node. */
export interface PodProcess {
  readonly pid: number;
  readonly parentPid: number;
  /** As `ps` shows it: at most 15 characters. */
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The processes of the pod with that UID, without those that the agent itself adds; empty when nothing runs. For tests
 * and demonstrations that kill one on purpose. `directory` is the agent's.
 */
export function listPodProcesses(directory: string, uid: string): PodProcess[] {
  const pods = join(directory, 'pods');
  const folder = existsSync(pods) ? readdirSync(pods).find((name) => name.endsWith(`_${uid}`)) : undefined;
  const file = folder === undefined ? undefined : join(pods, folder, SANDBOX_PID_FILE);
  if (file === undefined || !existsSync(file)) {
    return [];
  }
  const sandbox = Number(readFileSync(file, 'utf8'));
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
  const below = (parents: readonly number[]): PodProcess[] =>
    all.filter(({ parentPid }) => parents.includes(parentPid));
  const keepers = below([sandbox]).map(({ pid }) => pid);
  const found: PodProcess[] = [];
  for (let level = below(keepers); level.length > 0; level = below(level.map(({ pid }) => pid))) {
    found.push(...level);
  }
  return found;
}

function readProcess(pid: number): PodProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z') {
      return undefined;
    }
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    const env = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .filter((entry) => entry.includes('='))
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)] as const);
    return { pid, parentPid: Number(parent), name, argv, env: Object.fromEntries(env) };
  } catch {
    return undefined; // It has just ended.
  }
}
