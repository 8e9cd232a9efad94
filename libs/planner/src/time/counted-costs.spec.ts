/** What softmax and kernels of attention, biases of experts and layers kept in bf16 cost, beside what the same layers cost without. */
import type { CandidateLayout, RunFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName, type TimeConstants } from './constants.ts';
import { PARTS } from './block-cost.ts';
import { blockCostsOf, type BlockCosts } from './stage-cost.ts';

const CONSTANTS = Object.fromEntries(
  TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].unit === 's' ? 0 : TIME_CONSTANTS[name].start]),
) as Record<TimeConstantName, number> satisfies TimeConstants;
const GPU = gpuOf('b200');
const EXPERTS = { count: 4, topK: 2, ffnHiddenSize: 512, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };

function costs(facts: Partial<RunFacts>, candidate: Partial<CandidateLayout> = {}, linearBias = true): BlockCosts {
  const model = aModel({ experts: EXPERTS, hiddenSize: 1024, linearBias });
  const run = aRun({ model, cluster: aCluster(8, { gpu: GPU }), candidate, sequenceLength: 4096 });
  return blockCostsOf({ ...run, ...facts }, CONSTANTS);
}

describe('the softmax of fused attention', () => {
  it('starts an exponential for each score, and is none the faster for faster products', () => {
    const only = { ...CONSTANTS, flashSlowdown: 0, flashSequence: 0, flashSoftmax: 1 };
    const attentionS = (bf16Tflops: number): number => {
      const cluster = aCluster(8, { gpu: { ...GPU, bf16Tflops, memoryTbPerS: 1e30 } });
      const run = aRun({ model: aModel(), cluster, sequenceLength: 4096 });
      return blockCostsOf(run, only).attention.partsS[PARTS.indexOf('attention')] ?? 0;
    };
    const scores = (4096 * 4 * 4096) / 2;
    /** 148 multiprocessors start 16 in each of 1.85 billion cycles; backward takes 5/2 of forward, and its own factor. */
    const wantS = (scores / (148 * 16 * 1.85e9)) * (1 + 2.5 * CONSTANTS.flashBackward);
    expect(attentionS(GPU.bf16Tflops) / wantS).toBeCloseTo(1, 9);
    expect(attentionS(2 * GPU.bf16Tflops) / wantS).toBeCloseTo(1, 9);
  });
});

describe('fused attention', () => {
  /** Seconds of both passes over those of version 2 on samples without end, which backward takes 5/2 of forward. */
  const timesAsLong = (facts: Partial<RunFacts>, flashSequence: number, headDim = 128): number => {
    const run = aRun({ model: aModel({ headDim }), cluster: aCluster(8, { gpu: GPU }), sequenceLength: 4096 });
    const attentionS = (asked: RunFacts, tokens: number): number =>
      blockCostsOf(asked, { ...CONSTANTS, flashBackward: 1, flashFirst: 2, flashSequence: tokens }).attention.partsS[
        PARTS.indexOf('attention')
      ] ?? 0;
    return attentionS({ ...run, ...facts }, flashSequence) / attentionS(run, 0);
  };

  it.each([
    [256, 2],
    [128, 2],
    [96, 2 * 0.75 ** 0.33],
    [64, 2 * 0.5 ** 0.33],
    [32, 2 * 0.5 ** 0.33],
  ])('of version 1 with heads of %d takes %d times as long as version 2', (headDim, want) => {
    expect(timesAsLong({ firstFlashAttention: true }, 0, headDim)).toBeCloseTo(want, 9);
  });

  it.each<[string, Partial<RunFacts>, number]>([
    ['of version 2', {}, 1],
    ['of version 1, 2.28 times as long with heads of 128', { firstFlashAttention: true }, 2.28],
  ])('%s drops scores in both passes, each as long as 1.3 exponentials of every score', (_sentence, facts, times) => {
    const attentionS = (dropout: boolean): number => {
      const model = aModel({ headDim: 128, dropout });
      const run = aRun({ model, cluster: aCluster(8, { gpu: GPU }), sequenceLength: 4096 });
      const costs = blockCostsOf({ ...run, ...facts }, { ...CONSTANTS, flashSequence: 0 });
      return costs.attention.partsS[PARTS.indexOf('attention')] ?? 0;
    };
    const scores = (4096 * 4 * 4096) / 2;
    const wantS = (2 * 1.3 * scores) / (148 * 16 * 1.85e9);
    expect((attentionS(true) - attentionS(false)) / wantS).toBeCloseTo(times, 9);
  });

  it.each<[string, Partial<RunFacts>, number, number]>([
    ['loses 2.4 times as much backward as forward to short samples', {}, 4096, (2 + 2.5 * 3.4) / 3.5],
    ['of version 1 loses as large a share to them', { firstFlashAttention: true }, 4096, (2 * (2 + 2.5 * 3.4)) / 3.5],
  ])('%s', (_sentence, facts, flashSequence, want) => {
    expect(timesAsLong(facts, flashSequence)).toBeCloseTo(want, 9);
  });
});

describe('biases of experts', () => {
  /** Two of four experts for each token, in both halves of a gated activation of 512. */
  const ROWS = 2 * 4096;
  const secondsS = (perWidth: number, perInner: number): number =>
    (CONSTANTS.elementwiseFactor * ROWS * (1024 * perWidth + 1024 * perInner)) / (GPU.memoryTbPerS * 1e12);
  const more = (candidate: Partial<CandidateLayout>, pass: 'forwardS' | 'backwardInputS'): number =>
    costs({}, candidate).expertMlp[pass] - costs({}, candidate, false).expertMlp[pass];

  it.each<[string, Partial<CandidateLayout>, 'forwardS' | 'backwardInputS', number]>([
    ['28 bytes an element of the output forward, 8 of the input of the activation', {}, 'forwardS', secondsS(28, 8)],
    ['40 and 10 backward', {}, 'backwardInputS', secondsS(40, 10)],
    [
      'and the 8 once more where the activation is computed again',
      { recompute: 'selective', recomputeModules: ['moe_act'] },
      'backwardInputS',
      secondsS(40, 18),
    ],
    ['nothing in a graph of the whole iteration, where they are fused', { cudaGraphs: 'full' }, 'forwardS', 0],
  ])('move %s', (_sentence, candidate, pass, want) => {
    expect(more(candidate, pass) * 1e6).toBeCloseTo(want * 1e6, 6);
  });
});

describe('what a run in 4 bits keeps in bf16', () => {
  const forwardS = (facts: Partial<RunFacts>, block: keyof BlockCosts): number => costs(facts)[block].forwardS;
  const fp4 = { precision: 'nvfp4' as const };
  const kept = (attention: boolean, layersShare: number): Partial<RunFacts> => ({
    ...fp4,
    keptInBf16: { attention, layersShare },
  });

  it.each<[string, keyof BlockCosts, Partial<RunFacts>, number]>([
    ['all of attention', 'attention', kept(true, 0), 1],
    ['a quarter of the layers', 'expertMlp', kept(false, 0.25), 0.25],
    ['a quarter of attention with its layers', 'attention', kept(false, 0.25), 0.25],
    ['nothing where only attention is named', 'expertMlp', kept(true, 0), 0],
  ])('costs what bf16 costs: %s', (_sentence, block, facts, share) => {
    const want = share * forwardS({ precision: 'bf16' }, block) + (1 - share) * forwardS(fp4, block);
    expect(forwardS(facts, block)).toBeCloseTo(want, 12);
  });
});

describe('what a run in 8 bits quantises besides linear layers', () => {
  /** Memory, softmax and short samples cost nothing: what is left are products. */
  const products = { ...CONSTANTS, flashSoftmax: 0, flashSequence: 0, mxfp8Slowdown: 1 };
  const gpu = { ...GPU, memoryTbPerS: 1e30 };
  const run = aRun({ model: aModel(), cluster: aCluster(8, { gpu }), sequenceLength: 4096, precision: 'mxfp8' });
  const secondsS = (block: 'attention' | 'loss', alsoIn8Bits?: RunFacts['alsoIn8Bits']): number =>
    blockCostsOf({ ...run, ...(alsoIn8Bits === undefined ? {} : { alsoIn8Bits }) }, products)[block].partsS[
      PARTS.indexOf(block === 'loss' ? 'vocabulary' : 'attention')
    ] ?? 0;
  const NEITHER = { attention: false, outputProjection: false };

  it.each<['attention' | 'loss', Partial<typeof NEITHER>, number]>([
    ['attention', { attention: true }, GPU.bf16Tflops / GPU.fp8Tflops],
    ['attention', { outputProjection: true }, 1],
    ['loss', { outputProjection: true }, GPU.bf16Tflops / GPU.fp8Tflops],
    ['loss', { attention: true }, 1],
  ])('multiplies as fast as they do: %s with %j', (block, what, want) => {
    expect(secondsS(block, { ...NEITHER, ...what }) / secondsS(block)).toBeCloseTo(want, 9);
  });
});

describe('experts in a graph of the whole iteration in MXFP8', () => {
  it('activate and cast between their products for nothing, and copy away and back what the backward pass reads', () => {
    const memoryS = (candidate: Partial<CandidateLayout>): number =>
      costs({ precision: 'mxfp8' }, candidate, false).expertMlp.partsS[PARTS.indexOf('memoryBound')] ?? 0;
    const rows = 2 * 4096;
    const bytes = CONSTANTS.elementwiseFactor * 3.6 * (1024 + 512) * 2 + CONSTANTS.quantiseFactor * 4 * (1024 + 512);
    /** The inputs of both products in a byte and the bf16 between them, read and written twice. */
    const stashed = CONSTANTS.elementwiseFactor * 4 * (1024 + 2 * 1024 + 512);
    const savedS = memoryS({ cudaGraphs: 'partial' }) - memoryS({ cudaGraphs: 'full' });
    expect(savedS * 1e6).toBeCloseTo(((rows * (bytes - stashed)) / (GPU.memoryTbPerS * 1e12)) * 1e6, 6);
  });
});

describe('putting tokens in the order of their experts', () => {
  /** Of 4,096 tokens on each of two ranks, which both have two of four experts; elements that are moved for each token, of which two copies go out. */
  const ARRIVED = 2 * (1 - (1 / 2) ** 2);
  const elements = (candidate: Partial<CandidateLayout>, precision: RunFacts['precision'] = 'bf16'): number => {
    const routingS =
      costs({ precision }, { expert: 2, data: 2, ...candidate }, false).expertMlp.partsS[PARTS.indexOf('routing')] ?? 0;
    const bytes = (routingS / 2 / CONSTANTS.routingFactor) * GPU.memoryTbPerS * 1e12;
    return (bytes / 4096 - EXPERTS.count * 12 - 1024 * 2) / (1024 * 2);
  };
  const capacity = { expertCapacity: 1 };

  it.each<[string, Partial<CandidateLayout>, RunFacts['precision'], number]>([
    ['reads a token, writes two copies and sorts what came; all of it back', { ...capacity }, 'bf16', 2 * (3 + 4)],
    ['sorts nothing where a rank has one expert', { ...capacity, expert: 4, data: 4 }, 'bf16', 2 * 3],
    [
      'reads what came once to each rank and writes it for each expert with HybridEP',
      { ...capacity, dispatcher: 'hybridep' },
      'bf16',
      2 * (ARRIVED + 2),
    ],
    ['does not copy to full rows of 8 bits with a fixed capacity', { ...capacity }, 'mxfp8', 2 * (3 + 4)],
  ])('%s', (_sentence, candidate, precision, want) => {
    expect(elements(candidate, precision)).toBeCloseTo(want, 6);
  });

  it('copies rows of 8 bits to multiples and back, but not with HybridEP, which writes them so', () => {
    const more = (dispatcher: 'alltoall' | 'deepep' | 'hybridep'): number =>
      elements({ dispatcher }, 'mxfp8') - elements({ dispatcher });
    const rows = elements({ dispatcher: 'hybridep' }) / 2 - ARRIVED;
    expect(more('alltoall')).toBeCloseTo(2 * 2 * rows, 6);
    expect(more('deepep')).toBeCloseTo(2 * 2 * rows, 6);
    expect(more('hybridep')).toBeCloseTo(0, 6);
  });
});

describe('the scan of a mixer', () => {
  const MIXER = {
    layerPattern: 'M-M-',
    stateSpace: { stateSize: 64, heads: 32, headDim: 64, groups: 8, convKernel: 4 },
  };
  const scanS = (gpu: Partial<typeof GPU>, tensor = 1): number => {
    const cluster = aCluster(8, { gpu: { ...GPU, memoryTbPerS: 1e30, scaleUpGbPerS: 1e30, ...gpu } });
    const run = aRun({ model: aModel(MIXER), cluster, candidate: { tensor }, sequenceLength: 4096 });
    return blockCostsOf(run, { ...CONSTANTS, scanCycles: 10 }).stateSpace.partsS[PARTS.indexOf('memoryBound')] ?? 0;
  };
  const products = (withStates: number, inChunk: number, ofGroups: number): number =>
    2 * (2048 * (withStates * 64 + inChunk * 128) + ofGroups * 8 * 64 * 128);

  it('takes the cycles of its products, 3 forward and 9 backward, on 148 multiprocessors at 1.85 GHz', () => {
    const kiloFlops = (4096 * (products(2, 1, 1) + products(5, 3, 3))) / 1e3;
    expect((scanS({}) * 148 * 1.85e9) / (10 * kiloFlops)).toBeCloseTo(1, 9);
  });

  it('is no faster where tensor cores are, and half as long on two ranks', () => {
    expect(scanS({ bf16Tflops: 2 * GPU.bf16Tflops }) / scanS({})).toBeCloseTo(1, 9);
    expect(scanS({}, 2) / scanS({})).toBeCloseTo(1 / 2, 9);
  });
});
