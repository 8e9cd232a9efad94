import { GIB_BYTES } from '@coxswain/units';
import { formatTooLarge } from './search-stats.ts';

describe('a layout that is too large', () => {
  it.each<[string, number, string]>([
    ['says how much it needs', 97.9 * GIB_BYTES, 'needs at least 97.9 GiB per GPU, but 66.4 GiB may be used'],
    ['names the host where that is what is full', Infinity, 'offloads more than the memory of its host holds'],
  ])('%s', (_sentence, bytes, text) => {
    expect(formatTooLarge(bytes, 66.4 * GIB_BYTES)).toBe(text);
  });
});
