import type { Precision } from '../facts.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aModel, aRun } from '../testing/runs.ts';
import { isVocabularySharded, memoryFactsOf } from './memory-facts.ts';

// The model of the builder: hidden size 16, 64 words; eight tokens per sample.
describe('memoryFactsOf', () => {
  it.each<[string, Parameters<typeof aRun>[0], number]>([
    ['logits in bf16 and in fp32 (6 bytes), final norm and input of the head', {}, 8 * 6 * 64 + 2 * 2 * 8 * 16],
    [
      'two micro-batches at once are twice as many',
      { candidate: { microBatchSize: 2 } },
      2 * (8 * 6 * 64 + 2 * 2 * 8 * 16),
    ],
    ['context ranks share the tokens', { candidate: { context: 4 } }, (8 * 6 * 64 + 2 * 2 * 8 * 16) / 4],
    ['tensor ranks the words', { candidate: { tensor: 2 } }, (8 * 6 * 64) / 2 + 2 * 2 * 8 * 16],
    [
      'and with sequence parallelism the rest',
      { candidate: { tensor: 2, sequenceParallel: true } },
      (8 * 6 * 64 + 2 * 2 * 8 * 16) / 2,
    ],
    [
      'a sharded vocabulary is spread over the pipeline too',
      { candidate: { pipeline: 4, vocabulary: 'sharded-over-pp' } },
      (8 * 6 * 64) / 4 + 2 * 2 * 8 * 16,
    ],
    ['in fp32 logits and their gradients, 8 bytes', { precision: 'fp32' }, 8 * 8 * 64 + 2 * 4 * 8 * 16],
    ['10 bytes in Megatron-DeepSpeed', { stack: 'megatron-deepspeed' }, 8 * 10 * 64 + 2 * 2 * 8 * 16],
  ])('bytes of the loss: %s', (_, run, want) => {
    expect(memoryFactsOf(aRun(run)).lossBytes).toBe(want);
  });

  it.each<[string, Parameters<typeof aRun>[0], number, number]>([
    ['tokens times hidden size in bf16', {}, 2 * 8 * 16, 0],
    ['a dropout mask behind the embedding takes a byte', { model: aModel({ dropout: true }) }, 2 * 8 * 16, 8 * 16],
    ['in fp32', { precision: 'fp32' }, 4 * 8 * 16, 0],
    ['split by sequence parallelism', { candidate: { tensor: 4, sequenceParallel: true } }, (2 * 8 * 16) / 4, 0],
    ['whole without it', { candidate: { tensor: 4 } }, 2 * 8 * 16, 0],
  ])('one tensor between stages: %s', (_, run, boundary, mask) => {
    const { boundaryBytes, embeddingMaskBytes } = memoryFactsOf(aRun(run));
    expect([boundaryBytes, embeddingMaskBytes]).toEqual([boundary, mask]);
  });

  it.each<[Precision, number, readonly number[]]>([
    ['bf16', 0, [2, 4, 12]],
    ['fp16', 0, [2, 4, 12]],
    ['fp32', 0, [4, 4, 8]],
    ['fp8', 0, [2, 4, 12]],
    ['mxfp8', 2 / 32, [2, 4, 12]],
    ['nvfp4', 2 * (1 / 2 + 1 / 16), [2, 4, 12]],
  ])('%s: %d bytes per matrix parameter beside weights, gradients and optimizer of %j', (precision, extra, states) => {
    const { quantizedBytes, full } = memoryFactsOf(aRun({ precision }));
    expect(quantizedBytes).toBe(extra);
    expect([full.weights, full.gradients, full.optimizer]).toEqual(states);
  });

  it('moments of another width change the optimizer alone', () => {
    expect(memoryFactsOf(aRun({ momentBytes: 2 })).full).toEqual({ weights: 2, gradients: 4, optimizer: 4 + 2 });
  });

  it.each([
    [0, 1],
    [4, (1.5 * 4) / 16],
    [64, 1],
  ])('adapters of rank %d train %d of the parameters, never more than all', (loraRank, share) => {
    expect(memoryFactsOf(aRun({ loraRank })).trainedShare).toBe(share);
  });

  it('stated adapters are counted matrix by matrix, and their own weights are held', () => {
    const lora = { rank: 2, targets: ['q_proj' as const] };
    const { model, trainedShare, adapterShare, parameters } = memoryFactsOf(aRun({ loraRank: 2, lora }));
    const ofLayer = 2 * (model.hiddenSize + model.attentionHeads * model.headDim);
    expect(trainedShare).toBe((model.layers * ofLayer) / parameters.total);
    expect(adapterShare).toBe(trainedShare);
  });

  const distopt = { zeroStage: 1, zeroImplementation: 'distopt' } as const;
  it.each<[string, Parameters<typeof aRun>[0], number]>([
    ['gradients in fp32 are not copied', {}, 0],
    ['those in bf16 are', { gradientBytes: 2 }, 4],
    ['each rank its share of them', { gradientBytes: 2, candidate: { ...distopt, data: 8 } }, 4 / 8],
    ['fp32 training copies nothing', { gradientBytes: 2, precision: 'fp32' }, 0],
    [
      'InternEvo copies 12 bytes, each rank its share',
      { stack: 'internevo', candidate: { ...distopt, data: 4 } },
      12 / 4,
    ],
  ])('copies in the optimizer step: %s', (_, run, bytes) => {
    expect(memoryFactsOf(aRun(run)).stepCopyBytes.dense).toBe(bytes);
  });

  it('shards experts over fewer ranks than dense weights', () => {
    const experts = { count: 8, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
    const candidate = { ...distopt, data: 16, expert: 4 };
    const { dense, expert, full } = memoryFactsOf(aRun({ model: aModel({ experts }), candidate }));
    expect([dense.optimizer, expert.optimizer]).toEqual([full.optimizer / 16, full.optimizer / (16 / 4)]);
    expect([dense.weights, expert.weights]).toEqual([full.weights, full.weights]);
  });

  it('computes layers that keep their input only where some are computed again in full', () => {
    const { perKind, perKindFully } = memoryFactsOf(
      aRun({ candidate: { recompute: 'full', recomputeLayersPerChunk: 1 } }),
    );
    expect(perKindFully[0]?.kept).toBe(2 * 16 * 8);
    expect(perKind[0]?.kept).toBeGreaterThan(2 * 16 * 8);
    const none = memoryFactsOf(aRun());
    expect(none.perKindFully).toBe(none.perKind);
  });
});

describe('isVocabularySharded', () => {
  it.each([
    ['end-stages', 4, false],
    ['counted-as-layer', 4, false],
    ['sharded-over-pp', 4, true],
    ['interlaced', 4, true],
    ['sharded-over-pp', 1, false],
  ] as const)('%s on %d pipeline ranks: %j', (vocabulary, pipeline, want) => {
    expect(isVocabularySharded(aCandidate({ vocabulary, pipeline }))).toBe(want);
  });
});
