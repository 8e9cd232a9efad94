export { CheckpointManifest, MANIFEST_FILE, manifestViolations } from './manifest.ts';
export type { FileOnDisk } from './manifest.ts';
export { newestRestorable } from './newest-restorable.ts';
export { checkpointName, saveDirectoryOf } from './paths.ts';
