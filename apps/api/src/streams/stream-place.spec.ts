import { codeOf } from '../testing/code-of.ts';
import { placeOf, placeText, type StreamPlace } from './stream-place.ts';

describe('the place of a stream', () => {
  it.each<[string, string, StreamPlace]>([
    ['an event alone', '7', { event: 7, change: undefined }],
    ['an event and a change of steps', '7-123', { event: 7, change: 123 }],
    ['nothing seen yet', '0-0', { event: 0, change: 0 }],
  ])('of %s is shown as it was sent', (_what, text, place) => {
    expect(placeOf(text)).toEqual(place);
    expect(placeText(place)).toBe(text);
  });

  it.each(['x', '7-', '-7', '7-8-9', '1e3', '9'.repeat(16)])('is not %j', (text) => {
    expect(codeOf(() => placeOf(text))).toBe('INVALID_REQUEST');
  });

  it.each([undefined, ''])('may be left out: %j', (header) => {
    expect(placeOf(header)).toBeUndefined();
  });
});
