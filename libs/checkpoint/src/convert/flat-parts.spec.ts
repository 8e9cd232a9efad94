import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { volumeOf } from '../read/saved-state.ts';
import { placeIn } from '../reshard/boxes.ts';
import { castElements } from './cast-elements.ts';
import { combineCrc32 } from './combine-crc32.ts';
import { flatBoxes } from './flat-boxes.ts';

describe('a range of elements', () => {
  it('is boxes that follow each other', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }),
        fc.nat(),
        fc.nat(),
        (shape, one, other) => {
          const whole = { offsets: shape.map(() => 0), sizes: shape };
          const size = volumeOf(shape);
          const [from = 0, to = 0] = [one % (size + 1), other % (size + 1)].toSorted((a, b) => a - b);
          let at = from;
          const boxes = flatBoxes(shape, from, to);
          for (const box of boxes) {
            expect(placeIn(whole, box.offsets)).toBe(at);
            at += volumeOf(box.sizes);
          }
          expect(at).toBe(to);
          expect(boxes.length).toBeLessThanOrEqual(Math.max(1, 2 * shape.length - 1));
        },
      ),
    );
  });
});

describe('the CRC-32 of two parts', () => {
  it('is that of both', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (one, other) => {
        expect(combineCrc32(crc32(one), crc32(other), other.length)).toBe(crc32(Buffer.concat([one, other])));
      }),
    );
  });
});

describe('elements of float32 in bfloat16', () => {
  const narrow = (value: number): number => {
    const bytes = castElements(new Uint8Array(Float32Array.of(value).buffer), 'float32', 'bfloat16');
    return new DataView(bytes.buffer).getUint16(0, true);
  };
  it.each<[string, number, number]>([
    ['stay if they fit', 1.5, 0x3fc0],
    ['are rounded down below half', 1 + 2 ** -9, 0x3f80],
    ['are rounded to even at half', 1 + 2 ** -8, 0x3f80],
    ['are rounded to even at half, upwards', 1 + 3 * 2 ** -8, 0x3f82],
    ['become infinite if they are too large', 3.4e38, 0x7f80],
    ['stay no number', NaN, 0x7fc0],
    ['keep their sign', -0, 0x8000],
  ])('%s', (_what, value, bits) => expect(narrow(value)).toBe(bits));

  it('are the same again after a way there and back', () => {
    fc.assert(
      fc.property(fc.uint16Array({ maxLength: 50 }), (bits) => {
        const finite = bits.map((each) => ((each & 0x7f80) === 0x7f80 ? each & 0xff7f : each));
        const bytes = new Uint8Array(finite.buffer);
        const wide = castElements(bytes, 'bfloat16', 'float32');
        expect(castElements(wide, 'float32', 'bfloat16')).toEqual(bytes);
      }),
    );
  });
});
