import { escapeUnsafe, isUnsafe } from '@coxswain/safe-text';
import { Document, type ToStringOptions, visit } from 'yaml';
import { paint, shownLength } from './paint.ts';

/** Values of `--output`. */
export const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;
/** One entry of {@link OUTPUT_FORMATS}. */
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Formats data as JSON, YAML, or the table that `table` makes of it. */
export function render<T>(data: T, format: OutputFormat, table: (data: T) => string): string {
  switch (format) {
    case 'json':
      return jsonText(data, 2);
    case 'yaml':
      return yamlText(new Document(data)).trimEnd();
    case 'table':
      return table(data);
  }
}

/** JSON in which every character that a terminal could obey is escaped, C1 controls and directions of writing included. */
export function jsonText(data: unknown, indent?: number): string {
  return escapeUnsafe(JSON.stringify(data, null, indent));
}

/** YAML in which every character that a terminal could obey is escaped. Changes the style of scalars in the document: only double quotes have escapes. */
export function yamlText(document: Document, options?: ToStringOptions): string {
  visit(document, {
    Scalar: (_key, scalar) => {
      if (typeof scalar.value === 'string' && isUnsafe(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return escapeUnsafe(document.toString(options));
}

/** Columns padded to their widest cell, without spaces at the end of a line. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, shownLength(cell))));
  const padded = (cell: string, width: number): string => cell + ' '.repeat(Math.max(0, width - shownLength(cell)));
  const line = (row: readonly string[]): string =>
    row.map((cell, index) => padded(cell, widths[index] ?? 0)).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

/** One line per problem. */
export function problemLines(problems: readonly { readonly message: string }[]): string {
  return problems.map(({ message }) => `${paint('held', '!')} ${message}`).join('\n');
}

/** `2030-01-31T12:00:00.000Z` as `2030-01-31 12:00:00`, for texts that name UTC. */
export function utcText(at: string): string {
  return at.slice(0, 19).replace('T', ' ');
}

/** Three significant digits: `118 ms`, `1,240 ms`. */
export function formatMs(durationMs: number): string {
  return `${durationMs.toLocaleString('en-US', { maximumSignificantDigits: 3 })} ms`;
}

/** With its sign and one decimal, as in `+4.8`. */
export function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(1)}`;
}
