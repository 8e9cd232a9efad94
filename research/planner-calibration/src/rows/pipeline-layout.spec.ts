import fc from 'fast-check';
import { stagesOfLayoutText } from './pipeline-layout.ts';

const layers = (text: string): readonly number[] => stagesOfLayoutText(text).map((stage) => stage.layers);

describe('the stage layout notation of Megatron-Core', () => {
  it.each([
    ['one stage', 'EttL', [2]],
    ['two stages', 'Ett|ttL', [2, 2]],
    ['a repeated layer', 'Et*4|t*3L', [4, 3]],
    ['a repeated group', 'Et*4|(t*4|)*14tmL', [4, ...Array.from({ length: 14 }, () => 4), 1]],
    ['a group within a group', 'E((t*2|)*2t|)*2L', [2, 2, 1, 2, 2, 1, 0]],
    ['a cut after the last stage', 'Et|tL|', [1, 1]],
    ['spaces', 'E t | t L', [1, 1]],
  ])('%s', (_, text, expected) => {
    expect(layers(text)).toEqual(expected);
  });

  it('says where embedding, loss and multi-token prediction are', () => {
    expect(stagesOfLayoutText('Et|t*2|tmL')).toEqual([
      { layers: 1, embedding: true, loss: false, mtpLayers: 0 },
      { layers: 2, embedding: false, loss: false, mtpLayers: 0 },
      { layers: 1, embedding: false, loss: true, mtpLayers: 1 },
    ]);
  });

  it.each([
    ['an unknown letter', 'Exx|tL', 'only E, t, m, L'],
    ['an open group', 'E(t|', '( without )'],
    ['a closed group that was not opened', 'Et|)tL', ') without ('],
    ['a repeat of nothing', '*4tL', 'repeats nothing'],
    ['an endless repeat', 'E(t|)*99999999L', 'too long'],
  ])('refuses %s', (_, text, message) => {
    expect(() => stagesOfLayoutText(text)).toThrow(message);
  });

  it('keeps every layer, however they are grouped', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }), (counts) => {
        expect(layers(`E${counts.map((count) => `t*${count}`).join('|')}L`)).toEqual(counts);
      }),
    );
  });
});
