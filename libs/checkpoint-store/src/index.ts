export type { CheckpointStore } from './checkpoint-store.ts';
export { openStore } from './open-store.ts';
export { copySave, type SaveCopy } from './copying/copy-save.ts';
export { deleteSave } from './pruning/delete-save.ts';
export { type ReadableStore, runReading } from './reading/run-reading.ts';
export { StoreError } from './store-error.ts';
