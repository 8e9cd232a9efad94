export type { CheckpointStore } from './checkpoint-store.ts';
export { openStore } from './open-store.ts';
export { SourceDamaged } from './resharding/reshard-piece.ts';
export { type ReshardOutcome, runReshard } from './resharding/run-reshard.ts';
export { deleteSave } from './pruning/delete-save.ts';
export { type ReadableStore, runReading } from './reading/run-reading.ts';
export { StoreError } from './store-error.ts';
