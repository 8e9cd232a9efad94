import { isDomainError } from '@coxswain/domain-error';
import { resolveModel, type ModelReference } from './resolve-model.ts';

const NO_OTHERS = { sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
const FOUR = { layers: 4, hiddenSize: 128, attentionHeads: 4 };
const LLAMA = {
  model_type: 'llama',
  hidden_size: 4096,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  intermediate_size: 14336,
  vocab_size: 128256,
};

describe('the model that words mean', () => {
  it.each<[string, ModelReference, object]>([
    ['a name means a preset', { preset: 'llama-3.1-8b' }, { layers: 32, keyValueHeads: 8, vocabularySize: 128_256 }],
    ['case and dashes of a name do not count', { preset: 'Llama 3.1 8B' }, { layers: 32, ffnHiddenSize: 14_336 }],
    ['a config.json means what it says', { huggingFace: LLAMA }, { layers: 32, keyValueHeads: 8, gatedMlp: true }],
    [
      'sizes alone mean a GPT of bytes',
      FOUR,
      {
        ...FOUR,
        ffnHiddenSize: 512,
        keyValueHeads: 4,
        headDim: 32,
        vocabularySize: 256,
        gatedMlp: false,
        rmsNorm: true,
      },
    ],
    ['a size that is given is taken', { ...FOUR, keyValueHeads: 2, headDim: 64 }, { keyValueHeads: 2, headDim: 64 }],
    ['a switch may be turned off', { ...FOUR, rmsNorm: false }, { rmsNorm: false }],
  ])('%s', (_sentence, words, want) => {
    expect(resolveModel(words).model).toMatchObject(want);
  });

  it.each<[string, ModelReference, object]>([
    ['of four sizes are these alone', FOUR, FOUR],
    ['of a preset is all of it', { preset: 'llama-3.1-8b' }, { vocabularySize: 128_256, ffnHiddenSize: 14_336 }],
  ])('what is stated %s', (_sentence, words, want) => {
    const { stated } = resolveModel(words);
    expect(stated).toMatchObject(want);
    if (words.preset === undefined) expect(stated).toEqual(want);
  });

  it.each<[string, ModelReference, string, RegExp]>([
    ['a name that is not known', { preset: 'llama-9' }, '/preset', /"llama-9" is not known; nearest: llama/],
    [
      'an architecture that is not known',
      { huggingFace: { model_type: 'whisper' } },
      '/huggingFace/model_type',
      /"whisper" cannot be imported .*write its shape by hand with layers, hiddenSize/,
    ],
    ['a config.json without a kind', { huggingFace: {} }, '/huggingFace/model_type', /must name its model_type/],
    [
      'a config.json without a size',
      { huggingFace: { ...LLAMA, vocab_size: null } },
      '/huggingFace/vocab_size',
      /vocab_size is needed and absent/,
    ],
    [
      'more experts for a token than there are',
      { ...FOUR, experts: { ...NO_OTHERS, count: 2, topK: 4, ffnHiddenSize: 64 } },
      '/experts/topK',
      /experts.topK is 4 of 2 experts/,
    ],
    ['a pattern of another length', { ...FOUR, layerPattern: '**' }, '/layerPattern', /has 2 letters for 4 layers/],
  ])('%s is refused by its place', (_sentence, words, pointer, sentence) => {
    const error = refusalOf(words);
    expect(error.violations.map((one) => one.pointer)).toEqual([pointer]);
    expect(error.message).toMatch(sentence);
  });
});

function refusalOf(words: ModelReference) {
  try {
    resolveModel(words);
  } catch (error) {
    if (isDomainError(error)) return error;
  }
  throw new Error('nothing was refused');
}
