import fc from 'fast-check';
import {
  DAY_MS,
  formatBytes,
  formatCount,
  formatDuration,
  GIB_BYTES,
  HOUR_MS,
  KIB_BYTES,
  MIB_BYTES,
  MINUTE_MS,
} from './index.ts';

describe('a duration', () => {
  it.each<[number, string]>([
    [-5, '0 ms'],
    [0, '0 ms'],
    [999.4, '999 ms'],
    [1_000, '1.0 s'],
    [5_025, '5.0 s'],
    [MINUTE_MS - 100, '59.9 s'],
    [MINUTE_MS, '1 min 0 s'],
    [95_000, '1 min 35 s'],
    [HOUR_MS - 1, '59 min 59 s'],
    [HOUR_MS, '1 h 0 min'],
    [DAY_MS - 1, '23 h 59 min'],
    [DAY_MS, '1 d 0 h'],
    [50 * HOUR_MS, '2 d 2 h'],
  ])('of %d ms reads %s', (ms, want) => {
    expect(formatDuration(ms)).toBe(want);
  });
});

describe('a count', () => {
  it.each<[number, string]>([
    [0, '0 nodes'],
    [1, '1 node'],
    [2, '2 nodes'],
    [10_000, '10,000 nodes'],
  ])('of %d reads %s', (count, want) => {
    expect(formatCount(count, 'node')).toBe(want);
  });
});

describe('a size', () => {
  it.each<[number, string]>([
    [0, '0 B'],
    [KIB_BYTES - 1, '1023 B'],
    [KIB_BYTES, '1.0 KiB'],
    [1_572_864, '1.5 MiB'],
    [GIB_BYTES, '1.0 GiB'],
    [1024 * GIB_BYTES, '1.0 TiB'],
    [5000 * 1024 * GIB_BYTES, '5000.0 TiB'],
  ])('of %d bytes reads %s', (bytes, want) => {
    expect(formatBytes(bytes)).toBe(want);
  });

  it('read back is the size, but for what the digit shown leaves out', () => {
    const unitOf: Readonly<Record<string, number>> = {
      B: 1,
      KiB: KIB_BYTES,
      MiB: MIB_BYTES,
      GiB: GIB_BYTES,
      TiB: 1024 * GIB_BYTES,
    };
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        const [number = '', unit = ''] = formatBytes(bytes).split(' ');
        const one = unitOf[unit] ?? Number.NaN;
        expect(Math.abs(Number(number) * one - bytes)).toBeLessThanOrEqual(0.051 * one);
      }),
    );
  });
});
