/** Writes tar archives that are the same bytes for the same files: ustar, with pax headers for long and non-ASCII names (POSIX.1-2017, pax). */

const BLOCK = 512;
const MAX_NAME_BYTES = 100;

/** A file or a link. */
export interface TarFile {
  readonly path: string;
  readonly isExecutable: boolean;
  /** Of a symbolic link; undefined: a file. */
  readonly target?: string;
  readonly content: Uint8Array;
}

/** The archive. Owners and times are left out. */
export function writeTar(files: readonly TarFile[]): Uint8Array {
  const parts = files.flatMap((file) => {
    const names = { path: file.path, linkpath: file.target ?? '' };
    const long = Object.entries(names).filter(([, name]) => !isPlain(name));
    const pax = Buffer.from(long.map(([key, name]) => paxRecord(key, name)).join(''));
    return [
      ...(long.length === 0 ? [] : entry({ path: 'pax-header', type: 'x', mode: 0o644, target: '', content: pax })),
      ...entry({
        path: file.path,
        type: file.target === undefined ? '0' : '2',
        mode: file.isExecutable ? 0o755 : 0o644,
        target: file.target ?? '',
        content: file.content,
      }),
    ];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

interface Entry {
  readonly path: string;
  readonly type: '0' | '2' | 'x';
  readonly mode: number;
  readonly target: string;
  readonly content: Uint8Array;
}

function entry({ path, type, mode, target, content }: Entry): readonly Uint8Array[] {
  const header = Buffer.alloc(BLOCK);
  const octal = (at: number, length: number, value: number): void => {
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  };
  header.set(firstBytes(path), 0);
  octal(100, 8, mode);
  octal(108, 8, 0);
  octal(116, 8, 0);
  octal(124, 12, content.length);
  octal(136, 12, 0);
  header.write('        ', 148, 'latin1');
  header.write(type, 156, 'latin1');
  header.set(firstBytes(target), 157);
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  const padding = (BLOCK - (content.length % BLOCK)) % BLOCK;
  return [header, content, Buffer.alloc(padding)];
}

function firstBytes(name: string): Uint8Array {
  return Buffer.from(name).subarray(0, MAX_NAME_BYTES);
}

/** Fits into the header as every reader understands it. */
function isPlain(name: string): boolean {
  return /^[ -~]*$/.test(name) && name.length <= MAX_NAME_BYTES;
}

/** `LENGTH KEY=VALUE\n`, whose length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return `${length} ${key}=${value}\n`;
}
