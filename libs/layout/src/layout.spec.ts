import { formatLayout, layoutViolations, ParallelLayout, worldSize } from './index.ts';
import { aLayout } from './testing/index.ts';

const model = { layers: 4, hiddenSize: 128, attentionHeads: 4, globalBatchSize: 8, microBatchSize: 1 };

describe('a parallel layout', () => {
  it('is one rank when nothing is said', () => {
    expect(worldSize(ParallelLayout.parse({}))).toBe(1);
  });

  it.each([
    { layout: aLayout(), want: '1 rank' },
    { layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 4 }), want: 'tp2 x dp4' },
    { layout: aLayout({ pipelineParallelDegree: 2 }), want: 'pp2' },
    {
      layout: aLayout({
        tensorParallelDegree: 2,
        contextParallelDegree: 2,
        dataParallelDegree: 4,
        pipelineParallelDegree: 8,
        expert: { expertParallelDegree: 8, expertTensorParallelDegree: 1 },
      }),
      want: 'tp2 x cp2 x dp4 x pp8 / ep8',
    },
    {
      layout: aLayout({ expert: { expertParallelDegree: 8, expertTensorParallelDegree: 2 } }),
      want: '1 rank / etp2 x ep8',
    },
    { layout: aLayout({ weightShardDegree: 2, contextParallelDegree: 1 }), want: 'wshard2' },
  ])('reads $want', ({ layout, want }) => {
    expect(formatLayout(layout)).toBe(want);
  });

  it.each([
    [
      'is legal when every degree divides what it splits',
      aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 }),
      [],
    ],
    ['must split attention heads evenly', aLayout({ tensorParallelDegree: 3 }), ['tensorDividesAttentionHeads']],
    ['must split layers evenly', aLayout({ pipelineParallelDegree: 3 }), ['pipelineDividesLayers']],
    ['must split the batch evenly', aLayout({ dataParallelDegree: 3 }), ['dataTimesMicroBatchDividesGlobalBatch']],
    [
      'reports every broken rule at once',
      aLayout({ tensorParallelDegree: 3, pipelineParallelDegree: 5 }),
      ['tensorDividesAttentionHeads', 'pipelineDividesLayers'],
    ],
  ] as const)('%s', (_sentence, layout, want) => {
    expect(layoutViolations(layout, model).map((violation) => violation.rule)).toEqual(want);
  });

  it('names field, values and the nearest legal degree when a rule is broken', () => {
    const [violation] = layoutViolations(aLayout({ tensorParallelDegree: 5 }), { ...model, attentionHeads: 96 });
    expect(violation?.message).toBe(
      'tensorParallelDegree 5 does not divide attentionHeads 96; the nearest that does is 4',
    );
  });
});
