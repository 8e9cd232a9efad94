import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { combineCrc32 } from './combine-crc32.ts';

describe('CRCs of parts', () => {
  it('make the CRC of the whole', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (first, second) => {
        const whole = crc32(Buffer.concat([first, second]));
        expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(whole);
      }),
    );
  });

  it('make it of many bytes too', () => {
    const [first, second] = [new Uint8Array(5).fill(3), new Uint8Array((4 << 20) + 7).fill(9)];
    const whole = crc32(second, crc32(first));
    expect(combineCrc32(crc32(first), crc32(second), second.length)).toBe(whole);
  });
});
