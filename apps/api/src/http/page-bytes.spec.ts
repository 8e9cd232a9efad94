import { fittingPage } from './page-bytes.ts';

describe('a page', () => {
  const ten = 'x'.repeat(8);

  it.each<[string, readonly string[], number, number]>([
    ['holds all that fit', [ten, ten, ten], 30, 3],
    ['ends before the item that does not fit', [ten, ten, ten], 29, 2],
    ['holds one that does not fit alone, so that the list goes on', [ten, ten], 5, 1],
    ['counts bytes, not letters', ['ééé', 'ééé'], 15, 1],
    ['of nothing is empty', [], 10, 0],
  ])('%s', (_sentence, items, maxBytes, want) => {
    expect(fittingPage(items, maxBytes)).toHaveLength(want);
  });
});
