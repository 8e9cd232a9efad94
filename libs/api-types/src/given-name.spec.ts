import { GivenName } from './given-name.ts';

describe('a name that somebody gives', () => {
  it.each(['ci', 'Ada Lovelace', 'große Läufe', '学習', '💥 run'])('may be %j', (name) => {
    expect(GivenName.parse(name)).toBe(name);
  });

  it.each([
    ['nothing', ''],
    ['too much', 'x'.repeat(101)],
    ['NUL', 'a\u0000b'],
    ['what a terminal obeys', '\u001b[2J'],
    ['a second line', 'ci\nroot did it'],
    ['half a character', '\ud800'],
    ['what shows the end first', 'ci\u202etoor'],
    ['a line end of Unicode', 'a\u2028b'],
  ])('holds no %s', (_what, name) => {
    expect(GivenName.safeParse(name).success).toBe(false);
  });
});
