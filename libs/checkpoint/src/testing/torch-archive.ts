import { crc32 } from 'node:zlib';

/** An archive as `torch.save` writes it: stored records below one folder, and a directory with their CRC-32. `pickle`: in Latin-1. */
export function torchArchive(pickle: string, records: Readonly<Record<string, Uint8Array>> = {}): Uint8Array {
  const all = Object.entries({ 'data.pkl': Buffer.from(pickle, 'latin1'), ...records });
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let at = 0;
  for (const [name, bytes] of all) {
    const path = Buffer.from(`archive/${name}`);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50);
    local.writeUInt16LE(path.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt32LE(crc32(bytes), 16);
    entry.writeUInt32LE(bytes.length, 20);
    entry.writeUInt32LE(bytes.length, 24);
    entry.writeUInt16LE(path.length, 28);
    entry.writeUInt32LE(at, 42);
    locals.push(local, path, Buffer.from(bytes));
    entries.push(entry, path);
    at += local.length + path.length + bytes.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(all.length, 8);
  end.writeUInt16LE(all.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Uint8Array.from(Buffer.concat([...locals, directory, end]));
}
