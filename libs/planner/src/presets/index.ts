export { GPU_PRESETS, gpuOf, PRICE_BASIS, type GpuPreset } from './gpus.ts';
export { MODEL_PRESETS, modelOf, type ModelPreset } from './models.ts';
export { namedOf, nearestNames, type Named } from './named.ts';
export { HUGGING_FACE_MODEL_TYPES, modelFromHuggingFace, type ImportedModel } from './hugging-face.ts';
