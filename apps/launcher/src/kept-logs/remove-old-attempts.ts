import type { KeptLogBounds } from '@coxswain/api-types';
import { attemptsToRemove, type KeptAttempt, keptAttempt } from './log-bounds.ts';
import { attemptFolder, parseAttemptFolder, parseSegmentPath } from './log-segments.ts';
import type { SegmentStore } from './segment-store.ts';

/** The attempt that begins, and what it may leave there. */
interface BeginningAttempt {
  /** Folder of the logs of the namespace's jobs, in the store. */
  readonly folder: string;
  readonly job: string;
  readonly epoch: number;
  readonly worldSize: number;
  readonly bounds: KeptLogBounds;
}

type Place = Pick<KeptAttempt, 'job' | 'epoch'>;

/**
 * Frees what earlier attempts have beyond the bounds. The launcher of rank 0 does it, once. Attempts are listed one by one: a namespace can have more files than
 * one list may have.
 */
export async function removeOldAttempts(logs: BeginningAttempt, store: SegmentStore, nowMs: number): Promise<void> {
  const { folder, bounds } = logs;
  const attempts: KeptAttempt[] = [];
  for (const job of await store.folders(folder))
    for (const epoch of (await store.folders(`${folder}/${job}`)).flatMap((name) => parseAttemptFolder(name) ?? []))
      attempts.push(keptAttempt({ job, epoch }, await segmentsOf({ job, epoch }, folder, store)));
  for (const attempt of attemptsToRemove(attempts, logs, { bounds, nowMs }))
    await store.remove((await segmentsOf(attempt, folder, store)).map(({ path }) => path));
}

/** What is no segment is not Coxswain's to count or remove. */
async function segmentsOf(
  { job, epoch }: Place,
  folder: string,
  store: SegmentStore,
): Promise<readonly { path: string; bytes: number; writtenMs?: number; startMs: number }[]> {
  const ofJob = `${folder}/${job}/`;
  const files = await store.list(ofJob + attemptFolder(epoch));
  return files.flatMap((file) => {
    const segment = parseSegmentPath(file.path.slice(ofJob.length));
    return segment === undefined ? [] : [{ ...file, startMs: segment.startMs }];
  });
}
