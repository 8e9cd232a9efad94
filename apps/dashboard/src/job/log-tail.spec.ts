import { LogTail } from './log-tail.ts';

describe('the log on a page', () => {
  it('is the text as it came, also if a character is cut', () => {
    const tail = new LogTail();
    const bytes = new TextEncoder().encode('größe\n');
    tail.push(bytes.subarray(0, 3));
    tail.push(bytes.subarray(3));
    expect([tail.text, tail.isCut]).toEqual(['größe\n', false]);
  });

  it('has the newest whole lines of a long one', () => {
    const tail = new LogTail();
    const lines = Array.from({ length: 30_000 }, (_, line) => `${line}`.padStart(99, '.'));
    for (const line of lines) tail.push(new TextEncoder().encode(`${line}\n`));
    expect(tail.isCut).toBe(true);
    const shown = tail.text.trimEnd().split('\n');
    expect(shown).toEqual(lines.slice(-shown.length));
    expect(tail.text.length).toBeGreaterThan(900_000);
    expect(tail.text.length).toBeLessThanOrEqual(1_000_000);
  });
});
