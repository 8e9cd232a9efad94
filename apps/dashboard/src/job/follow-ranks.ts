import type { ApiClient } from '@coxswain/api-client';
import type { RankMap } from '@coxswain/api-types';
import { isGone, type JobAddress } from './follow-job.ts';
import { pause } from './pause.ts';

const RANKS_EVERY_MS = 3_000;

interface RanksFollower {
  readonly signal: AbortSignal;
  /** The ranks of a finished job are read once: they move no more. */
  readonly isFinished: boolean;
  readonly receive: (ranks: RankMap) => void;
}

/** Reads where the ranks are, again and again while the job runs; the more ranks, the less often. */
export async function followRanks(
  api: Pick<ApiClient, 'ranks'>,
  at: JobAddress,
  { signal, isFinished, receive }: RanksFollower,
): Promise<void> {
  while (!signal.aborted) {
    let pauseMs = RANKS_EVERY_MS;
    try {
      const ranks = await api.ranks(at);
      if (signal.aborted) return;
      receive(ranks);
      if (isFinished) return;
      pauseMs = Math.max(pauseMs, ranks.items.length);
    } catch (error) {
      // The stream reports problems; a slightly old map does no harm.
      if (isGone(error)) return;
    }
    await pause(pauseMs, signal);
  }
}
