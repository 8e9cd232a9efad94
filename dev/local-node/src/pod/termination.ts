import type { Container } from '../kube/kube-types.ts';
import { lastBytes, logTail } from '../container/log-file.ts';
import type { ContainerExit } from '../container/sandbox.ts';

/** Limits of a termination message. Source: Container.terminationMessagePolicy in the core/v1 API reference. */
const MESSAGE_BYTES = 4096;
const FALLBACK_BYTES = 2048;
const FALLBACK_LINES = 80;

/** Exit code and reason as container runtimes report them: a signal counts as 128 plus its number. */
export function fieldsOfTermination(
  exit: ContainerExit,
  message: string,
): { readonly exitCode: number; readonly reason: string; readonly message?: string } {
  const exitCode = exit.signal === null ? exit.code : 128 + exit.signal;
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  return message === '' ? { exitCode, reason } : { exitCode, reason, message };
}

/** What the container wrote to its termination message file; else, if it failed and asks for it, the end of its log. */
export function terminationMessage(facts: {
  readonly container: Container;
  readonly exit: ContainerExit;
  readonly logPath: string;
  readonly written: Buffer;
}): string {
  const { container, exit, logPath, written } = facts;
  if (written.length > 0) {
    return written.subarray(0, MESSAGE_BYTES).toString('utf8');
  }
  const failed = exit.signal !== null || exit.code !== 0;
  const falls = container.terminationMessagePolicy === 'FallbackToLogsOnError' && failed;
  return falls ? lastBytes(logTail(logPath, FALLBACK_LINES, FALLBACK_BYTES), FALLBACK_BYTES) : '';
}
