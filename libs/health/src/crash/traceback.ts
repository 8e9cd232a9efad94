/** Did a program fail the same way before? What stays of a traceback when all that differs between two runs is taken out. */

/** `[rank3]: `, as torch writes it in front of each line. */
const RANK = /^(?:\[[^\]]{0,32}\]:? {0,1})?/;
/** `ValueError: ...`, `torch.OutOfMemoryError: ...`, `AssertionError`. */
const ERROR = /^(?:[A-Za-z_]\w{0,63}\.){0,8}[A-Za-z_]\w{0,63}(?:Error|Exception|Interrupt|Exit)(?::|$)/;
/** `  File "/app/train.py", line 12, in main`. */
const FRAME = /^ {0,8}File "([^"]{1,400})", line (\d{1,7}), in (.{1,200})$/;

const MAX_LINE_CHARACTERS = 512;

/** The error that ended the program, with its rank left out: the last line that names one. */
export function lastErrorOf(lines: readonly string[]): string | undefined {
  return lines.map(withoutRank).findLast((line) => ERROR.test(line));
}

/** Numbers, addresses and hexadecimal names: ranks, ports, times, sizes, pids. */
const VARYING = /0x[0-9a-f]{1,16}|\b[0-9a-f]{8,64}\b|\d{1,20}/gi;
const MAX_FRAMES = 3;
const MAX_FINGERPRINT_CHARACTERS = 512;

/**
 * The error and the innermost frames that are left of its traceback, in one text in which runs that fail the same way agree: numbers of the message
 * are left out, for ranks, ports, times and sizes are among them, and of paths the folders. undefined: no error is named. At most 512 characters.
 */
export function fingerprintOf(lines: readonly string[]): string | undefined {
  const error = lastErrorOf(lines);
  if (error === undefined) return undefined;
  const frames = lines.flatMap((line) => frameIn(line) ?? []).slice(-MAX_FRAMES);
  return `${error.replaceAll(VARYING, '#')} @ ${frames.join(' > ')}`.slice(0, MAX_FINGERPRINT_CHARACTERS);
}

function frameIn(line: string): string | undefined {
  const [, file = '', number, name] = FRAME.exec(withoutRank(line)) ?? [];
  return name === undefined ? undefined : `${file.slice(file.lastIndexOf('/') + 1)}:${number}:${name}`;
}

function withoutRank(line: string): string {
  return line.slice(0, MAX_LINE_CHARACTERS).replace(RANK, '');
}
