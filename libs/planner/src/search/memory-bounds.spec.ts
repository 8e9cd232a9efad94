import fc from 'fast-check';
import type { CandidateLayout } from '../facts.ts';
import { memoryFactsOf } from '../memory/memory-facts.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aCluster, aModel, aRun } from '../testing/runs.ts';
import { TIME_CONSTANT_NAMES, TIME_CONSTANTS, type TimeConstantName } from '../time/constants.ts';
import { MemoryBounds } from './memory-bounds.ts';
import { runFactsOf, searchedRunOf } from './searched-run.ts';

const CONSTANTS = Object.fromEntries(TIME_CONSTANT_NAMES.map((name) => [name, TIME_CONSTANTS[name].start])) as Record<
  TimeConstantName,
  number
>;
const RUN = searchedRunOf(aRun({ model: aModel(), cluster: aCluster(16) }), CONSTANTS);
const bounds = new MemoryBounds(RUN);
/** Queries, keys, values and output of 4 and 2 heads of 4; a gated MLP of 32; two norms of 16. */
const LAYER = 16 * (16 + 2 * 8 + 16) + 3 * 16 * 32 + 2 * 16;

describe('the memory of a mean rank', () => {
  const bytesOf = (layout: Partial<CandidateLayout>): number => {
    const candidate = aCandidate(layout);
    return bounds.meanRankBytes(candidate, memoryFactsOf(runFactsOf(RUN, candidate)));
  };

  it.each<[string, Partial<CandidateLayout>, number]>([
    ['18 bytes per parameter of all layers', {}, 8 * LAYER * 18],
    ['those of two layers on each of 4 ranks', { pipeline: 4 }, 2 * LAYER * 18],
    [
      '6 and a share of 12 with ZeRO-1 over 4 replicas',
      { data: 4, zeroStage: 1, zeroImplementation: 'distopt' },
      8 * LAYER * (6 + 12 / 4),
    ],
    [
      '6 where the optimizer is offloaded',
      { data: 4, zeroStage: 1, zeroImplementation: 'distopt', offloadOptimizer: 1 },
      8 * LAYER * 6,
    ],
    [
      'half of the matrices on each of two tensor ranks, which both hold the norms',
      { tensor: 2 },
      8 * ((LAYER - 32) / 2 + 32) * 18,
    ],
  ])(
    'without activations is %s (Megatron-LM: 18, and 6 + 12 / d with its distributed optimizer)',
    (_sentence, layout, want) => {
      expect(bytesOf({ ...layout, offloadActivations: 1 })).toBeCloseTo(want, 2);
    },
  );

  it('has the inputs of its layers with full recomputation: 2 bytes per token and element', () => {
    expect(bytesOf({ recompute: 'full' }) - bytesOf({ offloadActivations: 1 })).toBeCloseTo(8 * 8 * 16 * 2, 2);
  });
});

describe('the memory of the loss', () => {
  const lossBytesOf = (layout: Partial<CandidateLayout> = {}): number =>
    bounds.lossBytes(memoryFactsOf(runFactsOf(RUN, aCandidate(layout))));

  it('grows with the tokens of a micro-batch and is divided over tensor ranks that share the vocabulary', () => {
    const one = lossBytesOf();
    expect(lossBytesOf({ microBatchSize: 4 })).toBeCloseTo(4 * one, 2);
    // Logits in bf16 and fp32 at least, 2205.05198 section 4.3; beside them norm and input of the head in 2 bytes each.
    expect(one).toBeGreaterThanOrEqual(8 * 64 * 4 + 2 * 2 * 8 * 16);
    expect(lossBytesOf({ tensor: 2 }) - 4 * 8 * 16).toBeCloseTo((one - 4 * 8 * 16) / 2, 2);
  });

  it('is the same whatever is kept of states and activations', () => {
    const least = {
      recompute: 'full',
      zeroStage: 3,
      zeroImplementation: 'fsdp',
      data: 2,
      offloadOptimizer: 1,
    } as const;
    expect(lossBytesOf(least)).toBe(lossBytesOf({ data: 2 }));
  });
});

describe('the memory of a schedule', () => {
  it.each<[string, Partial<CandidateLayout>, { kept: number; ratio: number }, number]>([
    [
      '4, 3, 2 and 1 micro-batches on 1F1B',
      { pipeline: 4 },
      { kept: 100, ratio: 0 },
      100 / (1 / 4 + 1 / 3 + 1 / 2 + 1),
    ],
    [
      'the same beside states as large as one of them',
      { pipeline: 4 },
      { kept: 100, ratio: 1 },
      100 / (1 / 5 + 1 / 4 + 1 / 3 + 1 / 2),
    ],
    ['all 16 on GPipe', { pipeline: 4, schedule: 'gpipe' }, { kept: 100, ratio: 0 }, 100 / (4 / 16)],
    ['the 2 that there are', { pipeline: 4, data: 8, schedule: 'gpipe' }, { kept: 100, ratio: 0 }, 100 / (4 / 2)],
    ['none without a pipeline, where one counts all', {}, { kept: 100, ratio: 1 }, 0],
    ['none where layers keep nothing', { pipeline: 4 }, { kept: 0, ratio: 0 }, 0],
  ])('has in flight %s', (_sentence, layout, layers, want) => {
    expect(bounds.scheduleBytes(aCandidate(layout), layers)).toBeCloseTo(want, 6);
  });

  it('is never above what the fullest rank of 1F1B takes, however the layers are shared among ranks', () => {
    const kept = fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(kept, fc.double({ min: 0, max: 9, noNaN: true }), (ranks, ratio) => {
        const pipeline = ranks.length;
        const candidate = aCandidate({ pipeline });
        const least = bounds.scheduleBytes(candidate, { kept: ranks.reduce((sum, share) => sum + share, 0), ratio });
        const fullest = Math.max(...ranks.map((share, rank) => share * (ratio + pipeline - rank)));
        expect(least).toBeLessThanOrEqual(fullest * (1 + 1e-9));
      }),
    );
  });
});

describe('what layers keep of a micro-batch', () => {
  it('is that of all layers; states of a layer are as many times that as the ratio says', () => {
    const candidate = aCandidate({ pipeline: 2, recompute: 'full' });
    const { kept, ratio } = bounds.layerBytes(candidate, memoryFactsOf(runFactsOf(RUN, candidate)));
    expect(kept).toBeCloseTo(8 * 8 * 16 * 2, 6);
    expect(ratio).toBeCloseTo((LAYER * 18) / (8 * 16 * 2), 9);
  });

  it('is the least ratio where layers differ', () => {
    const experts = { count: 4, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 2, latentSize: 0 };
    const run = searchedRunOf(aRun({ model: aModel({ experts, gatedMlp: false }), cluster: aCluster(16) }), CONSTANTS);
    const candidate = aCandidate({ pipeline: 2, recompute: 'full' });
    const { ratio } = new MemoryBounds(run).layerBytes(candidate, memoryFactsOf(runFactsOf(run, candidate)));
    const dense = 16 * 48 + 2 * 16 * 32 + 2 * 16;
    const mixture = 16 * 48 + 4 * 2 * 16 * 8 + 16 * 4 + 2 * 16;
    expect(ratio).toBeCloseTo((Math.min(dense, mixture) * 18) / (8 * 16 * 2), 9);
  });
});
