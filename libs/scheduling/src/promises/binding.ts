/** Which promises keep a job from nodes? Pure. */
import type { GpusByNode, HeldNodes } from './node-promise.ts';

/** A job that may want nodes which are held for another one. */
export interface Claimant {
  readonly uid: string;
  readonly priority: number;
  /** When it would end at the latest if it started now; undefined: not known. */
  readonly latestEnd: Date | undefined;
}

/**
 * Promises whose nodes the job may not use: of its priority or a higher one, with a start before the job's latest end. A job with a higher priority is
 * bound by none of a lower one, and a job whose end is not known is bound by all others.
 */
export function bindingPromises<Held extends HeldNodes>(
  promises: readonly Held[],
  claimant: Claimant,
): readonly Held[] {
  const { uid, priority, latestEnd } = claimant;
  return promises.filter(
    ({ job, start, priority: its }) =>
      job.uid !== uid && priority <= its && !(latestEnd !== undefined && latestEnd.getTime() <= start.getTime()),
  );
}

/**
 * Adds GPUs that are held: what others use now or at the start of the promise, with the GPUs of the promise. GPUs of jobs that end before the start
 * count once: their successors may use as many until then.
 */
export function withHeld(used: GpusByNode, binding: readonly HeldNodes[]): GpusByNode {
  if (binding.length === 0) return used;
  const all = new Map(used);
  const held = new Map<string, number>();
  for (const { gpus, beyond } of binding) {
    for (const [name, count] of gpus) {
      held.set(name, (held.get(name) ?? 0) + count);
      const atStart = (beyond.get(name) ?? 0) + (held.get(name) ?? 0);
      all.set(name, Math.max(used.get(name) ?? 0, atStart));
    }
  }
  return all;
}
