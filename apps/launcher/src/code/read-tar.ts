/**
 * Reads the tar archives that Coxswain's clients write: ustar with pax headers for paths that do not fit (POSIX.1-2017, pax). Files, directories and symbolic
 * links; anything else is refused.
 */

const BLOCK = 512;
/** Longest value of a pax record that is a path. */
const MAX_PAX_BYTES = 64 << 10;

/** A file, directory or link of an archive. */
export interface TarEntry {
  /** As the archive has it. */
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'link';
  readonly isExecutable: boolean;
  /** Of a link. */
  readonly target: string;
  /** Of a file. */
  readonly content: Uint8Array;
}

/** An archive that is damaged, or holds what is not supported. */
export class TarError extends Error {}

/** Entries in the order of the archive. Throws TarError. */
export function* readTar(archive: Uint8Array): Generator<TarEntry> {
  let renamed: PaxNames = {};
  for (let at = 0; at < archive.length;) {
    const header = blockAt(archive, at);
    if (isEnd(header)) return;
    requireChecksum(header, at);
    const bytes = numberIn(header, 124, 12);
    const content = archive.subarray(at + BLOCK, at + BLOCK + bytes);
    if (content.length < bytes) throw new TarError(`the archive ends within ${pathOf(header)}`);
    at += BLOCK + Math.ceil(bytes / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === 'x') {
      renamed = paxNames(content);
      continue;
    }
    yield entryOf(header, { type, content, renamed });
    renamed = {};
  }
}

interface PaxNames {
  readonly path?: string;
  readonly linkpath?: string;
}

const KINDS: Readonly<Record<string, TarEntry['kind']>> = { '0': 'file', '\0': 'file', '5': 'directory', '2': 'link' };

function entryOf(
  header: Uint8Array,
  { type, content, renamed }: { readonly type: string; readonly content: Uint8Array; readonly renamed: PaxNames },
): TarEntry {
  const path = renamed.path ?? pathOf(header);
  const kind = KINDS[type];
  if (kind === undefined)
    throw new TarError(`${path} is of type ${JSON.stringify(type)}; only files, directories and links are supported`);
  return {
    path,
    kind,
    isExecutable: (numberIn(header, 100, 8) & 0o100) !== 0,
    target: kind === 'link' ? (renamed.linkpath ?? textIn(header, 157, 100)) : '',
    content: kind === 'file' ? content : new Uint8Array(),
  };
}

function blockAt(archive: Uint8Array, at: number): Uint8Array {
  const block = archive.subarray(at, at + BLOCK);
  if (block.length < BLOCK) throw new TarError('the archive ends within a header');
  return block;
}

function isEnd(header: Uint8Array): boolean {
  return header.every((byte) => byte === 0);
}

/** The sum of the header, with spaces in place of the sum itself. */
function requireChecksum(header: Uint8Array, at: number): void {
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  if (sum !== numberIn(header, 148, 8)) throw new TarError(`the header at byte ${at} is damaged`);
}

function pathOf(header: Uint8Array): string {
  const isUstar = textIn(header, 257, 6).startsWith('ustar');
  const prefix = isUstar ? textIn(header, 345, 155) : '';
  const name = textIn(header, 0, 100);
  return prefix === '' ? name : `${prefix}/${name}`;
}

function numberIn(header: Uint8Array, from: number, length: number): number {
  const text = textIn(header, from, length).trim();
  if (!/^[0-7]*$/.test(text)) throw new TarError('a number of a header is not octal');
  return text === '' ? 0 : Number.parseInt(text, 8);
}

function textIn(header: Uint8Array, from: number, length: number): string {
  const field = header.subarray(from, from + length);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end)).toString('utf8');
}

/** Records `LENGTH KEY=VALUE\n`; the length counts all of the record. */
function paxNames(content: Uint8Array): PaxNames {
  if (content.length > MAX_PAX_BYTES) throw new TarError('a path is too long');
  const names: { path?: string; linkpath?: string } = {};
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const length = space < 0 ? 0 : Number(Buffer.from(content.subarray(at, space)).toString('latin1'));
    if (!Number.isInteger(length) || length <= space - at + 1 || at + length > content.length)
      throw new TarError('a pax header is damaged');
    const record = Buffer.from(content.subarray(space + 1, at + length - 1)).toString('utf8');
    const equals = record.indexOf('=');
    const key = record.slice(0, equals);
    if (key === 'path' || key === 'linkpath') names[key] = record.slice(equals + 1);
    if (key === 'size') throw new TarError('a file is too large');
    at += length;
  }
  return names;
}
