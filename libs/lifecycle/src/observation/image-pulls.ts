/** What does status report while nodes pull a gang's image? */
import { type Facts, isTerminal } from './facts.ts';
import { podsOf } from './gang.ts';
import type { ObservedPod } from './observed.ts';
import { isOver, type Wait } from './waits.ts';

/** Whether its image is what the pod waits for. */
export function isPulling(pod: ObservedPod): boolean {
  return pod.pullsImage === true && !pod.running && !isTerminal(pod);
}

/** A shorter pull is not reported: nodes with the image, and small images. */
const SHORT_PULL_MS = 10_000;
/** Number of reports of a gang's pulls, at most; each is a write of the job. */
const REPORTED_STEPS = 8;

/** The wait before pulls of that attempt are reported; undefined: no pod pulls. */
export function pullReportWait(facts: Facts, { epoch }: { readonly epoch: number }): Wait | undefined {
  return podsOf(facts, epoch).some(isPulling) ? { key: `e${epoch}/pulls-told`, limitMs: SHORT_PULL_MS } : undefined;
}

/** A sentence on how many nodes pull the image, in eighths of the gang; undefined: it is too early to report. */
export function describePulls(facts: Facts, { epoch }: { readonly epoch: number }): string | undefined {
  const wait = pullReportWait(facts, { epoch });
  if (wait === undefined || !isOver(facts, wait)) return undefined;
  const pods = podsOf(facts, epoch);
  const pulling = pods.filter(isPulling).length;
  const step = Math.max(1, Math.ceil(pods.length / REPORTED_STEPS));
  const atMost = Math.min(pods.length, Math.ceil(pulling / step) * step);
  const nodes = `node${pods.length === 1 ? '' : 's'} of attempt ${epoch}`;
  return `The image is being pulled on ${step === 1 ? '' : 'at most '}${atMost} of ${pods.length} ${nodes}.`;
}
