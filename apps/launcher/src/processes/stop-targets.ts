/** Which processes of a rank receive SIGTERM, so that the program that trains gets it once and nothing that a save needs is ended? */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { parentOf } from './process-facts.ts';

/** What is known of processes, read at the moment of the signal. */
export interface ProcessTree {
  childrenOf(pid: number): readonly number[];
  /** Whether the process runs a shell. A shell does not forward SIGTERM to the command that it waits for. */
  isShell(pid: number): boolean;
  /** Whether it has a handler for SIGTERM, or blocks it to read it in another way. */
  handlesStop(pid: number): boolean;
}

/** The processes to signal. */
export interface StopTargets {
  readonly pids: readonly number[];
  /** Of these, those without a handler for SIGTERM: the kernel ends them, and they save nothing. */
  readonly unhandled: number;
  /** The signal goes to processes below the one that the launcher started, so its exit code does not say how they ended. */
  readonly areBelow: boolean;
}

/**
 * - Processes in which the engine reports get the signal: they train. The rest of the tree gets none. A launcher such as torchrun would forward it
 *   and so send it twice; a worker of a data loader would end, and take the save with it.
 * - If none reports, a program other than a shell gets it and decides for its children.
 * - Of the programs that a shell has started, those with a handler get it. If there are none, a shell with a trap gets it. If there is neither,
 *   nothing would save, and the programs are ended.
 */
export function stopTargets(root: number, reporting: readonly number[], tree: ProcessTree = treeNow()): StopTargets {
  const pids = targetsOf(root, reporting, tree);
  const unhandled = pids.filter((pid) => !tree.handlesStop(pid)).length;
  return { pids, unhandled, areBelow: !pids.includes(root) };
}

function targetsOf(root: number, reporting: readonly number[], tree: ProcessTree): readonly number[] {
  const all = treeBelow(root, tree);
  const known = reporting.filter((pid) => all.includes(pid));
  if (known.length > 0) return [...new Set(known)];
  const { shells, programs } = behindShells(root, tree);
  const handling = programs.filter((pid) => tree.handlesStop(pid));
  if (handling.length > 0) return handling;
  const trapping = shells.find((pid) => tree.handlesStop(pid));
  if (trapping !== undefined) return [trapping];
  return programs.length > 0 ? programs : [root];
}

/** More than a rank has; what is read is read while the launcher does nothing else. */
const MOST_PROCESSES = 4_096;

/** Parents come before their children. */
function treeBelow(root: number, tree: ProcessTree): readonly number[] {
  const found = [root];
  for (let at = 0; at < found.length && found.length < MOST_PROCESSES; at += 1) {
    found.push(...tree.childrenOf(found[at] ?? 0).filter((pid) => !found.includes(pid)));
  }
  return found;
}

/** Shells from the root down, and the first programs behind them. */
function behindShells(
  root: number,
  tree: ProcessTree,
): { readonly shells: readonly number[]; readonly programs: readonly number[] } {
  if (!tree.isShell(root)) return { shells: [], programs: [root] };
  const below = tree.childrenOf(root).map((pid) => behindShells(pid, tree));
  return { shells: [root, ...below.flatMap(({ shells }) => shells)], programs: below.flatMap((one) => one.programs) };
}

/** Names of shells. */
export const SHELLS: ReadonlySet<string> = new Set([
  'sh',
  'bash',
  'dash',
  'ash',
  'ksh',
  'mksh',
  'zsh',
  'fish',
  'tcsh',
  'csh',
  'busybox',
]);
/** SIGTERM is signal 15, the 15th bit of the mask. */
const STOP_BIT = 1n << 14n;

/** The processes of this container as they are now: parents are read once, and the rest when it is asked for. */
function treeNow(): ProcessTree {
  const children = Map.groupBy(pidsNow(), parentOf);
  return {
    childrenOf: (pid) => children.get(pid) ?? [],
    isShell: (pid) => SHELLS.has(programOf(pid)),
    handlesStop(pid) {
      const masks = readProc(pid, 'status').matchAll(/^Sig(?:Cgt|Blk):\s*([0-9a-f]+)$/gm);
      return [...masks].some(([, mask]) => (BigInt(`0x${mask}`) & STOP_BIT) !== 0n);
    },
  };
}

/** The executable: a script that names its shell in the first line bears its own name, and runs the shell. */
function programOf(pid: number): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return readProc(pid, 'comm').trim();
  }
}

function pidsNow(): readonly number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid > 1);
  } catch {
    return [];
  }
}

function readProc(pid: number, name: 'status' | 'comm'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
