import { join } from 'node:path';
import { MAX_RANKS_PER_POD, parseRanks, type RankAssignment } from '@coxswain/api-types';
import type { BucketSaves } from '../bucket/bucket-saves.ts';
import { PartUploader } from '../bucket/part-uploader.ts';
import { engineRunOf } from '../engine/engine-run.ts';
import type { FactReporter } from '../reports/fact-reporter.ts';
import type { Settings } from '../program/settings.ts';
import type { Verdict } from '../ending/verdict.ts';
import { SaveWatcher } from './save-watcher.ts';

/** undefined if the engine reports its checkpoints itself, keeps none, or another pod watches them. */
export type EngineSaves = SaveWatcher | PartUploader | undefined;

interface Around {
  readonly settings: Settings;
  readonly bucket: BucketSaves | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly facts: FactReporter;
  readonly logLine: (sentence: string) => void;
}

/**
 * Starts to watch for checkpoints that the engine saves in its own format. Only the pod of rank 0 does so: every pod mounts the same claim. With a bucket, the
 * other pods upload the files of their ranks.
 */
export function watchEngineSaves(
  { ranks, saveDirectory, worldSize }: RankAssignment,
  { settings, bucket, environment, facts, logLine }: Around,
): EngineSaves {
  const here = parseRanks(ranks, MAX_RANKS_PER_POD);
  const [firstRank] = here;
  if (bucket !== undefined && saveDirectory !== undefined && firstRank !== undefined && firstRank !== 0)
    return new PartUploader({ saves: bucket, saveDirectory, ranks, firstRank });
  const { checkpoints, savedBy } = engineRunOf(environment) ?? {};
  if (checkpoints === undefined || savedBy === undefined || saveDirectory === undefined) return undefined;
  if (firstRank !== 0) return undefined;
  return new SaveWatcher({
    watched: {
      saveDirectory: join(settings.checkpointMount, saveDirectory),
      format: checkpoints,
      worldSize,
      savedBy,
      isRemovedLater: bucket !== undefined,
      isPart: bucket !== undefined && here.length < worldSize,
    },
    patienceMs: settings.mountPatienceMs,
    onSaved: (fact) => facts.receiveFound(fact),
    logLine,
  });
}

/** How long the last scan may take: longest after ranks that finished, short before a failed gang restarts or the kubelet kills a stopped one. */
const LIMITS = {
  done: { hashMs: 60_000, limitMs: 180_000 },
  stopped: { hashMs: 1_000, limitMs: 20_000 },
  failed: { hashMs: 1_000, limitMs: 5_000 },
} as const;

/** How long other pods wait for a call of the pod of rank 0, and at most for all. */
const PART_LIMITS = {
  done: { quietMs: 20_000, limitMs: 3_600_000 },
  stopped: { quietMs: 20_000, limitMs: 3_600_000 },
  failed: { quietMs: 6_000, limitMs: 40_000 },
} as const;

/** Scans once more for checkpoints that were saved last, now that no rank is left. */
export async function finishWatching(
  saves: EngineSaves,
  { kind, isOrdered }: Pick<Verdict, 'kind' | 'isOrdered'>,
): Promise<void> {
  const how = kind === 'finished' ? 'done' : kind === 'stopped' ? 'stopped' : 'failed';
  if (!(saves instanceof PartUploader)) return await saves?.finish(LIMITS[how]);
  // The operator waits for the end of ranks that it ended, to start others in their place.
  await saves.finish(PART_LIMITS[isOrdered === true ? 'failed' : how]);
}
