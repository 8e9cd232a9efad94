import { LogText } from './log-text.ts';

const shown = (...chunks: readonly (string | Uint8Array)[]): readonly string[] => {
  const log = new LogText();
  const pieces = chunks.map((chunk) => log.push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk));
  return [...pieces, log.end()];
};

describe('a log on a terminal', () => {
  it.each<[string, readonly (string | Uint8Array)[], readonly string[]]>([
    ['is shown line by line', ['one\ntw', 'o\n'], ['one\n', 'two\n', '']],
    ['is shown whole at its end', ['last'], ['', 'last']],
    ['changes no title and no clipboard', ['\u001b]52;c;cm0gLXJm\u0007a\u001b]0;t\u001b\\b\n'], ['ab\n', '']],
    ['changes nothing by a sequence that came in two pieces', ['a\u001b]52;c;', 'cm0=\u0007b\n'], ['', 'ab\n', '']],
    [
      'keeps its letters when the network cuts one in two',
      [new Uint8Array([0xc3]), new Uint8Array([0xb6, 0x0a])],
      ['', 'ö\n', ''],
    ],
    ['has a progress bar as lines', ['10 %\r20 %\r', '30 %'], ['10 %\n20 %\n', '', '30 %']],
    ['shows a line without an end in pieces', ['x'.repeat(70_000), 'y'], ['x'.repeat(70_000), '', 'y']],
  ])('%s', (_what, chunks, want) => {
    expect(shown(...chunks)).toEqual(want);
  });
});
