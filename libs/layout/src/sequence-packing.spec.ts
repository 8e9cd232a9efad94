import { resolveDocumentTokens, type SequencePacking, whyNoPacking } from './index.ts';

describe('tokens attend', () => {
  it.each<[string, SequencePacking | undefined, number | undefined]>([
    ['over the sample without packing', undefined, undefined],
    ['over the sample if the length of documents is not known', {}, undefined],
    ['within documents of the mean length', { meanTokens: 500 }, 500],
    ['over the sample if documents fill it', { meanTokens: 4096 }, undefined],
    ['over the sample if documents are longer', { meanTokens: 9000 }, undefined],
  ])('%s', (_sentence, packing, want) => {
    expect(resolveDocumentTokens(packing, 4096)).toBe(want);
  });
});

it.each<[string, string | undefined, RegExp | undefined]>([
  ['megatron-lm', undefined, /ignore document masks/],
  ['torchtitan', undefined, undefined],
  ['torchtitan', 'v0.3.0', undefined],
  ['torchtitan', 'v0.2.2', /flavours/],
  ['custom', undefined, undefined],
])('%s %s: attention stays within documents, or the reason', (engine, release, want) => {
  const why = whyNoPacking(engine as 'custom', release);
  if (want === undefined) expect(why).toBeUndefined();
  else expect(why).toMatch(want);
});
