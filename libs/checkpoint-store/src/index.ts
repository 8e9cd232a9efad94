export type { CheckpointStore } from './checkpoint-store.ts';
export { DirectoryStore } from './directory/directory-store.ts';
export { openStore } from './open-store.ts';
export { copySave as exportSave, type SaveCopy } from './copying/copy-save.ts';
export { deleteSave } from './pruning/delete-save.ts';
export { type ReadableStore, runReading } from './reading/run-reading.ts';
export { copySave, hasSave, SaveDiffers, type SaveToCopy } from './transfer/copy-save.ts';
export { StoreError } from './store-error.ts';
