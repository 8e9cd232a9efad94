import { isDomainError } from '@coxswain/domain-error';
import { ParallelLayout } from '@coxswain/layout';
import fc from 'fast-check';
import { anyCandidate, aCandidate } from '../testing/candidates.ts';
import { layoutOfCandidate, candidateOfLayout } from './layout-conversion.ts';

const EXPERTS = { count: 8, topK: 2, ffnHiddenSize: 64, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
const DENSE = {};
const MOE = { experts: EXPERTS };

const oneWay = (layout: Partial<ParallelLayout>, model = DENSE) =>
  candidateOfLayout({ tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1, ...layout }, model, 1);

describe('a candidate and its layout', () => {
  it.each([
    ['a dense model', DENSE],
    ['a model with experts', MOE],
  ])('say the same of %s, there and back, and the layout passes its schema', (_name, model) => {
    fc.assert(
      fc.property(anyCandidate('experts' in model), (candidate) => {
        const layout = layoutOfCandidate(candidate, model);
        expect(ParallelLayout.parse(layout)).toEqual(layout);
        expect(candidateOfLayout(layout, model, candidate.microBatchSize)).toEqual(candidate);
      }),
    );
  });

  it('say of a plain layout no more than its degrees', () => {
    expect(layoutOfCandidate(aCandidate({ tensor: 2, data: 4 }), DENSE)).toEqual({
      tensorParallelDegree: 2,
      pipelineParallelDegree: 1,
      dataParallelDegree: 4,
    });
  });

  it.each([
    [
      'experts that nobody divided follow tensor parallelism',
      { tensorParallelDegree: 4 },
      MOE,
      { expert: 1, expertTensor: 4 },
    ],
    [
      'chunks without a schedule are interleaved',
      { pipelineParallelDegree: 2, pipeline: { chunksPerRank: 2 } },
      DENSE,
      { schedule: 'interleaved-1f1b' },
    ],
    [
      'recomputation without modules is of the core attention',
      { memory: { recompute: { mode: 'selective' as const } } },
      DENSE,
      { recomputeModules: ['core_attn'] },
    ],
    [
      'PyTorch FSDP2 is fully sharded',
      { states: { zeroStage: 3, implementation: 'fsdp2' as const } },
      DENSE,
      { zeroStage: 3, zeroImplementation: 'fsdp' },
    ],
    [
      'a shard group counts context ranks',
      { dataParallelDegree: 4, contextParallelDegree: 2 },
      DENSE,
      { shardGroup: 8 },
    ],
  ])('%s', (_sentence, layout, model, expected) => {
    expect(oneWay(layout, model)).toMatchObject(expected);
  });

  it.each([
    ['partial-paths', { pipeline: { schedule: 'partial-paths' as const } }, '/pipeline/schedule', '1f1b'],
    ['state-scan', { sequence: { contextAlgorithm: 'state-scan' as const } }, '/sequence/contextAlgorithm', 'ring'],
    ['mezo-sgd', { states: { optimizer: 'mezo-sgd' as const } }, '/states/optimizer', 'adamw'],
    [
      'data, tensor',
      { rankOrder: ['data' as const, 'tensor' as const, 'context' as const, 'pipeline' as const] },
      '/rankOrder',
      'tensor must come first',
    ],
    [
      'layers',
      { memory: { offload: [{ what: 'layers' as const, windowLayers: 2 }] } },
      '/memory/offload/0/what',
      'parameters',
    ],
  ])('%s is refused with the field and what to write instead', (_value, layout, pointer, instead) => {
    const error = refusalOf(() => oneWay(layout));
    expect(error.violations).toEqual([{ pointer, detail: expect.stringContaining(instead) as string }]);
  });
});

function refusalOf(act: () => unknown): Error & { violations: readonly unknown[] } {
  try {
    act();
  } catch (error) {
    if (isDomainError(error, 'INVALID_LAYOUT')) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
