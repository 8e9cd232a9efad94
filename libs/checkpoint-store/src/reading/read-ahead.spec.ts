import fc from 'fast-check';
import { ReadAhead, type ReadAheadLimits } from './read-ahead.ts';

const KIB = 1 << 10;
const LIMITS: ReadAheadLimits = { leastBytes: KIB, pieceBytes: 8 * KIB, parallel: 4, keptBytes: 64 * KIB };

/** A file whose reads are recorded. */
class RecordedFile {
  readonly requests: { readonly offset: number; readonly length: number }[] = [];
  readonly bytes: Uint8Array;
  running = 0;
  mostRunning = 0;

  constructor(size: number) {
    this.bytes = Uint8Array.from({ length: size }, (_, index) => (index * 31 + (index >> 8)) % 256);
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    this.requests.push({ offset, length });
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    await new Promise(setImmediate);
    this.running--;
    return this.bytes.slice(offset, offset + length);
  }

  fetched(): number {
    return this.requests.reduce((sum, { length }) => sum + length, 0);
  }
}

function readerOf(file: RecordedFile, listedBytes = file.bytes.length): ReadAhead {
  return new ReadAhead((_path, offset, length) => file.read(offset, length), new Map([['file', listedBytes]]), LIMITS);
}

describe('reading ahead', () => {
  it('gives the bytes of the file for every order of reads', async () => {
    const read = fc.tuple(fc.nat(200 * KIB), fc.oneof(fc.nat(64), fc.nat(100 * KIB)));
    await fc.assert(
      fc.asyncProperty(fc.nat(150 * KIB), fc.array(read, { maxLength: 30 }), async (size, reads) => {
        const file = new RecordedFile(size);
        const reader = readerOf(file);
        for (const [offset, length] of reads) {
          const found = await reader.read('file', offset, length);
          expect(Buffer.compare(found, file.bytes.subarray(offset, offset + length))).toBe(0);
        }
        expect(file.mostRunning).toBeLessThanOrEqual(LIMITS.parallel);
      }),
      { numRuns: 40 },
    );
  });

  it('combines small reads that are close to each other', async () => {
    const file = new RecordedFile(100 * KIB);
    const reader = readerOf(file);
    for (let at = 0; at < 100 * KIB; at += 256) await reader.read('file', at, 30);
    expect(file.requests.length).toBeLessThan(25); // 400 reads.
  });

  it('reads on, in parallel, where a file is read from its start to its end', async () => {
    const file = new RecordedFile(1024 * KIB);
    const reader = readerOf(file);
    for (let at = 0; at < 1024 * KIB; at += 8 * KIB) await reader.read('file', at, 8 * KIB);
    expect([file.fetched(), file.mostRunning]).toEqual([1024 * KIB, LIMITS.parallel]);
  });

  it('reads on where each item is read from its end first, as archives are', async () => {
    const file = new RecordedFile(512 * KIB);
    const reader = readerOf(file);
    for (let item = 0; item < 512 * KIB; item += 4 * KIB) {
      await reader.read('file', item + 4 * KIB - 64, 64);
      await reader.read('file', item, 4 * KIB);
    }
    expect(file.fetched()).toBe(512 * KIB);
    expect(file.requests.length).toBeLessThan(75); // 256 reads.
  });

  it('fetches little around reads that are far from each other', async () => {
    const file = new RecordedFile(1024 * KIB);
    const reader = readerOf(file);
    for (let at = 0; at < 1024 * KIB; at += 64 * KIB) await reader.read('file', at, 30);
    expect(file.fetched()).toBe(16 * LIMITS.leastBytes);
  });

  it('fetches at most twice what is asked for, beside its least', async () => {
    const file = new RecordedFile(4096 * KIB);
    const reader = readerOf(file);
    for (let item = 0; item < 4096 * KIB; item += 512 * KIB)
      for (let at = item; at < item + 16 * KIB; at += 8 * KIB) await reader.read('file', at, 8 * KIB);
    expect(file.fetched()).toBeLessThanOrEqual(2 * 8 * 16 * KIB + 8 * LIMITS.leastBytes);
  });

  it('ends where the file ends, though it was longer when it was listed', async () => {
    const file = new RecordedFile(10 * KIB);
    const found = await readerOf(file, 40 * KIB).read('file', 0, 40 * KIB);
    expect(Buffer.compare(found, file.bytes)).toBe(0);
  });

  it('asks again for what could not be read', async () => {
    const file = new RecordedFile(10 * KIB);
    let failures = 1;
    const reader = new ReadAhead(
      (_path, offset, length) =>
        failures-- > 0 ? Promise.reject(new Error('the network is gone')) : file.read(offset, length),
      new Map([['file', 10 * KIB]]),
      LIMITS,
    );
    await expect(reader.read('file', 0, 10)).rejects.toThrow('the network is gone');
    expect((await reader.read('file', 0, 10)).length).toBe(10);
  });
});
