import fc from 'fast-check';
import { cutText, endOfText, escapeUnsafe, isUnsafe, parseForeignJson, safeText } from './index.ts';

describe('safe text', () => {
  it.each([
    ['plain words', 'rank 3 exited with code 1', 'rank 3 exited with code 1'],
    ['letters of any script, and emoji', 'Größe 大小 😀 \u200d', 'Größe 大小 😀 \u200d'],
    ['tabs and newlines', 'a\tb\nc', 'a\tb\nc'],
    ['a NUL', 'a\0b', 'a\ufffdb'],
    ['other controls', 'a\u0001\u001f\u007fb', 'a\ufffd\ufffd\ufffdb'],
    ['C1 controls', 'a\u0080\u009bb', 'a\ufffd\ufffdb'],
    ['the first half of a pair alone', 'a\ud83d', 'a\ufffd'],
    ['the second half of a pair alone', '\ude00b', '\ufffdb'],
    ['two halves in the wrong order', '\ude00\ud83d', '\ufffd\ufffd'],
    ['noncharacters of every plane', '\ufffe\uffff\ufdd0\u{1fffe}\u{10ffff}', '\ufffd\ufffd\ufffd\ufffd\ufffd'],
    ['what turns the direction of writing', 'a\u202eb\u2066c\u200fd', 'a\ufffdb\ufffdc\ufffdd'],
    ['a progress bar', '10%\r20%\r\ndone', '10%\n20%\ndone'],
    ['line ends that only some know', 'a\u0085b\u2028c\u2029d', 'a\nb\nc\nd'],
    ['colours', '\u001b[1;31mError\u001b[0m: \u001b]0;title\u0007planted', 'Error: planted'],
    ['the beginning of a sequence that never ends', '\u001b[', '\ufffd['],
    ['a nested sequence that leaves one behind', '\u001b\u001b[m[31m', '\ufffd[31m'],
  ])('%s', (_sentence, text, want) => {
    expect(safeText(text)).toBe(want);
  });

  it.each([
    ['what fits stays', cutText('abcd', 4), 'abcd'],
    ['what is too long ends in an ellipsis', cutText('abcde', 4), 'abc…'],
    ['a pair is never halved at the end', cutText('ab😀cd', 4), 'ab…'],
    ['a pair that fits stays whole', cutText('a😀bcd', 4), 'a😀…'],
    ['there may be no room at all', cutText('abc', 0), '…'],
    ['the end of a text begins with an ellipsis', endOfText('abcde', 4), '…cde'],
    ['a pair is never halved at the beginning', endOfText('ab😀cd', 4), '…cd'],
  ])('%s', (_sentence, got, want) => {
    expect(got).toBe(want);
  });

  const nasty = fc.string({
    unit: fc.oneof(
      fc.constantFrom(
        '\u001b',
        '[',
        ']',
        '0',
        ';',
        'm',
        '\r',
        '\n',
        '\ud83d',
        '\ude00',
        '\u202e',
        '\uffff',
        '\0',
        '\\',
        '"',
      ),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    ),
    maxLength: 60,
  });

  it('is the same when it is made safe again, as UTF-8 and back, and as JSON and back', () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 1, max: 70 }), (text, maxLength) => {
        const safe = safeText(text, maxLength);
        expect(safe.length).toBeLessThanOrEqual(maxLength);
        expect(safeText(safe, maxLength)).toBe(safe);
        expect(Buffer.from(safe, 'utf8').toString('utf8')).toBe(safe);
        expect(safe).not.toMatch(/[^\t\n\u0020-\u007e\u00a0-\u{10ffff}]/u);
        expect(JSON.parse(JSON.stringify(safe))).toBe(safe);
      }),
    );
  });

  it('is not needed in an escaped JSON document, which a parser reads unchanged', () => {
    fc.assert(
      fc.property(nasty, nasty, (key, text) => {
        const value = { [`k${key}`]: [text] };
        const document = escapeUnsafe(JSON.stringify(value, null, 2));
        expect(JSON.parse(document)).toEqual(value);
        expect([safeText(document), isUnsafe(document)]).toEqual([document, false]);
      }),
    );
  });

  it('is every text in foreign JSON, keys too, however it is written there', () => {
    fc.assert(
      fc.property(nasty, nasty, (key, text) => {
        const value = { [key]: [text, { deep: text }], number: 1, nothing: null };
        const safe = { [safeText(key)]: [safeText(text), { deep: safeText(text) }], number: 1, nothing: null };
        const ascii = JSON.stringify(value).replaceAll(
          /[^ -~]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        );
        expect([parseForeignJson(JSON.stringify(value)), parseForeignJson(ascii)]).toEqual([safe, safe]);
      }),
    );
  });

  it('is not made of what is no JSON', () => {
    expect(() => parseForeignJson('{"version":1,')).toThrow(SyntaxError);
  });
});
