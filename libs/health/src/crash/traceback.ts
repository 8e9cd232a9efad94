/** Did a program fail the same way before? Reduces a traceback to what two runs have in common. */

/** `[rank3]: `, the prefix that torch writes. */
const RANK = /^(?:\[[^\]]{0,32}\]:? {0,1})?/;
/** `ValueError: ...`, `torch.OutOfMemoryError: ...`, `AssertionError`, `google.api_core.exceptions.ServiceUnavailable: ...`. */
const ERROR =
  /^(?:(?:[A-Za-z_]\w{0,63}\.){0,8}(?:[A-Za-z_]\w{0,63})?(?:Error|Exception|Interrupt|Exit)(?::|$)|(?:[a-z_]\w{0,63}\.){1,8}[A-Z]\w{0,63}: )/;
/** `  File "/app/train.py", line 12, in main`. */
const FRAME = /^ {0,8}File "([^"]{1,400})", line (\d{1,7}), in (.{1,200})$/;

/** The end of a traceback whatever the exception is called: `struct.error: ...`, `queue.Empty`, `RayTaskError(KeyError): ...`. */
const RAISED = /^[A-Za-z_][\w.]{0,200}(?:\([\w.]{1,64}\))?(?:: |:?$)/;
/** Lines of a traceback between its frames: source, and markers below it. */
const INDENTED = /^\s+\S/;

const MAX_LINE_CHARACTERS = 512;

/** The error that a line names, without the rank prefix; undefined: it names none. */
function errorIn(line: string): string | undefined {
  const text = withoutRank(line);
  return ERROR.test(text) ? text : undefined;
}

/** For each line the error that it names, without the rank prefix. The line after the frames of a traceback names one, whatever its name. */
export function errorsIn(lines: readonly string[]): readonly (string | undefined)[] {
  let isInFrames = false;
  return lines.map((line) => {
    const text = withoutRank(line);
    if (FRAME.test(text)) isInFrames = true;
    else if (!INDENTED.test(text)) {
      const isRaised = isInFrames && RAISED.test(text);
      isInFrames = false;
      return isRaised ? text : errorIn(line);
    }
    return undefined;
  });
}

/** The last line that names an error, without the rank prefix. */
export function lastErrorOf(lines: readonly string[]): string | undefined {
  return errorsIn(lines).findLast((error) => error !== undefined);
}

/** Numbers, addresses and hexadecimal names: ranks, ports, times, sizes, pids. */
const VARYING = /0x[0-9a-f]{1,16}|\b[0-9a-f]{8,64}\b|\d{1,20}/gi;
const MAX_FRAMES = 3;
const MAX_FINGERPRINT_CHARACTERS = 512;

/**
 * The error and the innermost frames of its traceback as one text, equal for runs that fail the same way. Numbers in the message are replaced, because
 * ranks, ports, times and sizes differ, and paths lose their folders. undefined if no error is named. At most 512 characters.
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
