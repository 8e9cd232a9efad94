/** Which formats of matrix products has a GPU, and which one is meant where nobody says? */
import type { PlanRequestInput } from '../contract.ts';
import type { GpuFacts, Precision } from '../facts.ts';
import { gpuOf, type GpuPreset } from '../presets/gpus.ts';

export type GpuFormats = Pick<GpuFacts, 'fp8Tflops' | 'fp4Tflops'> & Pick<GpuPreset, 'lacksBf16'>;

/** fp8 came with Hopper and MI300; formats scaled by block, mxfp8 and nvfp4, with the generation that multiplies four bits. */
export function formatsOf({ fp8Tflops, fp4Tflops, lacksBf16 }: GpuFormats): readonly Precision[] {
  return [
    'fp32',
    'fp16',
    ...(lacksBf16 === true ? [] : (['bf16'] as const)),
    ...(fp8Tflops > 0 ? (['fp8'] as const) : []),
    ...(fp4Tflops > 0 ? (['mxfp8', 'nvfp4'] as const) : []),
  ];
}

/** What a request says, else what every GPU of it has: bf16, or fp16. Throws INVALID_REQUEST for a GPU that does not exist. */
export function precisionOf({ precision, cluster }: Pick<PlanRequestInput, 'precision' | 'cluster'>): Precision {
  const names = [cluster.gpu, ...(cluster.islands ?? []).flatMap(({ gpu }) => gpu ?? [])];
  return precision ?? (names.every((name) => formatsOf(gpuOf(name)).includes('bf16')) ? 'bf16' : 'fp16');
}
