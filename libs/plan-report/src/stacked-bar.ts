import { markup, type Content, type Markup } from './markup.ts';
import { styleOfPart } from './part-names.ts';

/** One part of a bar. */
export interface BarSegment {
  readonly part: string;
  readonly value: number;
  /** The value with its unit. */
  readonly shown: string;
}

/** One bar. */
export interface StackedBar {
  readonly label: Content;
  /** What the bar sums to, with its unit. */
  readonly total: string;
  readonly segments: readonly BarSegment[];
}

/** A chart of stacked bars. */
export interface StackedBars {
  /** Title for screen readers. */
  readonly title: string;
  readonly bars: readonly StackedBar[];
  /** Value at the right edge. */
  readonly most: number;
  /** A value that is marked across all bars. */
  readonly limit?: number;
}

/** Width of a bar in units of its own; the page stretches it. */
const WIDTH = 1000;

/** One line per bar: label, bar, total. Bars stretch with the page, their text does not. */
export function stackedBars({ title, bars, most, limit }: StackedBars): Markup {
  const rows = bars.map(
    (bar) => markup`
<div class="bar"><div class="bar-label">${bar.label}</div>
<svg class="bar-track" viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" role="img" aria-label="${sentence(bar)}">
${segments(bar, most)}${limit === undefined ? undefined : limitMark(limit, most)}</svg>
<div class="bar-total">${bar.total}</div></div>`,
  );
  return markup`<div class="bars" role="group" aria-label="${title}">${rows}</div>`;
}

function sentence({ total, segments: parts }: StackedBar): string {
  return `${total}: ${parts.map(({ part, shown }) => `${styleOfPart(part).label} ${shown}`).join(', ')}`;
}

function segments({ segments: parts }: StackedBar, most: number): readonly Markup[] {
  let at = 0;
  return parts.map(({ part, value, shown }) => {
    const start = at;
    at += value;
    const label = `${styleOfPart(part).label}: ${shown}`;
    return markup`<rect class="${partClass(part)}" x="${units(start, most)}" y="0" width="${units(value, most)}" height="10"><title>${label}</title></rect>`;
  });
}

function limitMark(limit: number, most: number): Markup {
  return markup`<rect class="limit" x="${units(limit, most)}" y="0" width="3" height="10"></rect>`;
}

function units(value: number, most: number): string {
  return ((WIDTH * value) / most).toFixed(1);
}

/** CSS class of a part; its colours are declared by {@link partStyles}. */
export function partClass(part: string): string {
  return `part-${part.replace(/[^A-Za-z0-9]/g, '-')}`;
}

/** Names, colours and values of the parts, the largest first where `values` are those of one bar. */
export function legend(entries: readonly { readonly part: string; readonly shown: string }[]): Markup {
  const items = entries.map(
    ({ part, shown }) =>
      markup`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="${partClass(part)}" width="10" height="10"></rect></svg><span>${styleOfPart(part).label}</span> <b>${shown}</b></li>`,
  );
  return markup`<ul class="legend">${items}</ul>`;
}

/** Rules for the colours of the given parts, for light and dark pages. */
export function partStyles(parts: readonly string[]): string {
  const rules = (scheme: 'light' | 'dark'): string =>
    parts.map((part, index) => `.${partClass(part)}{fill:${styleOfPart(part, index)[scheme]}}`).join('');
  return `${rules('light')}@media (prefers-color-scheme:dark){${rules('dark')}}`;
}
