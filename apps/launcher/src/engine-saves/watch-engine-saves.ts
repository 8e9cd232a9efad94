import { join } from 'node:path';
import { MAX_RANKS_PER_POD, parseRanks, type RankAssignment } from '@coxswain/api-types';
import { engineRunOf } from '../engine/engine-run.ts';
import type { FactReporter } from '../reports/fact-reporter.ts';
import type { Settings } from '../program/settings.ts';
import type { Verdict } from '../ending/verdict.ts';
import { SaveWatcher } from './save-watcher.ts';

/** undefined if the engine reports its checkpoints itself, keeps none, or another pod watches them. */
export type EngineSaves = SaveWatcher | undefined;

interface Around {
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly facts: FactReporter;
  readonly logLine: (sentence: string) => void;
}

/** Starts to watch for checkpoints that the engine saves in its own format. Only the pod of rank 0 does so: every pod mounts the same claim. */
export function watchEngineSaves(
  { ranks, saveDirectory, worldSize }: RankAssignment,
  { settings, environment, facts, logLine }: Around,
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
      isRemovedLater: settings.bucket !== undefined,
    },
    patienceMs: settings.mountPatienceMs,
    onSaved: (fact) => facts.receive(0, fact),
    logLine,
  });
}

/** How long the last scan may take: longest after ranks that finished, short before a failed gang restarts or the kubelet kills a stopped one. */
const LIMITS = {
  done: { hashMs: 60_000, limitMs: 180_000 },
  stopped: { hashMs: 1_000, limitMs: 20_000 },
  failed: { hashMs: 1_000, limitMs: 5_000 },
} as const;

/** Scans once more for checkpoints that were saved last, now that no rank is left. */
export async function finishWatching(saves: EngineSaves, { kind }: Pick<Verdict, 'kind'>): Promise<void> {
  await saves?.finish(kind === 'finished' ? LIMITS.done : kind === 'stopped' ? LIMITS.stopped : LIMITS.failed);
}
