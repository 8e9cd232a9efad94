import { join } from 'node:path';
import { MAX_RANKS_PER_POD, parseRanks, type RankAssignment } from '@coxswain/api-types';
import { engineRunOf } from '../engine/engine-run.ts';
import type { Reporter } from '../reports/reporter.ts';
import type { Settings } from '../program/settings.ts';
import type { Verdict } from '../ending/verdict.ts';
import { SaveWatcher } from './save-watcher.ts';

/** undefined: the engine tells of its checkpoints itself, keeps none, or another pod sees them. */
export type EngineSaves = SaveWatcher | undefined;

interface Around {
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly reporter: Reporter;
  readonly say: (sentence: string) => void;
}

/** Begins to look for what the engine saves in its own way. It is the pod of rank 0 that does: every pod sees the same claim. */
export function watchEngineSaves(
  { ranks, saveDirectory, worldSize }: RankAssignment,
  { settings, environment, reporter, say }: Around,
): EngineSaves {
  const { checkpoints, savedBy } = engineRunOf(environment) ?? {};
  if (checkpoints === undefined || savedBy === undefined || saveDirectory === undefined) return undefined;
  if (parseRanks(ranks, MAX_RANKS_PER_POD)[0] !== 0) return undefined;
  return new SaveWatcher({
    watched: {
      saveDirectory: join(settings.checkpointMount, saveDirectory),
      format: checkpoints,
      worldSize,
      savedBy,
    },
    patienceMs: settings.mountPatienceMs,
    onSaved: (fact) => reporter.accept(0, fact),
    say,
  });
}

/** Nothing hurries ranks that are done; a gang that failed is to begin again; of one that was told to end the kubelet ends what takes too long. */
const LIMITS = {
  done: { hashMs: 60_000, limitMs: 180_000 },
  stopped: { hashMs: 1_000, limitMs: 20_000 },
  failed: { hashMs: 1_000, limitMs: 5_000 },
} as const;

/** Looks for what was saved last, now that no rank is left. */
export async function finishWatching(saves: EngineSaves, { kind }: Pick<Verdict, 'kind'>): Promise<void> {
  await saves?.finish(kind === 'finished' ? LIMITS.done : kind === 'stopped' ? LIMITS.stopped : LIMITS.failed);
}
