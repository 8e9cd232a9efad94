import fc from 'fast-check';
import { PROPERTY_SEED_VARIABLE, propertySeed } from './which-seed.ts';

describe('the seed of properties', () => {
  it.each([
    ['the usual one where nothing is said', undefined, 1],
    ['the usual one where nothing stands', '', 1],
    ['the one that is asked for', '42', 42],
    ['one below zero', '-7', -7],
  ])('is %s', (_sentence, text, seed) => {
    expect(propertySeed(text)).toBe(seed);
  });

  it.each(['one', '1.5', '4294967296', 'NaN'])('is not %p', (text) => {
    expect(() => propertySeed(text)).toThrow(`not "${text}"`);
  });

  it('is that of every property of this run', () => {
    expect(fc.readConfigureGlobal().seed).toBe(propertySeed(process.env[PROPERTY_SEED_VARIABLE]));
  });

  it('lets two runs of a property see the same', () => {
    const seen = (): number[] => {
      const values: number[] = [];
      fc.assert(fc.property(fc.integer(), (value) => void values.push(value)));
      return values;
    };

    expect(seen()).toEqual(seen());
  });
});
