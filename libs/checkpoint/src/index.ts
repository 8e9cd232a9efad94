export {
  saveLocations,
  candidateSaves,
  describeIncomplete,
  describeIncompletePart,
  unpointedSaves,
  type EngineSave,
  type NamedSaves,
} from './engine-saves.ts';
export { filesOfRanks } from './files-of-ranks.ts';
export type { RanksOfGang } from './files-of-ranks.ts';
export type { EngineFormat, SavedFile } from './formats/checkpoint-format.ts';
export { isUniversal, LATEST as DEEPSPEED_POINTERS } from './formats/deepspeed/deepspeed.ts';
export { universalCopyOf } from './formats/deepspeed/universal-copy.ts';
export { megatronFormat, savedFormat, startFormats, wholenessCheck } from './formats/formats.ts';
export { DCP_INDEX_FILE } from './formats/dcp/dcp.ts';
export { MANIFEST_FILE } from './formats/manifest-file.ts';
export { applyRetention, isVerified, protectionsOf, type RetainedSave } from './retention/apply-retention.ts';
export { deletionOrder } from './retention/deletion-order.ts';
export { deletionOf, pointerFiles, type SaveBelow, savesBelow, stepOfPointer } from './retention/saves-below.ts';
export { headEnd, lastTensorEnd } from './formats/safetensors/cut-off.ts';
export { SAFETENSORS } from './formats/safetensors/safetensors.ts';
export { TORCH_DIST, torchDistConverter } from './formats/torch-dist/torch-dist.ts';
export { END_BYTES, isTruncated } from './formats/torch-save.ts';
export { CheckpointManifest } from './manifest.ts';
export { type FoundSave, halfWrittenFormats, isSaveName, markerFiles, unmarkedSaves } from './half-written.ts';
export { BROKEN_VERDICTS, isFoundBroken, isGood, isNewer, newestRestorable } from './newest-restorable.ts';
export { describeVerificationRequest, isAsClose, pendingVerification } from './verification-request.ts';
export { adoptedSave, adoptionProblem, comparedFileList, fileListSha256, pathForJob } from './adoption/adopted-save.ts';
export {
  compareSaves,
  type Difference,
  type Listed,
  type PartDifferences,
  type SaveDifferences,
} from './compare/compare-saves.ts';
export { storedChecksums } from './compare/stored-checksums.ts';
export { contentsOf, holdsOptimizer } from './contents-of.ts';
export { bestSaveIntervalMs } from './save-interval.ts';
export { describeUnlisted, halfUploadedSaves, UPLOAD_FILE } from './uploads.ts';
export { isPartFile, type MergedParts, mergeParts, partFile, SavePart } from './save-parts.ts';
export {
  checkpointName,
  conversionFolder,
  isConversionFolder,
  convertedName,
  convertedPath,
  incarnationOf,
  isOwnSave,
  keptLogsPlace,
  saveDirectoryOf,
} from './paths.ts';
export { type Conversion, judgeLoad, type LoadVerdict } from './loads/judge-load.ts';
export { knownSave, type KnownSave, type LoadTarget } from './loads/known-save.ts';
export { describeLoadRefusal } from './loads/load-refusal.ts';
export {
  conversionFormat,
  type ConvertedPlace,
  describeConversion,
  neededConversion,
  type NeededConversion,
} from './loads/needed-conversion.ts';
export { isSameDivision, layoutToLoad } from './loads/layout-to-load.ts';
export { recordedSave } from './loads/recorded-save.ts';
export {
  converterArguments,
  converterLimitMs,
  converterDiskBytes,
  converterResources,
  converterScratchBytes,
  converterWorkers,
  describeBadConversion,
  describeUnconvertible,
  isPartOfConversion,
  type SaveToConvert,
  UNIVERSAL_CONVERTER,
  UNIVERSAL_FOLDER,
  UNIVERSAL_FORMAT,
} from './loads/universal-conversion.ts';
export { type Level, LEVELS } from './verify/finding.ts';
export { LARGEST_METADATA_BYTES } from './verify/look.ts';
export { hasReader, isReadable, type SaveLook, type Verdict, verifySave } from './verify/verify-save.ts';
export { parsePythonJson } from './read/parse-json.ts';
export {
  CONVERSION_FILE,
  type Crc32,
  DELETION_FILE,
  type Reading,
  RESHARD_FILE,
  type StoredFile,
} from './read/save-files.ts';
export { type SavedTensor, volumeOf } from './read/saved-state.ts';
export { bytesOfDtype } from './read/dtypes.ts';
export { type Band, type BandPart, bandsOf } from './reshard/bands.ts';
export { copyPart, type FilledBox, intersect, placeIn as offsetIn, runIn } from './reshard/boxes.ts';
export { type Division, divideColumns, divideRows } from './reshard/divide.ts';
export { reshardMemoryBytes, reshardWorkers } from './reshard/reshard-workers.ts';
export { divideByLayout, layoutProblem, ranksOfLayout, type ReshardLayout, tensorDim } from './reshard/layouts.ts';
export {
  pieceBytesFor,
  plannedState,
  type PlannedObject,
  type PlannedPiece,
  type PlannedTensor,
  planReshard,
  type ReshardPlan,
  sharesOf,
  type TargetChunk,
  UnplannableSave,
} from './reshard/plan-reshard.ts';
export { castElements } from './convert/cast-elements.ts';
export { combineCrc32 } from './convert/combine-crc32.ts';
export {
  convertedSaveIn,
  converterCommand,
  describeUnfitSource,
  describeUnknownConversion,
  ENGINE_CONVERTERS,
  type EngineConversion,
  type EngineConverter,
} from './convert/engine-converters.ts';
export { flatBoxes } from './convert/flat-boxes.ts';
export { type ConvertedTensor, sourcesOf, type SourcePiece } from './convert/converted-tensor.ts';
export {
  CONVERSION_FORMATS,
  type ConversionFormat,
  type ConversionPlan,
  CONVERTED_DTYPES,
  planConversion,
} from './convert/plan-conversion.ts';
export { type LeftBehind, leftBehindOf } from './convert/left-behind.ts';
export { planFullyReshardable } from './convert/megatron-optimizer/plan-fully-reshardable.ts';
export { readKeptState } from './convert/megatron-optimizer/read-kept-state.ts';
export { SPELLINGS, type SpellingName } from './convert/spellings.ts';
export type { ConvertedFile, WrittenRange } from './convert/target-files.ts';
export { inRowOrder, placeOfChunk, type SourcePlace } from './reshard/source-place.ts';
export { describeCrcs, readCheckedItem } from './verify/archives.ts';
export { torchSaveFrame } from './formats/torch-save/write-tensor.ts';
export { type KeyPath, writeDcpMetadata } from './formats/dcp/write-dcp-metadata.ts';
export { readKeyPaths } from './formats/dcp/read-key-paths.ts';
export { UnreadableSave } from './read/unreadable-save.ts';
