import { ConnectFailures } from './connect-failures.ts';

const failure = (code: string): Error => Object.assign(new Error(`failed with ${code}`), { code });
const NOW = '2026-11-26T12:00:00.000Z';

describe('a failed connection to the operator', () => {
  it.each<[string, string, RegExp]>([
    [
      'names a clock that is behind',
      'CERT_NOT_YET_VALID',
      /not valid yet by the clock of this pod \(2026-11-26T12:00:00\.000Z\).*clock is behind/,
    ],
    [
      'names a clock that is ahead, or an old certificate',
      'CERT_HAS_EXPIRED',
      /has expired by the clock of this pod .*clock is ahead, or the operator did not renew/,
    ],
    ['names another authority', 'SELF_SIGNED_CERT_IN_CHAIN', /of another authority/],
    ['names another authority of a leaf', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', /of another authority/],
    ['names another host', 'ERR_TLS_CERT_ALTNAME_INVALID', /of another host/],
    ['keeps its own message otherwise', 'ECONNREFUSED', /^failed with ECONNREFUSED$/],
  ])('%s', (_sentence, code, want) => {
    const failures = new ConnectFailures(undefined, () => new Date(NOW));
    expect(failures.describe(failure(code))).toMatch(want);
  });

  it('is the same sentence at each try, so that the log has it once', () => {
    let at = Date.parse(NOW);
    const failures = new ConnectFailures('no certificate', () => new Date((at += 60_000)));
    const first = failures.describe(failure('CERT_NOT_YET_VALID'));
    expect(failures.describe(failure('CERT_NOT_YET_VALID'))).toBe(first);
    expect(failures.describe(failure('CERT_HAS_EXPIRED'))).toMatch(/12:03/);
  });

  it.each<[string, unknown]>([
    ['an error without a code', new Error('gone')],
    ['a text', 'gone'],
  ])('is %s', (_what, error) => {
    expect(new ConnectFailures(undefined).describe(error)).toBe('gone');
  });
});
