import { memoryError } from './planner-errors.ts';

/** How a process ended, as the system tells it. */
export interface ProcessExit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of what it wrote there. */
  readonly stderr: string;
}

/**
 * V8 aborts a process whose heap is full: by SIGABRT where an allocation found no room, by SIGTRAP or SIGILL where a single one was larger than
 * anything that it can hold. SIGKILL is sent by the process's own watch (`watch.ts`), or by the kernel, to whoever took the last of the memory.
 */
const SIGNALS_OF_FULL_MEMORY: ReadonlySet<NodeJS.Signals | null> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL']);
/** The same where something between the kernel and this process has made an exit code of the signal. */
const CODES_OF_FULL_MEMORY: ReadonlySet<number | null> = new Set([132, 133, 134, 137]);
const WORDS_OF_FULL_MEMORY = /heap out of memory|invalid size error|allocation failed|bad_alloc/i;

/** What whoever asked is told of a search whose process has ended without an answer. */
export function exitError(death: ProcessExit, heapMib: number): Error {
  const { exitCode, signal, stderr } = death;
  const end = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
  const lastWords = stderr.trim();
  const cause = new Error(`the process of the planner ${end}${lastWords === '' ? '' : `: ${lastWords}`}`);
  const isFull =
    SIGNALS_OF_FULL_MEMORY.has(signal) || CODES_OF_FULL_MEMORY.has(exitCode) || WORDS_OF_FULL_MEMORY.test(stderr);
  if (isFull) return memoryError(heapMib, { cause });
  return new Error('the search failed', { cause });
}
