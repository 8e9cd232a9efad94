export { GPU_PRESETS, gpuOf, PRICE_BASIS, type GpuPreset } from './gpus.ts';
export { namedOf, nearestNames, type Named } from './named.ts';
