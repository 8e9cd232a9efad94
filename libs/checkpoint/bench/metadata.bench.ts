/**
 * `npm run checkpoint:bench [-- --chunks N] [--shared]`: seconds and memory to read `.metadata` of a million chunks, beside `pickle.loads` of
 * Python in the same run. PyTorch's own classes make the file. Each reader is a process of its own, so that its memory can be measured.
 * `ratio` compares processor seconds. `structure` is V1, which also joins and compares all boxes. The last line is one JSON object.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { readDcpMetadata } from '../src/formats/dcp/dcp-metadata.ts';
import { checkStructure } from '../src/verify/verify-dcp.ts';

const PROGRAM = join(import.meta.dirname, '../../../engines/fixtures/million_chunks.py');

/** What a reader took. */
interface Cost {
  readonly wallS: number;
  readonly cpuS: number;
  /** The most that the process held in memory, the file included. */
  readonly rssBytes: number;
}

const { values } = parseArgs({
  options: {
    chunks: { type: 'string', default: String(1 << 20) },
    shared: { type: 'boolean' },
    /** For the processes that this program starts. */
    read: { type: 'string' },
    structure: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

if (values.help === true) {
  process.stdout.write(`npm run checkpoint:bench [-- --chunks N] [--shared]
  --chunks N   chunks in the file; a multiple of 1024, 1048576 unless given
  --shared     names and paths stand once in the file, as if one process had made them all
`);
} else if (values.read !== undefined) {
  process.stdout.write(`${JSON.stringify(read(values.read, values.structure === true))}\n`);
} else await compare();

function read(file: string, withStructure: boolean): Cost {
  const metadata = readFileSync(file);
  const startMs = performance.now();
  const before = process.cpuUsage();
  const state = readDcpMetadata(metadata);
  if (withStructure) checkStructure(state, []);
  const { user, system } = process.cpuUsage(before);
  const wallS = (performance.now() - startMs) / 1e3;
  return { wallS, cpuS: (user + system) / 1e6, rssBytes: process.resourceUsage().maxRSS * 1024 };
}

async function compare(): Promise<void> {
  const python = process.env['ENGINE_PYTHON'];
  if (python === undefined)
    throw new Error('ENGINE_PYTHON names no Python with PyTorch. Run npm run checkpoint:bench.');
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-metadata-'));
  const file = join(folder, '.metadata');
  try {
    await run(python, [PROGRAM, 'make', file, values.chunks, ...(values.shared === true ? ['shared'] : [])]);
    const [pickle, ours, structure] = [
      await run(python, [PROGRAM, 'time', file]),
      await run(process.execPath, [import.meta.filename, '--read', file]),
      await run(process.execPath, [import.meta.filename, '--read', file, '--structure']),
    ].map((text) => JSON.parse(text || '{}') as Cost);
    if (pickle === undefined || ours === undefined) throw new Error('a reader printed no figures');
    const ratio = ours.cpuS / pickle.cpuS;
    const result = { chunks: Number(values.chunks), fileBytes: statSync(file).size, pickle, ours, structure, ratio };
    for (const [name, cost] of Object.entries({ 'pickle.loads': pickle, 'this reader': ours, structure }))
      process.stdout.write(`${name.padEnd(14)}${format(cost)}\n`);
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(program: string, args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, args)).stdout;
}

function format(cost: Cost | undefined): string {
  const { wallS = 0, cpuS = 0, rssBytes = 0 } = cost ?? {};
  return `${wallS.toFixed(2)} s, ${cpuS.toFixed(2)} s of processor, ${(rssBytes / 1e6).toFixed(0)} MB`;
}
