/** Which class of failure is a crash, who is at fault, and what is the evidence? */
import { CRASH_CLASSES, type CrashBlame, type CrashClass, EXIT_CODES } from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';
import { bestWord } from './crash-words.ts';
import { isSurvived } from './live-lines.ts';
import { faultClass, type NodeCondition, pressureClass } from './node-conditions.ts';
import { xidAction, xidClass, xidsIn } from './xid.ts';

/** What is known about the end of a rank or a pod. Absent fields are unknown. */
export interface CrashFacts {
  /** Exit code of the process as a shell reports it: 128 + n if signal n ended it. */
  readonly exitCode?: number | undefined;
  /** Name of the signal, such as `SIGKILL`. */
  readonly signal?: string | undefined;
  /** Reason that the container runtime reports, such as OOMKilled. */
  readonly containerReason?: string | undefined;
  /** Reason of the pod's condition DisruptionTarget. */
  readonly disruption?: string | undefined;
  /** Last lines of its log, newest last. The newest {@link MAX_LINES} are read, and the first 512 characters of each. */
  readonly lastLines: readonly string[];
  /** XIDs of its GPUs in the kernel log around that time. */
  readonly xids?: readonly number[];
  /** Conditions of its node. */
  readonly nodeConditions?: readonly NodeCondition[];
}

/** The class of a crash with its evidence. */
export interface CrashJudgement {
  readonly class: CrashClass;
  readonly blame: CrashBlame;
  /** The line, XID, condition, signal or exit code that shows the class; empty without evidence. At most 512 characters, not made safe. */
  readonly evidence: string;
  /** What a user does about it. */
  readonly advice: string;
}

/** Classes of the program that may depend on memory of the node, so that two equal ones do not prove a third. */
const OF_CIRCUMSTANCES: readonly CrashClass[] = ['HostOutOfMemory'];

/** Whether the crash is an exception that the program raises by itself, and would again. */
export function isOwnException({ class: name, blame }: Pick<CrashJudgement, 'class' | 'blame'>): boolean {
  return blame === 'program' && !OF_CIRCUMSTANCES.includes(name);
}

const MAX_LINES = 20;
const MAX_EVIDENCE_CHARACTERS = 512;

/** What one source of evidence shows; undefined without evidence. */
type Witness = (facts: CrashFacts) => { readonly class: CrashClass; readonly evidence: string } | undefined;

/**
 * Sources in order of trust: the driver in the kernel log, node conditions, a deliberate disruption of the pod, the program's log, and last the kubelet
 * and the exit of the process. Lines that the process survived do not count.
 */
const WITNESSES: readonly Witness[] = [
  byXid,
  byFaultOfNode,
  byDisruption,
  byContainer,
  byLastLines,
  byPressureOnNode,
  byExit,
];

/** Classifies a crash by the most trusted source with evidence. Never throws, whatever ranks wrote. */
export function classifyCrash(facts: CrashFacts): CrashJudgement {
  const bounded = { ...facts, lastLines: facts.lastLines.slice(-MAX_LINES) };
  const { class: name, evidence } = firstWord(bounded) ?? { class: 'Unknown', evidence: '' };
  const { blame, advice } = CRASH_CLASSES[name];
  return { class: name, blame, evidence: cutText(evidence, MAX_EVIDENCE_CHARACTERS), advice };
}

function firstWord(facts: CrashFacts): ReturnType<Witness> {
  for (const witness of WITNESSES) {
    const word = witness(facts);
    if (word !== undefined) return word;
  }
  return undefined;
}

/** Most severe first, because one fault causes others (XID 45 follows most). */
const GRAVEST_FIRST: readonly CrashClass[] = [
  'GpuLost',
  'GpuMemoryError',
  'NvlinkError',
  'GpuFault',
  'IllegalMemoryAccess',
  'CudaError',
];

function byXid({ xids = [], lastLines, nodeConditions = [] }: CrashFacts): ReturnType<Witness> {
  const messages = nodeConditions.flatMap(({ status, message = '' }) => (status === 'True' ? [message] : []));
  const live = lastLines.filter((_, index) => !isSurvived(lastLines, index, false));
  const all = [...new Set([...xids, ...[...live, ...messages].flatMap(xidsIn)])];
  const found = all.flatMap((xid) => {
    const name = xidClass(xid);
    return name === undefined ? [] : [{ class: name, evidence: `XID ${xid} (${xidAction(xid) ?? 'unlisted'})` }];
  });
  return found.toSorted((one, other) => rankOf(one.class) - rankOf(other.class))[0];
}

function rankOf(name: CrashClass): number {
  return GRAVEST_FIRST.indexOf(name);
}

function byFaultOfNode(facts: CrashFacts): ReturnType<Witness> {
  return byCondition(facts, faultClass);
}

function byPressureOnNode(facts: CrashFacts): ReturnType<Witness> {
  return byCondition(facts, pressureClass);
}

function byCondition(
  { nodeConditions = [] }: CrashFacts,
  classOf: (condition: NodeCondition) => CrashClass | undefined,
): ReturnType<Witness> {
  for (const condition of nodeConditions) {
    const name = classOf(condition);
    if (name === undefined) continue;
    const detail = condition.message === undefined || condition.message === '' ? '' : `: ${condition.message}`;
    return { class: name, evidence: `condition ${condition.type} of the node${detail}` };
  }
  return undefined;
}

function byDisruption({ disruption }: CrashFacts): ReturnType<Witness> {
  return disruption === undefined ? undefined : { class: 'Disrupted', evidence: `DisruptionTarget: ${disruption}` };
}

/** The kernel killed the process for memory. The kubelet reports it and sets no DisruptionTarget. */
function byContainer({ containerReason }: CrashFacts): ReturnType<Witness> {
  return containerReason === 'OOMKilled' ? { class: 'HostOutOfMemory', evidence: containerReason } : undefined;
}

/**
 * An exception ends a process with an exit code and never with a signal. So after a signal, only lines count that explain this signal, or that
 * belong to the end of the process.
 */
function byLastLines(facts: CrashFacts): ReturnType<Witness> {
  const signal = signalOf(facts);
  const word = bestWord(facts.lastLines, (name, hasEndedIt) => {
    if (signal === undefined || signal === 'SIGABRT' || OF_HARDWARE.includes(name)) return true;
    if (OF_MEMORY.includes(name)) return signal !== 'SIGTERM';
    return hasEndedIt && ENDS_BY_ITSELF.includes(signal);
  });
  return word === undefined ? undefined : { class: word.class, evidence: word.line };
}

const OF_HARDWARE: readonly CrashClass[] = ['GpuLost', 'GpuMemoryError', 'NvlinkError'];
/** Classes that explain why the kernel kills a process. */
const OF_MEMORY: readonly CrashClass[] = ['HostOutOfMemory', 'NodeOutOfMemory', 'SharedMemoryFull'];
/** Signals that a process gets for what it does, for instance while it ends after an exception. */
const ENDS_BY_ITSELF: readonly string[] = ['SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP'];

/** Signals by name and by number; as an exit code, 128 is added. */
const SIGNALS: Readonly<Record<string, readonly [number, CrashClass]>> = {
  SIGHUP: [1, 'Disrupted'],
  SIGINT: [2, 'Disrupted'],
  SIGILL: [4, 'IllegalInstruction'],
  SIGTRAP: [5, 'Aborted'],
  SIGABRT: [6, 'Aborted'],
  SIGBUS: [7, 'BusError'],
  SIGFPE: [8, 'ArithmeticFault'],
  SIGKILL: [9, 'Killed'],
  SIGSEGV: [11, 'Segfault'],
  SIGTERM: [15, 'Disrupted'],
  SIGXCPU: [24, 'LimitReached'],
  SIGXFSZ: [25, 'LimitReached'],
  SIGSYS: [31, 'SystemCallDenied'],
};

function byExit(facts: CrashFacts): ReturnType<Witness> {
  const { exitCode, signal } = facts;
  if (signal === undefined && exitCode === EXIT_CODES.doNotRestart.code) {
    return { class: 'StopAsked', evidence: `exit code ${exitCode}` };
  }
  const name = signalOf(facts);
  const found = name === undefined ? undefined : SIGNALS[name]?.[1];
  return name === undefined || found === undefined ? undefined : { class: found, evidence: name };
}

/** The signal that ended the process, also if a shell in front of it reports the signal as an exit code. */
function signalOf({ exitCode, signal }: CrashFacts): string | undefined {
  return Object.keys(SIGNALS).find((name) => name === signal || 128 + (SIGNALS[name]?.[0] ?? 0) === exitCode);
}
