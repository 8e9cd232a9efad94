import { setImmediate as turn } from 'node:timers/promises';

/** Waits for the work, at most so long. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]);
  clearTimeout(timer);
  // A launcher that got no processor for so long finds the time over before it has read what lies in its pipes: that comes first.
  await turn();
}
