import type { Clock } from '@coxswain/kube';
import { isAdmitted, type ReaderAccess, type ReaderCall } from './reader-access.ts';
import type { SeriesRing } from './series-ring.ts';

/** Readers and source of the series. */
export interface SeriesAccess extends ReaderAccess {
  readonly ring: SeriesRing;
  readonly clock: Clock;
}

const KEEPALIVE_MS = 10_000;

/**
 * Serves the newline-delimited stream of steps: `?bootId=…&after=N` continues after frame N. The stream ends when this replica stops leading; a follower
 * responds 503 with `leaderUrl`. A reader that is too slow skips frames, which their numbers show.
 */
export async function serveSeries(access: SeriesAccess, call: ReaderCall): Promise<void> {
  if (!(await isAdmitted(access, call))) return;
  const { request, response } = call;
  const query = new URL(request.url ?? '/', 'https://operator').searchParams;
  const after = Number(query.get('after') ?? Number.NaN);
  const cursor = access.ring.cursor({
    bootId: query.get('bootId') ?? undefined,
    after: Number.isSafeInteger(after) && after >= 0 ? after : undefined,
  });
  response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  response.write(`${access.ring.keepalive(access.clock.now())}\n`);

  /** Writes until everything is sent or the reader's buffer is full. A full one continues at 'drain', at the current position of the ring. */
  let isFull = false;
  const pump = (): void => {
    if (!access.leadership().leading) return void response.end();
    while (!isFull) {
      const line = cursor.next();
      if (line === undefined) return;
      isFull = !response.write(`${line}\n`);
    }
  };
  let cancelKeepalive = (): void => undefined;
  const keepAlive = (): void => {
    if (response.writableEnded) return;
    if (!isFull) response.write(`${access.ring.keepalive(access.clock.now())}\n`);
    pump();
    cancelKeepalive = access.clock.setTimer(KEEPALIVE_MS, keepAlive);
  };
  const stopWaking = access.ring.onAppend(pump);
  response.on('drain', () => {
    isFull = false;
    pump();
  });
  response.on('close', () => {
    stopWaking();
    cancelKeepalive();
  });
  cancelKeepalive = access.clock.setTimer(KEEPALIVE_MS, keepAlive);
  pump();
}
