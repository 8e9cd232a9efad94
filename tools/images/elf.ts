import { closeSync, openSync, readSync } from 'node:fs';

/** Processors that images are built for, in the words of image indexes. */
export type Architecture = 'amd64' | 'arm64';

/** `e_machine` of the ELF header (elf.h): which processor a program is for. */
const MACHINES: Readonly<Record<number, Architecture>> = { 62: 'amd64', 183: 'arm64' };

/** The processor that an ELF program or library is for. Rejects what is none, or is for another one. */
export function architectureOf(path: string): Architecture {
  const header = Buffer.alloc(20);
  const file = openSync(path, 'r');
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  if (header.subarray(0, 4).toString('latin1') !== '\u007fELF') throw new Error(`${path} is no ELF program`);
  // EI_DATA: 1 is little-endian, which both are.
  if (header[5] !== 1) throw new Error(`${path} is big-endian; images are built for amd64 and arm64`);
  const machine = header.readUInt16LE(18);
  const architecture = MACHINES[machine];
  if (architecture === undefined) {
    throw new Error(
      `${path} is for the processor ${machine} of elf.h; images are built for amd64 (62) and arm64 (183)`,
    );
  }
  return architecture;
}
