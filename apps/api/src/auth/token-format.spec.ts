import { freshToken, partsOfToken, secretMatches } from './token-format.ts';

const A_TOKEN = freshToken().token;
/** The letter or digit after that one. */
const other = (character: string): string => (character === '7' ? '8' : '7');

describe('a token', () => {
  it('is believed by its secret alone, and never twice the same', () => {
    const [one, another] = [freshToken(), freshToken()];
    const secretOf = (token: string): string => partsOfToken(token)?.secret ?? '';
    expect(secretMatches(secretOf(one.token), one.secretSha256)).toBe(true);
    expect(secretMatches(secretOf(another.token), one.secretSha256)).toBe(false);
    expect(secretMatches('', one.secretSha256)).toBe(false);
  });

  it('is of one length and of letters and digits alone, so that a double click marks its secret whole', () => {
    for (let count = 0; count < 500; count++) {
      const { token, prefix } = freshToken();
      expect(token).toMatch(/^cxs_[0-9a-f]{8}_[0-9A-Za-z]{49}$/);
      expect(partsOfToken(token)).toEqual({ prefix, secret: token.slice(13, 56) });
    }
  });

  it('ends with the CRC32 of what stands before it, which others can compute', () => {
    // zlib.crc32 of Python gives 0xac7b1867 for the text before it.
    const text = `cxs_01234567_${'A'.repeat(43)}`;
    expect(partsOfToken(`${text}39ps87`)).toEqual({ prefix: '01234567', secret: 'A'.repeat(43) });
    expect(partsOfToken(`${text}39ps88`)).toBeUndefined();
  });

  it('of an earlier release, without a checksum, is one as well', () => {
    const secret = 'aB3-_'.repeat(8) + 'xyz';
    expect(partsOfToken(`cxs_0123abcd_${secret}`)).toEqual({ prefix: '0123abcd', secret });
  });

  it('with any one character changed is none', () => {
    for (let at = 0; at < A_TOKEN.length; at++) {
      const changed = A_TOKEN.slice(0, at) + other(A_TOKEN.charAt(at)) + A_TOKEN.slice(at + 1);
      expect({ at, parts: partsOfToken(changed) }).toEqual({ at, parts: undefined });
    }
  });

  it.each([
    '',
    'cxs_',
    'cxs_12345678_short',
    'cxs_1234567g_' + 'A'.repeat(43),
    'cxs_12345678_' + 'A'.repeat(44),
    A_TOKEN + 'A',
    A_TOKEN.slice(0, -1),
    ` ${A_TOKEN}`,
    `${A_TOKEN}\n`,
    `cxs_12345678_${'A'.repeat(43)}\n`,
  ])('is none when it reads %j', (text) => {
    expect(partsOfToken(text)).toBeUndefined();
  });
});
