/** Notices that a stream has said nothing for a while. */
import type { Readable } from 'node:stream';

/**
 * Settles after `patienceMs` without data. Where this process had no CPU for longer than that, its timers fire before it reads what has arrived meanwhile, so
 * it reads once more before it decides.
 */
export async function silence(stream: Readable, patienceMs: number): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let heard = 0;
  const timer = setTimeout(() => {
    const before = heard;
    setImmediate(() => {
      if (heard === before) resolve(undefined);
    });
  }, patienceMs);
  stream
    .on('data', () => {
      heard++;
      timer.refresh();
    })
    .once('close', () => clearTimeout(timer));
  return await promise;
}
