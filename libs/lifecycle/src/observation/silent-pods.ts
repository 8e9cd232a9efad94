/**
 * What does the kubelet report about a pod whose containers do not start? Until the first container is created, for example while volumes are
 * mounted, the pod's status has no reason. Its Events have one.
 */
import { type Facts, isTerminal } from './facts.ts';
import { podsOf } from './gang.ts';
import type { ObservedPod } from './observed.ts';
import { isOver, type Wait } from './waits.ts';

/** A start that takes longer is asked about. Most volumes are mounted by then. */
const SILENT_MS = 15_000;
/** A warning is read again after this time. */
const KNOWN_MS = 30_000;

interface Starting {
  readonly epoch: number;
  readonly stage: string;
  readonly runningAt?: string | undefined;
  readonly incarnation?: number | undefined;
}

/** The first pod of the attempt that has a node, does not run, and whose status has no reason. */
export function silentPod(
  facts: Facts,
  { epoch, stage, runningAt, incarnation = 1 }: Starting,
): ObservedPod | undefined {
  if (stage !== 'Released' || runningAt !== undefined || incarnation > 1) return undefined;
  const isSilent = (pod: ObservedPod): boolean =>
    pod.nodeName !== undefined &&
    !pod.running &&
    !isTerminal(pod) &&
    pod.deletionTimestamp === undefined &&
    pod.pullsImage !== true &&
    pod.containerWaiting === undefined;
  return podsOf(facts, epoch)
    .filter(isSilent)
    .toSorted((one, other) => one.podIndex - other.podIndex)[0];
}

/** The wait before the kubelet's Events are read; undefined: no pod starts silently, or this process reads none. */
export function silentWait(facts: Facts, attempt: Starting): Wait | undefined {
  if (facts.observed.podWarning === undefined || silentPod(facts, attempt) === undefined) return undefined;
  return { key: `e${attempt.epoch}/silent`, limitMs: SILENT_MS };
}

/** The pod whose Events are to be read now. */
export function podToAskAbout(facts: Facts, attempt: Starting): ObservedPod | undefined {
  const wait = silentWait(facts, attempt);
  if (wait === undefined || !isOver(facts, wait)) return undefined;
  const pod = silentPod(facts, attempt);
  const known = facts.observed.podWarning;
  const isKnown = known !== 'unread' && known?.podUid === pod?.uid && known !== undefined && known.ageMs < KNOWN_MS;
  return isKnown ? undefined : pod;
}

/** Milliseconds until the Events are read again; undefined: they are not. */
export function warningDueMs({ observed: { podWarning } }: Facts): number | undefined {
  return podWarning === undefined || podWarning === 'unread' ? undefined : KNOWN_MS - podWarning.ageMs;
}

/** The kubelet's sentence about that pod; undefined: none is known. */
export function warningOf({ observed: { podWarning } }: Facts, pod: ObservedPod | undefined): string | undefined {
  return podWarning === undefined || podWarning === 'unread' || podWarning.podUid !== pod?.uid
    ? undefined
    : podWarning.message;
}
