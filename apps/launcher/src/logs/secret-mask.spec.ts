import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { vi } from 'vitest';
import { SecretIndex, SecretMask, secretValues } from './secret-mask.ts';

const SECRETS = ['hf_abcdefgh', 'hf_abcdefgh-and-more', 'aaaaaaaab', 'abababab', 'password-abcdef', 'abcdef-token-xyz'];

function maskedIn(chunks: readonly string[], secrets: readonly string[] = SECRETS): string {
  const mask = new SecretMask(new SecretIndex(secrets));
  return [...chunks.map((chunk) => mask.push(Buffer.from(chunk)).toString()), mask.end().toString()].join('');
}

const piece = fc.oneof(
  fc.constantFrom(...SECRETS, 'hf_', 'a', 'ab', '\n', 'hf_abcdefg', '-token-xyz', 'step 7'),
  fc.string({ maxLength: 5 }),
);

/** The slow way: marks each byte of each value, and replaces each run of values that overlap. */
function maskedSlowly(text: string): string {
  const found = SECRETS.flatMap((secret) =>
    [...text].flatMap((_, at) => (text.startsWith(secret, at) ? [{ at, end: at + secret.length }] : [])),
  ).sort((one, other) => one.at - other.at);
  let shown = '';
  let done = 0;
  for (const { at, end } of found) {
    if (at >= done) shown += `${text.slice(done, at)}***`;
    done = Math.max(done, end);
  }
  return shown + text.slice(done);
}

describe('secret values', () => {
  it('are replaced, however the output is split', () => {
    fc.assert(
      fc.property(fc.array(piece), fc.integer({ min: 1, max: 9 }), (pieces, size) => {
        const text = Buffer.from(pieces.join('')).toString('latin1');
        const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        const shown = maskedIn(chunks);
        for (const secret of SECRETS) expect(shown).not.toContain(secret);
        expect(shown).toEqual(maskedIn([text]));
        expect(shown).toEqual(maskedSlowly(text));
      }),
    );
  });

  it.each([
    ['a secret', 'login hf_abcdefgh\n', 'login ***\n'],
    ['the longer of two', 'hf_abcdefgh-and-more.', '***.'],
    ['two that overlap', 'p=password-abcdef-token-xyz.', 'p=***.'],
    ['two behind each other', 'hf_abcdefghpassword-abcdef', '******'],
    ['one that overlaps itself', 'abababababab.', '***.'],
    ['no secret', 'step 7 hf_abc', 'step 7 hf_abc'],
  ])('leave the rest as it is: %s', (_what, text, shown) => {
    expect(maskedIn([text])).toBe(shown);
  });

  it('do not hold back a line without them', () => {
    expect(new SecretMask(new SecretIndex(SECRETS)).push(Buffer.from('loss 3.1\n')).toString()).toBe('loss 3.1\n');
  });

  it('are those of variables from Secrets, of names like one, and of files; short ones are left', () => {
    const directory = mkdtempSync(join(tmpdir(), 'secrets-'));
    mkdirSync(join(directory, '..data_1'));
    writeFileSync(join(directory, '..data_1', 'key'), '-----BEGIN KEY-----\nMIIEabcdefgh\n');
    symlinkSync(join(directory, '..data_1', 'key'), join(directory, 'key'));
    const environment = {
      WANDB: 'wandb-12345',
      HF_TOKEN: 'hf_12345678',
      PIN_SECRET: '1234',
      TOKENIZER_PATH: '/data/tokenizer',
    };
    expect(secretValues({ environment, variables: ['WANDB'], directory })).toEqual({
      values: ['wandb-12345', 'hf_12345678', '-----BEGIN KEY-----', 'MIIEabcdefgh'],
      unmasked: 0,
    });
    rmSync(directory, { recursive: true });
  });

  const valuesOf = (BUNDLE: string): ReturnType<typeof secretValues> =>
    secretValues({ environment: { BUNDLE }, variables: ['BUNDLE'], directory: '/nowhere' });
  const certificate = '-----BEGIN CERTIFICATE-----\nMIICabcdefgh\n-----END CERTIFICATE-----\n';

  it('are not those of certificates, but the key beside one', () => {
    const key = '-----BEGIN KEY-----\nMIIEabcdefgh\n';
    expect(valuesOf(certificate + key + certificate).values).toEqual(['-----BEGIN KEY-----', 'MIIEabcdefgh']);
    expect(valuesOf('-----BEGIN CERTIFICATE-----\nno end here').values).toContain('no end here');
  });

  it('are bounded, and those beyond are counted', () => {
    const { values, unmasked } = valuesOf(Array.from({ length: 10_007 }, (_, at) => `secret-${at}`).join('\n'));
    expect([values.length, values[0], unmasked]).toEqual([10_000, 'secret-0', 7]);
  });

  it('cost about the same for 5,000 values as for one: output is not compared with each', () => {
    const manyValues = Array.from({ length: 5_000 }, (_, at) => `${String(at).padStart(8, '0')}-secret`);
    const compare = vi.spyOn(Buffer.prototype, 'compare');
    expect(maskedIn(['step 7 loss 3.1 '.repeat(4_096)], manyValues)).toHaveLength(65_536);
    expect(compare.mock.calls.length).toBeLessThan(100);
    compare.mockRestore();
  });
});
