import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { SecretMask, secretValues } from './secret-mask.ts';

const SECRETS = ['hf_abcdefgh', 'hf_abcdefgh-and-more', 'aaaaaaaab'];

function maskedIn(chunks: readonly string[]): string {
  const mask = new SecretMask(SECRETS);
  return [...chunks.map((chunk) => mask.push(Buffer.from(chunk)).toString()), mask.end().toString()].join('');
}

const piece = fc.oneof(
  fc.constantFrom(...SECRETS, 'hf_', 'a', '\n', 'hf_abcdefg', 'step 7'),
  fc.string({ maxLength: 5 }),
);

describe('secret values', () => {
  it('are replaced, however the output is split', () => {
    fc.assert(
      fc.property(fc.array(piece), fc.integer({ min: 1, max: 9 }), (pieces, size) => {
        const text = Buffer.from(pieces.join('')).toString('latin1');
        const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        const shown = maskedIn(chunks);
        for (const secret of SECRETS) expect(shown).not.toContain(secret);
        expect(shown).toEqual(maskedIn([text]));
      }),
    );
  });

  it.each([
    ['a secret', 'login hf_abcdefgh\n', 'login ***\n'],
    ['the longer of two', 'hf_abcdefgh-and-more.', '***.'],
    ['no secret', 'step 7 hf_abc', 'step 7 hf_abc'],
  ])('leave the rest as it is: %s', (_what, text, shown) => {
    expect(maskedIn([text])).toBe(shown);
  });

  it('do not hold back a line without them', () => {
    expect(new SecretMask(SECRETS).push(Buffer.from('loss 3.1\n')).toString()).toBe('loss 3.1\n');
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
    expect(secretValues({ environment, variables: ['WANDB'], directory })).toEqual([
      'wandb-12345',
      'hf_12345678',
      '-----BEGIN KEY-----',
      'MIIEabcdefgh',
    ]);
    rmSync(directory, { recursive: true });
  });
});
