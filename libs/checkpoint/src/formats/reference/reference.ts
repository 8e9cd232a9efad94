/** Saves of this project's own engines: files that `manifest.json` lists, and that the engine wrote before it. */
import type { CheckpointFormat } from '../checkpoint-format.ts';
import { MANIFEST_FILE } from '../manifest-file.ts';
import { firstMissing } from '../describe-missing.ts';

/**
 * The reference engine puts a manifest beside PyTorch Distributed Checkpoint files (see DCP). The stand-in engine that tests use
 * (`engines/sleeper`) saves one `rank-<rank>.bin` for each rank.
 */
export const REFERENCE = {
  names: ['sleeper'],
  detect: (paths) => paths.has(MANIFEST_FILE),
  indexFile: MANIFEST_FILE,
  describeMissing: (paths) => firstMissing(paths, [MANIFEST_FILE]),
  rankFile: /(?:^|\/)rank-(\d{1,6})\.bin$/,
  engines: [{ engine: 'reference', does: ['save'] }],
} as const satisfies CheckpointFormat;
