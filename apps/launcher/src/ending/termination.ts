import { writeFileSync } from 'node:fs';
import { type CheckpointFault, MAX_TERMINATION_MESSAGE_BYTES, type TerminationCause } from '@coxswain/api-types';

const MAX_LINES = 20;
const MAX_LINE_CHARACTERS = 512;
const MAX_MESSAGE_CHARACTERS = 1024;
const MAX_UNREPORTED = 4;

/** Sequences for terminals (colours, titles), control characters, and what turns the direction of writing: none belongs in a resource's status. */
const CONTROL =
  /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\p{Bidi_Control}|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu;

/**
 * The cause as it may be sent and written: readable text, within the contract's bounds, and at most
 * {@link MAX_TERMINATION_MESSAGE_BYTES} as JSON. What must go goes in this order: the oldest lines, the end of the last
 * line, the end of the message, the oldest unreported checkpoints.
 */
export function fitCause(cause: TerminationCause): TerminationCause {
  let fitted: TerminationCause = {
    ...cause,
    message: cut(cause.message, MAX_MESSAGE_CHARACTERS),
    lastLines: cause.lastLines.slice(-MAX_LINES).map((line) => cut(line, MAX_LINE_CHARACTERS)),
    unreportedCheckpoints: cause.unreportedCheckpoints.slice(-MAX_UNREPORTED),
    ...(cause.checkpointFault === undefined ? {} : { checkpointFault: cleanFault(cause.checkpointFault) }),
  };
  while (bytesOf(fitted) > MAX_TERMINATION_MESSAGE_BYTES) fitted = smaller(fitted);
  return fitted;
}

/** Writes the cause to the termination message. Returns why it could not, which does not change how the launcher ends. */
export function writeTerminationMessage(path: string, cause: TerminationCause): string | undefined {
  return write(path, JSON.stringify(fitCause(cause)));
}

/** Empties the termination message of earlier ranks. Returns why it could not, like {@link writeTerminationMessage}. */
export function clearTerminationMessage(path: string): string | undefined {
  return write(path, '');
}

function write(path: string, text: string): string | undefined {
  try {
    // Synchronous, and over the old content without truncating first by a rename: the path is a bind mount.
    writeFileSync(path, text);
    return undefined;
  } catch (error) {
    return `The termination message cannot be written to ${path}: ${error instanceof Error ? error.message : String(error)}.`;
  }
}

function cleanFault(fault: CheckpointFault): CheckpointFault {
  const { kind, path, errno, expected, found } = fault;
  return {
    kind,
    path: cut(path, 256),
    ...(errno === undefined ? {} : { errno: cut(errno, 32) }),
    ...(expected === undefined ? {} : { expected: cut(expected, 128) }),
    ...(found === undefined ? {} : { found: cut(found, 128) }),
  };
}

function smaller(cause: TerminationCause): TerminationCause {
  const { lastLines, message, unreportedCheckpoints } = cause;
  const [onlyLine] = lastLines;
  if (lastLines.length > 1) return { ...cause, lastLines: lastLines.slice(1) };
  if (onlyLine !== undefined && onlyLine.length > 64) {
    return { ...cause, lastLines: [cut(onlyLine, Math.floor(onlyLine.length / 2))] };
  }
  if (message.length > 128) return { ...cause, message: cut(message, Math.floor(message.length / 2)) };
  if (unreportedCheckpoints.length > 1) return { ...cause, unreportedCheckpoints: unreportedCheckpoints.slice(1) };
  return { ...cause, lastLines: [], message: cut(message, 64) };
}

function cut(text: string, characters: number): string {
  const clean = text.replace(CONTROL, '').toWellFormed();
  if (clean.length <= characters) return clean;
  return `${clean
    .slice(0, characters - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`;
}

function bytesOf(cause: TerminationCause): number {
  return Buffer.byteLength(JSON.stringify(cause));
}
