export type { CheckpointStore } from './checkpoint-store.ts';
export { areNested } from './directory/are-nested.ts';
export { DirectoryStore } from './directory/directory-store.ts';
export { openStore } from './open-store.ts';
export { copySave, hasSave, SaveDiffers, type SaveToCopy } from './copying/copy-save.ts';
export { copyListed, hasListed, type ListedSave } from './copying/copy-listed.ts';
export { exportSave } from './copying/export-save.ts';
export { type ConversionOutcome, runConversion } from './converting/run-conversion.ts';
export { DIVISIONS, planSave, type ReshardTarget, sourceIdOf } from './resharding/plan-save.ts';
export { SourceDamaged } from './resharding/reshard-piece.ts';
export { type ReshardOutcome, runReshard } from './resharding/run-reshard.ts';
export { deleteSave } from './pruning/delete-save.ts';
export { type ReadableStore, runReading } from './reading/run-reading.ts';
export {
  calledSaves,
  callForParts,
  endCall,
  leftByUploads,
  PartsDiffer,
  publishParts,
  readParts,
  type UploadedParts,
  uploadPart,
} from './copying/save-parts.ts';
export { StoreError } from './store-error.ts';
