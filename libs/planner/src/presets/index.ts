export { GPU_PRESETS, gpuOf, PRICE_BASIS, type GpuPreset } from './gpus.ts';
export { isHubName, MODEL_PRESETS, modelOf, type ModelPreset } from './models.ts';
export { namedOf } from './named.ts';
export { modelFromHuggingFace } from './hugging-face.ts';
export { resolveModel } from './resolve-model.ts';
export type { ResolvedModel } from './resolve-model.ts';
