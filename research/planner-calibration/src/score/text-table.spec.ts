import { tableLines } from './text-table.ts';

it('aligns the first column to the left and the others to the right, without trailing blanks', () => {
  expect(tableLines(['name', 'n'], [['a', '100'], ['long name', '1'], ['no number']])).toEqual([
    'name         n',
    '---------  ---',
    'a          100',
    'long name    1',
    'no number',
  ]);
});
