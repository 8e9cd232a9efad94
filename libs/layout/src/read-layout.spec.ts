import { readLayout } from './index.ts';

const messagesOf = (value: unknown): readonly string[] => {
  const read = readLayout(value);
  return read.kind === 'wrong' ? read.problems.map(({ path, message }) => `${path}: ${message}`) : [];
};

describe('what a file holds', () => {
  it.each<[string, unknown, string]>([
    ['a job, by its roles', { roles: {}, meshes: {}, roleMesh: {} }, 'job'],
    ['a document, by its layout', { layout: { tensorParallelDegree: 2 } }, 'layout'],
    ['a layout alone, by any of its keys', { tensorParallelDegree: 2 }, 'layout'],
    ['a layout of one rank, where there is nothing', {}, 'layout'],
    ['a list is nothing of the kind', [], 'wrong'],
    ['a text is nothing of the kind', 'tensorParallelDegree: 2', 'wrong'],
    ['nothing is nothing of the kind', null, 'wrong'],
  ])('%s', (_sentence, value, kind) => {
    expect(readLayout(value).kind).toBe(kind);
  });

  it('is read with its defaults', () => {
    expect(readLayout({ tensorParallelDegree: 2 })).toEqual({
      kind: 'layout',
      document: { layout: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 1 } },
    });
  });
});

describe('what a job may leave out of its model, a document may leave out', () => {
  const model = { layers: 8, hiddenSize: 1024, attentionHeads: 16 };
  const want = { ffnHiddenSize: 4096, keyValueHeads: 16, headDim: 64, vocabularySize: 256, gatedMlp: false };

  it.each<[string, unknown, object]>([
    ['in a document', { layout: {}, model }, { model: want }],
    [
      'in a role of a job',
      { roles: { a: { layout: {}, model } }, meshes: {}, roleMesh: {} },
      { roles: { a: { model: want } } },
    ],
    ['and what it states stays', { layout: {}, model: { ...model, gatedMlp: true } }, { model: { gatedMlp: true } }],
  ])('%s', (_sentence, value, document) => {
    expect(readLayout(value)).toMatchObject({ document });
  });
});

describe('what is wrong with a file is told with field, value, rule and a way out', () => {
  it.each<[string, unknown, readonly string[]]>([
    ['a file of no object', 3, [': expected a layout, a document with layout, or a job with roles']],
    ['a degree below one', { tensorParallelDegree: 0 }, ['tensorParallelDegree: is 0; it must be at least 1']],
    [
      'a degree above all that are supported',
      { layout: { dataParallelDegree: 70_000 } },
      ['layout.dataParallelDegree: is 70000; it must be at most 65536'],
    ],
    [
      'a misspelt key, with the key that is meant',
      { tensorParallelDegree: 2, dataParalelDegree: 4 },
      [': unknown key dataParalelDegree; did you mean dataParallelDegree?'],
    ],
    [
      'a misspelt key inside',
      { layout: { pipeline: { chunkPerRank: 2 } } },
      ['layout.pipeline: unknown key chunkPerRank; did you mean chunksPerRank?'],
    ],
    [
      'a key that is like none, with all that are known',
      { layout: { states: { xyzzy: 2 } } },
      [
        'layout.states: unknown key xyzzy; known keys are zeroStage, implementation, secondaryShardDegree, reshardAfterForward, optimizerInstances, optimizer, optimizerPrecision, gradientPrecision, precisionAwareOptimizer, lowRank, perturbationDegree',
      ],
    ],
    [
      'a misspelt word, with the word that is meant',
      { layout: { memory: { recompute: { mode: 'selectve' } } } },
      ['layout.memory.recompute.mode: "selectve" is not one of none, selective, full, budget; did you mean selective?'],
    ],
    [
      'a word that is like none',
      { layout: { kernel: { softmax: 7 } } },
      ['layout.kernel.softmax: 7 is not one of vanilla, off-by-one, learnable'],
    ],
    [
      'a wrong entry of a list, by its index',
      { layout: { memory: { offload: [{ what: 'optimizer' }, { what: 'optimizer', fraction: 2 }] } } },
      ['layout.memory.offload.1.fraction: is 2; it must be at most 1'],
    ],
    [
      'a model of its own, by the kind it comes closest to',
      { layout: {}, model: { kind: 'vision', layers: 0 } },
      ['model.layers: is 0; it must be at least 1'],
    ],
    [
      'a model that is neither a name nor sizes',
      { layout: {}, model: 7 },
      ['model: is 7; it must be a string, not a number'],
    ],
    ['a job without its meshes', { roles: { actor: { layout: {} } }, roleMesh: {} }, ['meshes: is required']],
    [
      'a wrong layout of a role, by the name of the role',
      {
        roles: { actor: { layout: { tensorParallelDegree: 1.5 } } },
        meshes: {},
        roleMesh: {},
      },
      ['roles.actor.layout.tensorParallelDegree: is 1.5; it must be a whole number, not 1.5'],
    ],
    [
      'everything at once',
      { tensorParallelDegree: 0, pipelineParallelDegree: -1 },
      ['tensorParallelDegree: is 0; it must be at least 1', 'pipelineParallelDegree: is -1; it must be at least 1'],
    ],
  ])('%s', (_sentence, value, want) => {
    expect(messagesOf(value)).toEqual(want);
  });
});

it.each([
  ['a document', (model: object) => ({ layout: {}, model })],
  ['a role', (model: object) => ({ roles: { actor: { layout: {}, model } }, meshes: {}, roleMesh: {} })],
])('%s may leave out the sizes of its model that a job may leave out', (_what, written) => {
  const read = readLayout(written({ layers: 8, hiddenSize: 1024, attentionHeads: 16, vocabularySize: 512 }));
  expect(JSON.stringify(read)).toContain('"headDim":64');
  expect(JSON.stringify(read)).toContain('"ffnHiddenSize":4096,"attentionHeads":16,"keyValueHeads":16');
  expect(JSON.stringify(read)).toContain('"vocabularySize":512');
});
