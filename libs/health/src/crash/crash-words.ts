/** Which line of a log shows why its rank ended? */
import type { CrashClass } from '@coxswain/api-types';
import { lineMatches } from './line-pattern.ts';
import { hasGoneOn, isSurvived } from './live-lines.ts';
import { LOG_PATTERNS } from './log-patterns.ts';
import { errorsIn } from './traceback.ts';

/** How much a line says about the end of its rank. The heaviest line counts, and of equal ones the last. */
const WEIGHTS = { wrapper: 0, warning: 1, consequence: 2, vague: 3, cause: 4, hardware: 5 } as const;

/** A line that shows a class of crash. */
interface CrashWord {
  readonly index: number;
  readonly line: string;
  readonly class: CrashClass;
  readonly weight: number;
}

const HARDWARE: readonly CrashClass[] = ['GpuLost', 'GpuMemoryError', 'NvlinkError'];
/** What ranks report after another rank, a kernel or a peer failed. */
const CONSEQUENCES: readonly CrashClass[] = ['PeerLost', 'CollectiveTimeout', 'NcclError', 'CudaError', 'Disrupted'];
/** Errors that only report that another process failed. */
const WRAPPERS = /ChildFailedError|CalledProcessError|ProcessRaisedException|ProcessExitedException|SystemExit/;
/** Lines of a program that goes on. NCCL calls its errors WARN. */
const WARNING = /^\[W\d*[ \d]|\b(?:warn|warning|info|debug)\b|entering retry loop|\bretrying\b|will retry/i;
/** Exceptions of Python that code raises by a mistake of its own. */
const OF_CODE =
  /^(?:KeyError|IndexError|TypeError|ValueError|AttributeError|NameError|UnboundLocalError|ZeroDivisionError|NotImplementedError|RecursionError|OverflowError|Unicode\w*Error|json\.decoder\.JSONDecodeError)(?::|$)/;

/** The line that shows best why the rank ended; undefined: no line does. `isOf`: which classes may count. */
export function bestWord(
  lines: readonly string[],
  isOf: (name: CrashClass, hasEndedIt: boolean) => boolean = () => true,
): CrashWord | undefined {
  const errors = errorsIn(lines);
  const words = lines
    .flatMap((line, index) => wordIn(line, index, errors[index]) ?? [])
    .filter(({ index }) => !isSurvived(lines, index, errors[index] !== undefined))
    .filter(({ class: name, index }) => isOf(name, !hasGoneOn(lines, index)));
  const heaviest = Math.max(...words.map(({ weight }) => weight));
  const last = words.findLast(({ weight }) => weight === heaviest);
  return last === undefined ? undefined : (causeInChain(lines, words, last) ?? last);
}

function wordIn(line: string, index: number, error: string | undefined): CrashWord | undefined {
  const found = LOG_PATTERNS.find(({ says }) => says.some((pattern) => lineMatches(pattern, line)))?.class;
  if (found === undefined) {
    if (error === undefined) return undefined;
    return { index, line: error, class: 'PythonException', weight: weightOfError(error) };
  }
  return { index, line, class: found, weight: weightOf(found, line, error) };
}

function weightOfError(error: string): number {
  if (WRAPPERS.test(error)) return WEIGHTS.wrapper;
  return OF_CODE.test(error) ? WEIGHTS.cause : WEIGHTS.vague;
}

function weightOf(name: CrashClass, line: string, error: string | undefined): number {
  if (HARDWARE.includes(name)) return WEIGHTS.hardware;
  if (CONSEQUENCES.includes(name)) return WEIGHTS.consequence;
  const isWarning = error === undefined && WARNING.test(line) && !line.includes('NCCL WARN');
  return isWarning ? WEIGHTS.warning : WEIGHTS.cause;
}

const CHAINED =
  /^(?:\[[^\]]{0,32}\]:? {0,1})?(?:The above exception was the direct cause|During handling of the above)/;

/** The first exception of a chain that has a class of its own, if the last one has none: handlers fail, or raise anew, because of the first. */
function causeInChain(lines: readonly string[], words: readonly CrashWord[], last: CrashWord): CrashWord | undefined {
  if (last.class !== 'PythonException') return undefined;
  return words.findLast(
    ({ index, class: name, weight }) =>
      index < last.index &&
      name !== 'PythonException' &&
      weight >= WEIGHTS.cause &&
      lines.slice(index, last.index).some((line) => CHAINED.test(line)),
  );
}
