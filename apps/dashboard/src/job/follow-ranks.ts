import type { ApiClient } from '@coxswain/api-client';
import type { RankMap } from '@coxswain/api-types';
import type { JobAddress } from './follow-job.ts';
import { pause } from './pause.ts';

const RANKS_EVERY_MS = 3_000;

interface RanksFollower {
  readonly signal: AbortSignal;
  /** The ranks of a finished job are read once. */
  readonly isFinished: boolean;
  readonly receive: (ranks: RankMap) => void;
}

/** Reads where the ranks are, again and again while the job runs; the more ranks, the less often. */
export async function followRanks(
  api: Pick<ApiClient, 'ranks'>,
  at: JobAddress,
  { signal, isFinished, receive }: RanksFollower,
): Promise<void> {
  do {
    // The stream reports problems; a slightly old map does no harm.
    const map = await api.ranks(at).catch(() => undefined);
    if (signal.aborted) return;
    if (map !== undefined) receive(map);
    await pause(Math.max(RANKS_EVERY_MS, map?.items.length ?? 0), signal);
  } while (!signal.aborted && !isFinished);
}
