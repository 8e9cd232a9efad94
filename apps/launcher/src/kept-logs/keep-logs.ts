/** The program of the process that keeps the logs of a pod's ranks. It waits for storage, so that the launcher does not. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeptLogBounds } from '@coxswain/api-types';
import type { CheckpointStore } from '@coxswain/checkpoint-store';
import { boundsOfWriter } from './log-bounds.ts';
import { FrameReader } from './log-frames.ts';
import type { SegmentFolder } from './log-segments.ts';
import { LogWriters } from './log-writers.ts';
import { removeOldAttempts } from './remove-old-attempts.ts';
import { BucketSegments, DirectorySegments, type SegmentStore } from './segment-store.ts';

/** The subcommand that keeps logs. Only a launcher calls it, so the help does not list it. */
export const KEEP_LOGS = 'keep-logs';
const WRITE_MS = 500;
/** So much is written before that. */
const HURRY_BYTES = 1_048_576;
const LEAST_PAUSE_MS = 20;
/** So much is read before it is written. */
const MAX_READ_BYTES = 4 * 1_048_576;

/** What to keep, and where: JSON, the argument of the subcommand. */
export interface LogsToKeep {
  /** Folder of the logs of the namespace's jobs, in the store. */
  readonly folder: string;
  /** Folder of the job in it. */
  readonly job: string;
  readonly epoch: number;
  readonly incarnation: number;
  readonly worldSize: number;
  /** Frames name a writer by its place here. */
  readonly writers: readonly Pick<SegmentFolder, 'firstRank' | 'lastRank'>[];
  readonly bounds: KeptLogBounds;
}

/** Keeps what `input` brings until it ends. `write` receives a sentence a line. */
export async function keepLogs(
  logs: LogsToKeep,
  store: CheckpointStore,
  { input, write }: { readonly input: Readable; readonly write: (text: string) => void },
): Promise<void> {
  const segments = store.isRemote ? new BucketSegments(store) : new DirectorySegments(store);
  const { folder, job, epoch, incarnation, worldSize, writers, bounds } = logs;
  const places = writers.flatMap(({ firstRank, lastRank }) => {
    const about = { ranks: lastRank - firstRank + 1, isRemote: store.isRemote };
    const share = boundsOfWriter(bounds, worldSize, about);
    const writer = { epoch, firstRank, lastRank };
    return share === undefined ? [] : [{ folder: `${folder}/${job}`, writer, incarnation, bounds: share }];
  });
  const ended = once(input, 'end');
  if (places.length < writers.length) {
    write(
      `No logs are kept: with ${worldSize} ranks, a bound of ${bounds.jobBytes} bytes for the job leaves too few for each.\n`,
    );
    input.resume();
    await ended;
    return;
  }
  const kept = new LogWriters({
    store: segments,
    places,
    onFailure: (why) => write(`A part of the logs is not kept: ${why}\n`),
  });
  const frames = new FrameReader();
  let wake = new AbortController();
  input.on('data', (chunk: Buffer) => {
    frames.push(chunk).forEach((frame) => kept.push(frame));
    if (kept.pendingBytes > HURRY_BYTES) wake.abort();
    // What is not read waits in the launcher, which drops the oldest of it.
    if (kept.pendingBytes > MAX_READ_BYTES) input.pause();
  });
  const over = new AbortController();
  const pause = async (): Promise<void> => {
    if (kept.pendingBytes < MAX_READ_BYTES / 2) input.resume();
    // At least a little: otherwise storage that rejects everything is asked without a pause.
    await delay(LEAST_PAUSE_MS);
    wake = new AbortController();
    await delay(WRITE_MS, undefined, { signal: AbortSignal.any([over.signal, wake.signal]) }).catch(() => undefined);
  };
  const isFirst = writers.some(({ firstRank }) => firstRank === 0);
  const removing = isFirst ? removeOld(logs, segments, write) : Promise.resolve();
  const writing = writeUntil(over.signal, kept, pause);
  await ended;
  over.abort();
  await writing;
  await kept.end();
  await removing;
}

async function writeUntil(signal: AbortSignal, kept: LogWriters, pause: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await kept.write();
    await pause();
  }
}

async function removeOld(logs: LogsToKeep, store: SegmentStore, write: (text: string) => void): Promise<void> {
  try {
    await removeOldAttempts(logs, store, Date.now());
  } catch (error) {
    write(`Logs of earlier attempts stay: ${(error as Error).message}\n`);
  }
}
