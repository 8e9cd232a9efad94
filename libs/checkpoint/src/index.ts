export { filesOfRanks } from './files-of-ranks.ts';
export type { RankRange } from './files-of-ranks.ts';
export { CheckpointManifest, MANIFEST_FILE } from './manifest.ts';
export { newestRestorable } from './newest-restorable.ts';
export { checkpointName, saveDirectoryOf } from './paths.ts';
