import { formatMs, signedPercent } from './step-time.ts';

describe('a step time', () => {
  it.each([
    [117.6, '118 ms'],
    [1_239.6, '1,240 ms'],
    [0.123_45, '0.123 ms'],
    [0, '0 ms'],
    [99.96, '100 ms'],
  ])('of %d ms is shown as %j', (durationMs, want) => {
    expect(formatMs(durationMs)).toBe(want);
  });
});

describe('an error', () => {
  it.each([
    [4.8, '+4.8 %'],
    [-4.84, '-4.8 %'],
    [0, '0.0 %'],
    [12, '+12.0 %'],
  ])('of %d percent is shown as %j', (value, want) => {
    expect(signedPercent(value)).toBe(want);
  });
});
