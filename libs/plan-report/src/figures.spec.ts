import { formatCount, formatGib, formatHours, formatSeconds, formatShare, formatTokens, formatUsd } from './figures.ts';
import { labelOfPart, styleOfPart } from './part-names.ts';

describe('figures', () => {
  it.each([
    [formatSeconds(0), '0 s'],
    [formatSeconds(0.00005), '50.0 µs'],
    [formatSeconds(0.0431), '43.1 ms'],
    [formatSeconds(4.0512), '4.05 s'],
    [formatSeconds(-4.0512), '-4.05 s'],
    [formatSeconds(123.4), '123 s'],
    [formatGib(71.46), '71.5 GiB'],
    [formatCount(1234567.4), '1,234,567'],
    [formatShare(0.0342), '3.4 %'],
    [formatUsd(0.01234), '$0.0123'],
    [formatUsd(12.345), '$12.35'],
    [formatUsd(1234.5), '$1,235'],
    [formatHours(17), '17.0 h'],
    [formatHours(720), '30.0 days'],
    [formatTokens(15e12), '15T tokens'],
    [formatTokens(300e9), '300B tokens'],
    [formatTokens(4.2e6), '4.2M tokens'],
    [formatTokens(12), '12 tokens'],
  ])('%s', (shown, want) => {
    expect(shown).toBe(want);
  });
});

describe('names of parts', () => {
  it.each([
    ['matrixProducts', 'matrix products'],
    ['somethingNew', 'something new'],
    ['something-else', 'something else'],
  ])('%s is %s', (part, label) => {
    expect(labelOfPart(part)).toBe(label);
    expect(styleOfPart(part, 5).label).toBe(label);
  });
});
