/** TOML as configurations of TorchTitan use it: tables, texts, numbers, switches and lists. */
import { CliError } from '../cli-error.ts';

type Table = Record<string, unknown>;

/** The tables of a text. Throws a {@link CliError} with the first line that it cannot read. */
export function tomlDocument(text: string, source: string): object {
  const whole: Table = {};
  let table = whole;
  for (const [index, line] of joined(text)) {
    const [, name] = /^\[([\w.-]+)\]$/.exec(line) ?? [];
    const [, key, value = ''] = /^([\w.-]+|"[^"]+")\s*=\s*(.+)$/.exec(line) ?? [];
    const read = key === undefined ? undefined : valueOf(value);
    if (name !== undefined) table = tableAt(whole, name.split('.'));
    else if (key !== undefined && read !== undefined) set(table, key.replaceAll('"', '').split('.'), read);
    else
      throw new CliError(
        `${source}, line ${index + 1}: cannot read ${JSON.stringify(line)}; write it as name = value with a text, a number, true, false or a list.`,
      );
  }
  return whole;
}

/** Lines without comments; a list over several lines is one. */
function joined(text: string): readonly (readonly [number, string])[] {
  const lines: [number, string][] = [];
  let open: [number, string] | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = withoutComment(raw).trim();
    if (line === '') continue;
    const current: [number, string] = open === undefined ? [index, line] : [open[0], `${open[1]} ${line}`];
    open = isOpen(current[1]) ? current : undefined;
    if (open === undefined) lines.push(current);
  }
  return open === undefined ? lines : [...lines, open];
}

const TEXT = /"(?:[^"\\]|\\.)*"|'[^']*'/g;

function withoutComment(line: string): string {
  const hash = line.replaceAll(TEXT, (text) => ' '.repeat(text.length)).indexOf('#');
  return hash < 0 ? line : line.slice(0, hash);
}

function isOpen(line: string): boolean {
  const bare = line.replaceAll(TEXT, '');
  return bare.includes('=') && bare.split('[').length > bare.split(']').length;
}

/** Undefined if it is none of these. Numbers of TOML may have underscores, and lists an end comma. */
function valueOf(text: string): unknown {
  const json = text
    .replaceAll(/'([^']*)'/g, (_whole, inner: string) => JSON.stringify(inner))
    .replaceAll(/"(?:[^"\\]|\\.)*"|(?<=\d)_(?=\d)|,(?=\s*\])/g, (part) => (part.startsWith('"') ? part : ''));
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function tableAt(whole: Table, [name, ...rest]: readonly string[]): Table {
  if (name === undefined) return whole;
  const inner = Object.hasOwn(whole, name) ? whole[name] : undefined;
  const next: Table = typeof inner === 'object' && inner !== null ? (inner as Table) : {};
  Object.defineProperty(whole, name, { value: next, enumerable: true, configurable: true, writable: true });
  return tableAt(next, rest);
}

function set(table: Table, path: readonly string[], value: unknown): void {
  const at = tableAt(table, path.slice(0, -1));
  const name = path.at(-1) ?? '';
  Object.defineProperty(at, name, { value, enumerable: true, configurable: true, writable: true });
}
