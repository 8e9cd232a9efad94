import { memoryError } from './planner-errors.ts';

/** How a process ended. */
export interface ProcessExit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last part of its standard error. */
  readonly stderr: string;
}

/**
 * V8 aborts a process whose heap is full: by SIGABRT if an allocation fails, by SIGTRAP or SIGILL if one allocation exceeds the maximum size. SIGKILL is sent by
 * the process's own watch (`watch.ts`), or by the kernel if memory runs out.
 */
const SIGNALS_OF_FULL_MEMORY: ReadonlySet<NodeJS.Signals | null> = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL']);
/** The same signals as exit codes, as shells report them. */
const CODES_OF_FULL_MEMORY: ReadonlySet<number | null> = new Set([132, 133, 134, 137]);
const MESSAGES_OF_FULL_MEMORY = /heap out of memory|invalid size error|allocation failed|bad_alloc/i;

/** The error of a question whose process ended without an answer. */
export function exitError(exit: ProcessExit, heapMib: number): Error {
  const { exitCode, signal, stderr } = exit;
  const end = signal === null ? `exited with code ${exitCode}` : `was killed by ${signal}`;
  const lastOutput = stderr.trim();
  const cause = new Error(`the planner process ${end}${lastOutput === '' ? '' : `: ${lastOutput}`}`);
  const isFull =
    SIGNALS_OF_FULL_MEMORY.has(signal) || CODES_OF_FULL_MEMORY.has(exitCode) || MESSAGES_OF_FULL_MEMORY.test(stderr);
  if (isFull) return memoryError(heapMib, { cause });
  return new Error('the search failed', { cause });
}
