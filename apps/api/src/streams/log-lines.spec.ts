import fc from 'fast-check';
import { concatenated, grepLines, lastLines, mergedLines } from './log-lines.ts';

async function* bodyOf(...chunks: readonly (string | Buffer)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString('latin1');
}

describe('lines of logs', () => {
  it('that contain a text are found, however the log is split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('loss 1\n', 'err', 'or here', '\n', '\u00ff')),
        fc.integer({ min: 1, max: 7 }),
        async (pieces, size) => {
          const text = Buffer.from(pieces.join(''), 'latin1');
          const chunks: Buffer[] = [];
          for (let at = 0; at < text.length; at += size) chunks.push(text.subarray(at, at + size));
          const lines = text.toString('latin1').match(/[^\n]*\n|[^\n]+$/g) ?? [];
          const expected = lines.filter((line) => line.includes('error')).join('');
          expect(await textOf(grepLines(bodyOf(...chunks), 'error'))).toEqual(expected);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('are the last ones', async () => {
    expect(await textOf(lastLines(grepLines(bodyOf('a1\nb\na2\na3'), 'a'), 2))).toBe('a2\na3');
  });

  it('of a line without an end take little memory', async () => {
    const chunk = Buffer.alloc(1_000_000, 'x');
    const lines: number[] = [];
    for await (const { length } of grepLines(bodyOf(...Array.from({ length: 5 }, () => chunk)), 'x'))
      lines.push(length);
    expect(Math.max(...lines)).toBeLessThan(2_500_000);
  });

  it('of several logs are whole', async () => {
    const merged = await textOf(mergedLines([bodyOf('a1\na', '2\n'), bodyOf('b1', '\nb2')]));
    expect(merged.match(/[ab]\d\n?/g)?.toSorted()).toEqual(['a1\n', 'a2\n', 'b1\n', 'b2']);
  });

  it('of one log after the other are in order, and a log is opened when it is read', async () => {
    const opened: string[] = [];
    const open = (name: string) => (): Promise<AsyncGenerator<Uint8Array>> => {
      opened.push(name);
      return Promise.resolve(bodyOf(name));
    };
    const body = concatenated([open('a'), open('b')]);
    await body.next();
    expect(opened).toEqual(['a']);
    expect(await textOf(body)).toBe('b');
  });
});
