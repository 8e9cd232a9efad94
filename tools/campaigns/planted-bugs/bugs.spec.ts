import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../test/run-supervised.ts';
import { PLANTED_BUGS } from './bugs.ts';
import { planted } from './planted-tree.ts';

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** The text of a test file, and of the contract that it holds somebody to. */
function namesIn(test: string): string {
  const text = textOf(test);
  const [, contract] = /from '(\.[^']*\.contract\.ts)'/.exec(text) ?? [];
  return contract === undefined ? text : text + textOf(join(dirname(test), contract));
}

describe('the bugs that the campaign plants', () => {
  it.each(PLANTED_BUGS.map((bug) => [bug.bugClass, bug.bug, bug] as const))(
    '%s, "%s", applies to the code as it is',
    (_class, _bug, bug) => {
      expect(planted(textOf(bug.file), bug)).not.toBe(textOf(bug.file));
      expect(bug.caughtBy).not.toBe('');
      expect(namesIn(bug.test)).toContain(bug.caughtBy);
    },
  );

  it('are of every class but the two that are no code of the operator', () => {
    const others = ['C25', 'C35'];
    const classes = Array.from({ length: 35 }, (_, index) => `C${index + 1}`).filter((one) => !others.includes(one));
    expect([...new Set(PLANTED_BUGS.map(({ bugClass }) => bugClass))]).toEqual(classes);
  });

  it('are refused where their place is not there, or there twice', () => {
    const [bug] = PLANTED_BUGS;
    if (bug === undefined) throw new Error('there is no bug');
    expect(() => planted('', bug)).toThrow('occurs 0 times');
    expect(() => planted(bug.before.repeat(2), bug)).toThrow('occurs 2 times');
  });
});
