/**
 * Colours of what is printed. Text of others is cleaned of control sequences just before it is printed, so a colour is first a mark of plain letters in the text, with
 * a key that differs in each process: no other program can write one. The code that prints replaces the marks at last.
 */
import { randomUUID } from 'node:crypto';

/** Values of `--color`. */
export const COLOR_CHOICES = ['auto', 'always', 'never'] as const;
/** One entry of {@link COLOR_CHOICES}. */
export type ColorChoice = (typeof COLOR_CHOICES)[number];

/** What a colour says. */
export type Tone = 'good' | 'busy' | 'held' | 'bad' | 'faint';

/** Parameters of SGR that begin and end a tone. Each ends only what it began. */
const SGR: Readonly<Record<Tone, readonly [begin: number, end: number]>> = {
  good: [32, 39],
  busy: [36, 39],
  held: [33, 39],
  bad: [31, 39],
  faint: [2, 22],
};

const KEY = randomUUID();
const MARK = new RegExp(`<${KEY}:(\\d+)>`, 'g');
const TEXT_OR_MARK = new RegExp(`(<${KEY}:\\d+>)`);
const mark = (parameter: number): string => `<${KEY}:${parameter}>`;

/** Whether a stream gets colours. The option goes before `NO_COLOR` (https://no-color.org), and that before what the terminal can do. */
export function hasColor(
  choice: ColorChoice,
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (choice !== 'auto') return choice === 'always';
  return isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

/** The text with marks of its tone; without a tone, or of nothing, the text itself. Marks do not nest. */
export function paint(tone: Tone | undefined, text: string): string {
  if (tone === undefined || text === '') return text;
  const [begin, end] = SGR[tone];
  return `${mark(begin)}${text}${mark(end)}`;
}

/** The text with its marks replaced: by control sequences, or by nothing. */
export function withColors(text: string, isOn: boolean): string {
  return text.replaceAll(MARK, isOn ? '\u001b[$1m' : '');
}

/** Characters that a terminal shows of the text. */
export function shownLength(text: string): number {
  return withColors(text, false).length;
}

/** The beginning of the text, at most `width` shown characters, with an ellipsis if it was cut. A colour that began ends. */
export function cutShown(text: string, width: number): string {
  if (shownLength(text) <= width) return text;
  let left = Math.max(0, width - 1);
  const kept = text.split(TEXT_OR_MARK).map((part) => {
    if (part.startsWith(`<${KEY}:`)) return part;
    const shown = part.slice(0, left);
    left -= shown.length;
    return shown;
  });
  return `${kept.join('')}${width > 0 ? '…' : ''}`;
}
