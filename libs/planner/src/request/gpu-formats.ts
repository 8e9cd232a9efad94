/** Formats of matrix products that GPUs support, and the default format. */
import type { PlanRequestInput } from '../contract.ts';
import type { GpuFacts, Precision } from '../facts.ts';
import { gpuOf, type GpuPreset } from '../presets/gpus.ts';

/** Properties of a GPU that decide its formats. */
export type GpuFormats = Pick<GpuFacts, 'fp8Tflops' | 'fp4Tflops'> & Pick<GpuPreset, 'lacksBf16'>;

/** Formats that a GPU supports. fp8 needs Hopper or MI300; mxfp8 and nvfp4 need a GPU with 4-bit products. */
export function formatsOf({ fp8Tflops, fp4Tflops, lacksBf16 }: GpuFormats): readonly Precision[] {
  return [
    'fp32',
    'fp16',
    ...(lacksBf16 === true ? [] : (['bf16'] as const)),
    ...(fp8Tflops > 0 ? (['fp8'] as const) : []),
    ...(fp4Tflops > 0 ? (['mxfp8', 'nvfp4'] as const) : []),
  ];
}

/** The precision of a request, by default bf16, or fp16 if one of its GPUs has no bf16. Throws INVALID_REQUEST for an unknown GPU. */
export function precisionOf({ precision, cluster }: Pick<PlanRequestInput, 'precision' | 'cluster'>): Precision {
  const names = [cluster.gpu, ...(cluster.islands ?? []).flatMap(({ gpu }) => gpu ?? [])];
  return precision ?? (names.every((name) => formatsOf(gpuOf(name)).includes('bf16')) ? 'bf16' : 'fp16');
}
