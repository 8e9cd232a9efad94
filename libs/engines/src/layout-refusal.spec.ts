import { aJobSpec } from '@coxswain/api-types/testing';
import { type ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { brokenLayoutRules, layoutRefusal } from './layout-refusal.ts';

const model = { layers: 4, hiddenSize: 64, attentionHeads: 4, sequenceLength: 32 };
const experts = { count: 8, topK: 2, ffnHiddenSize: 64 };
const SHARDED_VOCABULARY = { pipelineParallelDegree: 3, pipeline: { vocabulary: 'sharded-over-pp' as const } };
const training = { steps: 10, globalBatchSize: 8 };
const specOf = (layout: ParallelLayout, rest: Parameters<typeof aJobSpec>[0] = { model, training }) => ({
  ...aJobSpec(rest),
  layout,
});

describe('what the layout rules say of a spec', () => {
  it.each([
    ['a layout that divides model and batch is legal', aLayout({ tensorParallelDegree: 2 }), []],
    ['heads must divide', aLayout({ tensorParallelDegree: 3 }), ['tensorParallelDegree']],
    ['layers must divide', aLayout({ pipelineParallelDegree: 3 }), ['pipelineParallelDegree']],
    ['the batch must divide', aLayout({ dataParallelDegree: 3 }), ['dataParallelDegree']],
  ] as const)('%s', (_sentence, layout, fields) => {
    expect(new Set(brokenLayoutRules(specOf(layout)).map(({ field }) => field))).toEqual(new Set(fields));
  });

  it.each<[string, object, object, readonly string[]]>([
    ['the heads of a preset count', { preset: 'llama-3.1-8b' }, { tensorParallelDegree: 3 }, ['tensorParallelDegree']],
    ['and its layers', { preset: 'llama-3.1-8b' }, { pipelineParallelDegree: 5 }, ['pipelineParallelDegree']],
    ['a vocabulary that only follows breaks no rule', { ...model, layers: 3 }, SHARDED_VOCABULARY, []],
    [
      'a vocabulary that is said counts',
      { ...model, layers: 3, vocabularySize: 256 },
      SHARDED_VOCABULARY,
      ['pipeline/vocabulary'],
    ],
    [
      'a learnt softmax is a matter of the engine’s own kernels',
      { preset: 'gpt-oss-20b' },
      { contextParallelDegree: 2 },
      [],
    ],
    [
      'experts that are said count',
      { ...model, experts },
      { expert: { expertParallelDegree: 3, expertTensorParallelDegree: 1 } },
      ['expert/expertParallelDegree'],
    ],
  ])('of words of a model %s', (_sentence, words, degrees, fields) => {
    const spec = specOf(aLayout(degrees), {
      engine: { name: 'command', image: 'any', command: ['x'] },
      model: { ...words, sequenceLength: 32 },
      training: { steps: 10, globalBatchSize: 8 },
    });
    expect(new Set(brokenLayoutRules(spec).map(({ field }) => field))).toEqual(new Set(fields));
  });

  it('a micro-batch counts that the spec gives, and one sample where it gives none', () => {
    const layout = aLayout({ dataParallelDegree: 4 });
    expect(layoutRefusal(specOf(layout))).toBeUndefined();
    expect(layoutRefusal(specOf(layout, { model, training: { ...training, microBatchSize: 4 } }))).toMatch(/batch/i);
  });

  it('without a model only rules that need none are asked, and they still are', () => {
    const engine = { name: 'command' as const, image: 'any', command: ['x'] };
    const silent = { engine, model: undefined, training: undefined };
    expect(layoutRefusal(specOf(aLayout({ tensorParallelDegree: 3 }), silent))).toBeUndefined();
    const twice = { ...aLayout({ dataParallelDegree: 4 }), dataParallelShardDegree: 3 };
    expect(layoutRefusal(specOf(twice, silent))).toMatch(/^layout\.dataParallelShardDegree/);
  });

  it('two broken rules are one sentence, and every part names its field', () => {
    const refusal = layoutRefusal(specOf(aLayout({ tensorParallelDegree: 3, pipelineParallelDegree: 3 }))) ?? '';
    expect(refusal.split('; ').filter((part) => part.startsWith('layout.')).length).toBeGreaterThan(1);
  });
});
