import { ModelShape } from './model-shape.ts';

const MODEL = {
  layers: 4,
  hiddenSize: 128,
  ffnHiddenSize: 512,
  attentionHeads: 4,
  keyValueHeads: 4,
  headDim: 32,
  vocabularySize: 1_000,
  gatedMlp: true,
};
const experts = { count: 8, topK: 2, ffnHiddenSize: 64 };
const stateSpace = { stateSize: 16, heads: 4, headDim: 32, groups: 1 };

describe('a pattern of layers', () => {
  it.each<[string, object]>([
    ['may be missing', {}],
    ['has a letter for each layer', { layerPattern: '**--' }],
    ['may name Mamba layers with their sizes', { layerPattern: 'MM*-', stateSpace }],
    ['may name expert layers with their sizes', { layerPattern: '*E*E', experts }],
  ])('%s', (_sentence, more) => {
    expect(ModelShape.safeParse({ ...MODEL, ...more }).error).toBeUndefined();
  });

  it.each<[string, object, string]>([
    ['has no letter too many', { layerPattern: '**---' }, 'has 5 letters for 4 layers'],
    ['has no letter too few', { layerPattern: '' }, 'has 0 letters for 4 layers'],
    ['names no Mamba layers without their sizes', { layerPattern: 'M***' }, 'set stateSpace'],
    ['names no expert layers without their sizes', { layerPattern: 'E***' }, 'set experts'],
  ])('%s', (_sentence, more, want) => {
    const { issues } = ModelShape.safeParse({ ...MODEL, ...more }).error ?? { issues: [] };
    expect(issues).toMatchObject([{ path: ['layerPattern'], message: expect.stringContaining(want) as string }]);
  });
});

describe('experts', () => {
  it.each<[string, number, readonly string[]]>([
    ['may all see a token', 8, []],
    ['cannot be chosen more often than there are', 9, ['experts.topK']],
  ])('%s', (_sentence, topK, paths) => {
    const { issues } = ModelShape.safeParse({ ...MODEL, experts: { ...experts, topK } }).error ?? { issues: [] };
    expect(issues.map(({ path }) => path.join('.'))).toEqual(paths);
  });
});
