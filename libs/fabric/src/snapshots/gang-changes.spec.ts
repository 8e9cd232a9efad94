import { changeUnderGang } from './gang-changes.ts';

const at = (name: string, island: string, more: object = {}): Parameters<typeof changeUnderGang>[1][number] => ({
  name,
  nvlinkDomain: `node:${name}`,
  island,
  ...more,
});

describe('what is said otherwise of the nodes of a gang', () => {
  it.each([
    ['nothing', [at('a', 'x'), at('b', 'x')], undefined],
    ['an island that is only called otherwise', [at('a', 'x:infiniband'), at('b', 'x:infiniband')], undefined],
    ['an island that came apart', [at('a', 'x'), at('b', 'y')], /runs on b, whose island was x and is y now/],
    ['a domain', [at('a', 'x', { nvlinkDomain: 'rack' }), at('b', 'x')], /runs on a, whose NVLink domain was node:a /],
    [
      'a class of NICs',
      [at('a', 'x', { nicType: 'roce' }), at('b', 'x')],
      /class of NICs was not known and is roce now/,
    ],
    ['a node that is gone', [at('a', 'x')], undefined],
  ] as const)('%s', (_sentence, now, want) => {
    const message = changeUnderGang('job', [at('a', 'x'), at('b', 'x')], now)?.message;
    if (want === undefined) expect(message).toBeUndefined();
    else expect(message).toMatch(want);
  });
});
