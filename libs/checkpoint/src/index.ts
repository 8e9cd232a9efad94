export {
  ENDS_BYTES,
  isCutOff,
  PARTS,
  placesOfSaves,
  savesAmong,
  whyIncomplete,
  type EngineFormat,
  type EngineSave,
  type SavedFile,
} from './engine-saves.ts';
export { filesOfRanks } from './files-of-ranks.ts';
export type { RanksOfGang } from './files-of-ranks.ts';
export { CheckpointManifest, MANIFEST_FILE } from './manifest.ts';
export { newestRestorable } from './newest-restorable.ts';
export { bestSaveIntervalMs } from './save-interval.ts';
export { checkpointName, incarnationOf, saveDirectoryOf } from './paths.ts';
export { whyNotLoadedBy } from './who-loads.ts';
