import { MODEL_SIZES } from '@coxswain/layout';
import { MAX_MODEL_CONFIG_BYTES, ModelSpec } from './model-spec.ts';
import { refusedFields } from './testing/one-field.ts';

const sequenceLength = 128;
const SIZES = { layers: 4, hiddenSize: 128, attentionHeads: 4 };
const CONFIG = { model_type: 'llama' };
const experts = { count: 8, topK: 2, ffnHiddenSize: 64 };

/** A configuration of so many bytes as JSON. */
function configOf(bytes: number): object {
  return { model_type: 'a'.repeat(bytes - JSON.stringify({ model_type: '' }).length) };
}

function configOfLevels(levels: number): object {
  return JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as object;
}

describe('the words of a model', () => {
  it.each<[string, object, readonly string[]]>([
    ['a preset is enough', { preset: 'llama-3.1-8b' }, []],
    ['a config.json is enough', { huggingFace: CONFIG }, []],
    ['four sizes are enough, as they were before there were other words', SIZES, []],
    ['grouped heads may be said', { ...SIZES, keyValueHeads: 2 }, []],
    ['experts may be said', { ...SIZES, experts }, []],
    ['heads of a width of their own need not divide the hidden size', { ...SIZES, attentionHeads: 3, headDim: 64 }, []],
    ['heads without a width divide the hidden size', { ...SIZES, attentionHeads: 3 }, ['attentionHeads']],
    ['grouped heads divide the heads', { ...SIZES, keyValueHeads: 3 }, ['keyValueHeads']],
    ['nothing is no model', {}, ['']],
    ['a preset has no sizes beside it', { preset: 'x', ...SIZES }, ['layers']],
    ['a preset has no experts beside it', { preset: 'x', experts }, ['experts']],
    ['a preset has no config.json beside it', { preset: 'x', huggingFace: CONFIG }, ['huggingFace']],
    ['a config.json has no sizes beside it', { huggingFace: CONFIG, vocabularySize: 9 }, ['vocabularySize']],
    ['sizes need the number of layers', { ...SIZES, layers: undefined }, ['layers']],
    ['sizes need layers and width', { attentionHeads: 4 }, ['layers', 'hiddenSize']],
    ['a preset has a name', { preset: '' }, ['preset']],
    ['a config.json is an object', { huggingFace: 'llama' }, ['huggingFace']],
    ['a config.json may be as long as the bound', { huggingFace: configOf(MAX_MODEL_CONFIG_BYTES) }, []],
    ['and not a byte longer', { huggingFace: configOf(MAX_MODEL_CONFIG_BYTES + 1) }, ['huggingFace']],
    ['a config.json may be nested', { huggingFace: configOfLevels(32) }, []],
    ['and not a level deeper', { huggingFace: configOfLevels(33) }, ['huggingFace']],
    ['nor as deep as the API server takes', { huggingFace: configOfLevels(9_000) }, ['huggingFace']],
    ['a word that there is not is refused', { ...SIZES, heads: 4 }, ['heads']],
  ])('%s', (_sentence, words, fields) => {
    expect(refusedFields(ModelSpec, { ...words, sequenceLength })).toEqual(fields);
  });

  it.each(['preset', 'huggingFace', 'layers'])('by %s need a sequence length', (name) => {
    const words = { preset: { preset: 'x' }, huggingFace: { huggingFace: CONFIG }, layers: SIZES }[name];
    expect(refusedFields(ModelSpec, words)).toEqual(['sequenceLength']);
  });

  it('are those of the planner, and three more', () => {
    const own = Object.keys(ModelSpec.shape).filter((name) => !(name in MODEL_SIZES));
    expect(own.sort()).toEqual(['huggingFace', 'preset', 'sequenceLength']);
    expect(Object.keys(MODEL_SIZES).filter((name) => !(name in ModelSpec.shape))).toEqual([]);
  });

  it('add nothing to a job that has four', () => {
    expect(ModelSpec.parse({ ...SIZES, sequenceLength })).toEqual({ ...SIZES, sequenceLength });
  });
});
