/** Are the starting constants of fused attention those of the kernels that were measured on one H100 and one H200 and published of A100 and H100? */
import { readFileSync } from 'node:fs';
import type { RunFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { PARTS } from './block-cost.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName } from './constants.ts';
import { blockCostsOf } from './stage-cost.ts';

const START = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;

interface Kernel {
  readonly heads: number;
  readonly headWidth: number;
  readonly length: number;
  readonly samples: number;
  /** Forward and backward. */
  readonly measuredS: number;
}

interface OwnKernel {
  readonly kernel: string;
  readonly batch: number;
  readonly heads: number;
  readonly length: number;
  readonly head_width: number;
  readonly forward_seconds: number;
  readonly backward_seconds: number;
}

interface PublishedKernel {
  readonly gpu: string;
  readonly kernel: string;
  readonly head_width: number;
  readonly length: number;
  readonly tflops: number;
}

/** Kernels that are longer than their launch, of widths that they are written for. */
const FILLED = ({ batch, heads, head_width: width }: OwnKernel): boolean => batch * heads > 12 && width % 64 === 0;

function own(file: string, kernel: string): readonly Kernel[] {
  return attentionIn<OwnKernel>(file)
    .filter((one) => one.kernel === kernel && FILLED(one))
    .map(({ heads, head_width: headWidth, length, batch: samples, ...one }) => ({
      heads,
      headWidth,
      length,
      samples,
      measuredS: one.forward_seconds + one.backward_seconds,
    }));
}

/** 16,384 tokens and 2,048 channels; samples of 512 tokens are left out. */
function published(gpu: string, kernel: string): readonly Kernel[] {
  return attentionIn<PublishedKernel>('attention_published.json')
    .filter((one) => one.gpu.startsWith(gpu) && one.kernel === kernel && one.length >= 1024)
    .map(({ head_width: headWidth, length, tflops }) => ({
      heads: 2048 / headWidth,
      headWidth,
      length,
      samples: 16_384 / length,
      measuredS: (7 * 16_384 * length * 2048) / (tflops * 1e12),
    }));
}

function attentionIn<Row>(file: string): readonly Row[] {
  const text = readFileSync(new URL(`../../../../research/planner-calibration/data/${file}`, import.meta.url), 'utf8');
  return (JSON.parse(text) as { attention: Row[] }).attention;
}

function attentionS({ heads, headWidth, length, samples }: Kernel, gpu: string, facts: Partial<RunFacts>): number {
  const run = aRun({
    model: aModel({ attentionHeads: heads, keyValueHeads: heads, headDim: headWidth, hiddenSize: heads * headWidth }),
    cluster: aCluster(1, { gpu: gpuOf(gpu) }),
    candidate: aCandidate({ microBatchSize: samples }),
    globalBatchSize: samples,
    sequenceLength: length,
    ...facts,
  });
  return blockCostsOf(run, START).attention.partsS[PARTS.indexOf('attention')] ?? 0;
}

const AMPERE: Partial<RunFacts> = { ampereFlashAttention: true };
const FIRST: Partial<RunFacts> = { ampereFlashAttention: true, firstFlashAttention: true };

describe('the constants of fused attention before any fit', () => {
  it.each<[string, readonly Kernel[], [string, Partial<RunFacts>], [mean: number, most: number]]>([
    ['cuDNN on one H100', own('primitives_h100.json', 'cudnn'), ['h100', {}], [0.06, 0.12]],
    ['cuDNN on one H200', own('primitives_h200.json', 'cudnn'), ['h200', {}], [0.06, 0.12]],
    ['FlashAttention 2 on one H100', own('primitives_h100.json', 'flash'), ['h100', AMPERE], [0.06, 0.12]],
    ['FlashAttention 2 on one H200', own('primitives_h200.json', 'flash'), ['h200', AMPERE], [0.06, 0.12]],
    ['FlashAttention 2 on A100, published', published('A100', 'FlashAttention-2'), ['a100-80gb', {}], [0.06, 0.12]],
    ['FlashAttention 2 on H100, published', published('H100', 'FlashAttention-2'), ['h100', AMPERE], [0.17, 0.25]],
    ['FlashAttention 1 on A100, published', published('A100', 'FlashAttention'), ['a100-80gb', FIRST], [0.06, 0.14]],
    ['the same in Triton, published', published('A100', 'FlashAttention Triton'), ['a100-80gb', FIRST], [0.13, 0.25]],
    ['FlashAttention 1 on H100, published', published('H100', 'FlashAttention'), ['h100', FIRST], [0.18, 0.36]],
  ])('are near %s', (_sentence, kernels, [gpu, facts], [mean, most]) => {
    const off = kernels.map((kernel) => Math.log(attentionS(kernel, gpu, facts) / kernel.measuredS));
    expect(kernels.length).toBeGreaterThanOrEqual(9);
    const sizes = off.map(Math.abs);
    expect(sizes.reduce((sum, size) => sum + size, 0) / sizes.length).toBeLessThan(mean);
    expect(Math.max(...sizes)).toBeLessThan(most);
  });
});
