/** What is said of a gang whose nodes pull its image? */
import { type Facts, isTerminal } from './facts.ts';
import { podsOf } from './gang.ts';
import type { ObservedPod } from './observed.ts';
import { isOver, type Wait } from './waits.ts';

/** Whether its image is what the pod waits for. */
export function isPulling(pod: ObservedPod): boolean {
  return pod.pullsImage === true && !pod.running && !isTerminal(pod);
}

/** An image that its nodes have is no news, and neither is a small one. */
const NO_NEWS_MS = 10_000;
/** How often the progress of a gang's pulls is told, at most: each time is a write of the job. */
const TOLD_STEPS = 8;

/** From when on the pulls of that epoch are told of; undefined where there are none. */
export function pullsToldWait(facts: Facts, { epoch }: { readonly epoch: number }): Wait | undefined {
  return podsOf(facts, epoch).some(isPulling) ? { key: `e${epoch}/pulls-told`, limitMs: NO_NEWS_MS } : undefined;
}

/** How many nodes pull the image, in eighths of the gang; undefined where it is not worth telling. */
export function describePulls(facts: Facts, { epoch }: { readonly epoch: number }): string | undefined {
  const wait = pullsToldWait(facts, { epoch });
  if (wait === undefined || !isOver(facts, wait)) return undefined;
  const pods = podsOf(facts, epoch);
  const pulling = pods.filter(isPulling).length;
  const step = Math.max(1, Math.ceil(pods.length / TOLD_STEPS));
  const atMost = Math.min(pods.length, Math.ceil(pulling / step) * step);
  const nodes = `node${pods.length === 1 ? '' : 's'} of epoch ${epoch}`;
  return `The image is being pulled on ${step === 1 ? '' : 'at most '}${atMost} of ${pods.length} ${nodes}.`;
}
