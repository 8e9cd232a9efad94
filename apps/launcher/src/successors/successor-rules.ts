/** Which ranks can have a successor: a second process that has imported PyTorch and takes over if the ranks restart in this pod. */
import { basename } from 'node:path';
import type { EngineRun } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';
import type { MemoryNow } from '../processes/memory-use.ts';

/** Memory of its own that one successor may use. PyTorch for CPUs takes 300 MB of it, and libraries more. */
export const SUCCESSOR_BYTES = 2 ** 30;
/** If less than this is left below the limit while successors wait, they end: the ranks come first. */
const LEAST_ROOM_BYTES = 2 ** 29;

const FIELD = 'restartPolicy.preloadPyTorch';
const PYTHON = /^python(\d+(\.\d+)*t?)?$/;
/** Options of Python under which it loads no hook. */
const WITHOUT_HOOK = /[IES]/;
const WITH_VALUE = new Set(['W', 'X']);
const STARTERS = new Set(['torch.distributed.run', 'torch.distributed.launch']);

/** A command of Python, divided where the arguments of the program begin. */
export interface PythonCommand {
  /** Python, its options and the program. They cannot change in a process that runs. */
  readonly start: readonly string[];
  readonly args: readonly string[];
}

/** The command, or why its ranks can have no successors. */
export type ParsedCommand = { readonly python: PythonCommand } | { readonly why: string };

/** Reads a command of Python as Python does. */
export function parsePython(command: readonly string[], startedBy: EngineRun['startedBy']): ParsedCommand {
  if (startedBy !== 'launcher') return { why: `${startedBy} starts the ranks; leave engine.startedBy out` };
  const [program = '', ...words] = command;
  if (!PYTHON.test(basename(program)))
    return { why: `the command begins with ${program}, and must begin with python; a shell would run its lines twice` };
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) return endAt(command, at);
    const option = readOption(word);
    if (option === undefined) return { why: `its option ${word} is not known to the launcher` };
    const without = WITHOUT_HOOK.exec(option.flags)?.[0];
    if (without !== undefined) return { why: `python -${without} loads no hook` };
    const hasValue = option.last !== undefined && !option.isJoined;
    if (option.last === 'm' && STARTERS.has(option.isJoined ? option.value : (words[at + 1] ?? '')))
      return { why: 'torchrun starts the ranks; let the launcher start them' };
    if (option.last === 'm' || option.last === 'c') return endAt(command, hasValue ? at + 1 : at);
    if (hasValue) at += 1;
  }
  return { why: 'it names no program' };
}

/** `at`: index behind Python of the word that is the program, or has its name. */
function endAt(command: readonly string[], at: number): ParsedCommand {
  if (at + 2 > command.length) return { why: 'it names no program' };
  return { python: { start: command.slice(0, at + 2), args: command.slice(at + 2) } };
}

interface Option {
  readonly flags: string;
  /** The option that takes a value; undefined: none does. */
  readonly last: string | undefined;
  readonly isJoined: boolean;
  readonly value: string;
}

/** One word of short options, such as `-u`, `-Bm` or `-Wignore`; undefined: another kind. */
function readOption(word: string): Option | undefined {
  if (!/^-[A-Za-z]/.test(word)) return undefined;
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    if (letter !== 'm' && letter !== 'c' && !WITH_VALUE.has(letter)) continue;
    const value = word.slice(at + 1);
    return { flags: word.slice(1, at), last: letter, isJoined: value !== '', value };
  }
  return { flags: word.slice(1), last: undefined, isJoined: false, value: '' };
}

/** Why so many successors do not fit; undefined: they do. `highestBytes`: the most that was used so far. */
export function memoryRefusal(
  memory: MemoryNow | undefined,
  { highestBytes, count }: { readonly highestBytes: number; readonly count: number },
): string | undefined {
  if (memory === undefined) return 'the memory limit of the pod cannot be read';
  const neededBytes = count * SUCCESSOR_BYTES;
  const roomBytes = memory.limitBytes - highestBytes;
  if (roomBytes >= neededBytes) return undefined;
  const remedy = memory.of === 'pod' ? 'raise resources.memoryPerGpu' : 'set resources.memoryPerGpu, on larger nodes';
  return `${count === 1 ? 'one needs' : `${count} need`} ${formatBytes(neededBytes)} of memory. The ranks used up to ${formatBytes(highestBytes)} so far, and the ${memory.of} has ${formatBytes(memory.limitBytes)}; ${remedy}`;
}

/** Whether successors that wait have to end so that ranks do not run out of memory. */
export function isMemoryShort(memory: MemoryNow | undefined): boolean {
  return memory !== undefined && memory.limitBytes - memory.usedBytes < LEAST_ROOM_BYTES;
}

/** The sentence for the log about ranks that restart without successors. */
export function formatRefusal(why: string): string {
  return `Ranks that restart import PyTorch anew, because no successors wait (${FIELD}): ${why}.`;
}
