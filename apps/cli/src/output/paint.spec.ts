import fc from 'fast-check';
import { fittedTable } from './fitted-table.ts';
import { columns } from './output.ts';
import { cutShown, hasColor, paint, shownLength, withColors } from './paint.ts';

describe('a stream gets colours', () => {
  const terminal = true;
  it.each<[string, Parameters<typeof hasColor>, boolean]>([
    ['if it is a terminal', ['auto', {}, terminal], true],
    ['not if it is a pipe or a file', ['auto', {}, !terminal], false],
    ['not if NO_COLOR is set', ['auto', { NO_COLOR: '1' }, terminal], false],
    ['if NO_COLOR is set to nothing, as its specification says', ['auto', { NO_COLOR: '' }, terminal], true],
    ['not if the terminal is dumb', ['auto', { TERM: 'dumb' }, terminal], false],
    ['always if that is asked for', ['always', { NO_COLOR: '1' }, !terminal], true],
    ['never if that is asked for', ['never', {}, terminal], false],
  ])('%s', (_sentence, asked, want) => {
    expect(hasColor(...asked)).toBe(want);
  });
});

describe('a painted text', () => {
  const painted = `a ${paint('bad', 'red')} b`;

  it.each<[string, string, string]>([
    ['has control sequences where colours are shown', withColors(painted, true), 'a \u001b[31mred\u001b[39m b'],
    ['is the text alone where they are not', withColors(painted, false), 'a red b'],
    ['without a tone is the text', paint(undefined, 'plain'), 'plain'],
    [
      'is cut by what is shown, and its colour ends',
      withColors(cutShown(painted, 4), true),
      'a \u001b[31mr\u001b[39m…',
    ],
    ['that fits is not cut', withColors(cutShown(painted, 7), false), 'a red b'],
    [
      'leaves columns as wide as its text',
      withColors(
        columns([
          [painted, 'x'],
          ['1234567', 'y'],
        ]),
        false,
      ),
      'a red b  x\n1234567  y',
    ],
  ])('%s', (_sentence, text, want) => {
    expect(text).toBe(want);
  });
});

it('a table is never wider than its terminal, and no colour is left open', () => {
  const cell = fc.string({ unit: 'grapheme-ascii', maxLength: 40 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 120 }), fc.array(fc.tuple(cell, cell, cell, cell, cell)), (width, rows) => {
      const table = fittedTable(
        [9, 8, 1, 5, 7].map((worth, index) => ({
          title: `TITLE${index}`,
          worth,
          cell: (row: readonly string[]) => (index === 1 ? paint('bad', row[1] ?? '') : (row[index] ?? '')),
        })),
        rows,
        width,
      );
      const lines = table.split('\n');
      expect(Math.max(...lines.map(shownLength))).toBeLessThanOrEqual(width);
      const begun = withColors(table, true).split('\u001b[31m').length;
      expect(withColors(table, true).split('\u001b[39m')).toHaveLength(begun);
    }),
  );
});
