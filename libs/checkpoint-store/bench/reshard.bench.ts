/**
 * `npm run reshard:bench [-- --mib N] [--rounds N]`: seconds to divide a save of PyTorch DCP anew, beside `cp` with sync and beside PyTorch's own load and save.
 * Rounds alternate, and the kernel forgets the source before each. Bytes are those that the kernel counts for the process. The last line is one JSON object with
 * the medians.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { divideColumns, divideRows, pieceBytesFor, planReshard, readKeyPaths, verifySave } from '@coxswain/checkpoint';
import { openStore } from '../src/open-store.ts';
import { runReading } from '../src/reading/run-reading.ts';
import { runReshard } from '../src/resharding/run-reshard.ts';

const PROGRAM = join(import.meta.dirname, '../../../engines/fixtures/large_dcp.py');
/** Ranks of the new layout, by the dim that they divide. */
const RANKS = { rows: 3, columns: 2 } as const;
type Division = keyof typeof RANKS;

/** What one way took once. */
interface Cost {
  readonly wallS: number;
  readonly rssBytes?: number;
  /** Bytes that the process read, over those of the save. */
  readonly amplification?: number;
}

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '4096' },
    rounds: { type: 'string', default: '5' },
    directory: { type: 'string' },
    /** For the processes that this program starts. */
    once: { type: 'string', multiple: true },
    help: { type: 'boolean' },
  },
});

if (values.help === true) {
  process.stdout.write(`npm run reshard:bench [-- --mib N] [--rounds N] [--directory PATH]
  --mib N            size of the save, 4096 unless given; three times as much disk is used
  --rounds N         rounds, 5 unless given
  --directory PATH   where to write, the temporary directory unless given
`);
} else if (values.once !== undefined) {
  const [from = '', to = '', division = 'rows'] = values.once;
  process.stdout.write(`${JSON.stringify(await once(from, to, division as Division))}\n`);
} else await compare();

async function once(from: string, to: string, division: Division): Promise<Cost> {
  const readBefore = bytesRead();
  const startMs = performance.now();
  const [source, target] = [await openStore(from, {}), await openStore(to, {})];
  const files = await source.list();
  const { state = { tensors: [], objects: [] } } = await runReading(
    source,
    files,
    verifySave(files, { level: 'V1', crc32 }),
  );
  const divide = division === 'rows' ? divideRows(RANKS.rows) : divideColumns(RANKS.columns);
  const plan = planReshard(state, { divide, pieceBytes: pieceBytesFor(RANKS[division]), crc32 });
  const paths = readKeyPaths(readFileSync(join(from, '.metadata')));
  await runReshard({ plan, paths, source, files, target, sourceId: from, bandBytes: 4 << 20 });
  const wallS = (performance.now() - startMs) / 1e3;
  const rssBytes = process.resourceUsage().maxRSS * 1024;
  return { wallS, rssBytes, amplification: (bytesRead() - readBefore) / plan.bytes };
}

/** What this process asked the kernel to read, from the page cache or the disk. */
function bytesRead(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
}

async function compare(): Promise<void> {
  const python = process.env['ENGINE_PYTHON'];
  if (python === undefined) throw new Error('ENGINE_PYTHON names no Python with PyTorch. Run npm run reshard:bench.');
  const folder = mkdtempSync(join(values.directory ?? tmpdir(), 'coxswain-reshard-bench-'));
  const source = join(folder, 'source');
  const costs: Record<string, Cost[]> = {};
  try {
    say(`PyTorch saves ${values.mib} MiB with four ranks`);
    await run(python, [PROGRAM, 'make', source, values.mib]);
    const ways = waysOf(python, source, join(folder, 'target'));
    for (let round = 1; round <= Number(values.rounds); round++) {
      for (const [name, way] of Object.entries(ways)) {
        rmSync(join(folder, 'target'), { recursive: true, force: true });
        mkdirSync(join(folder, 'target'));
        await run(python, [PROGRAM, 'forget', source]);
        const cost = await way();
        (costs[name] ??= []).push(cost);
        say(`round ${String(round)}: ${name.padEnd(16)} ${cost.wallS.toFixed(2)} s`);
      }
    }
    report(costs, bytesIn(source));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function waysOf(python: string, source: string, target: string): Readonly<Record<string, () => Promise<Cost>>> {
  const ours = (division: Division) => async (): Promise<Cost> =>
    JSON.parse(
      await run(process.execPath, [import.meta.filename, '--once', source, '--once', target, '--once', division]),
    ) as Cost;
  const pytorch = (division: Division) => async (): Promise<Cost> =>
    JSON.parse(
      await run(python, [PROGRAM, 'reshard', source, target, String(RANKS[division]), division === 'rows' ? '0' : '1']),
    ) as Cost;
  return {
    cp: async () => {
      const startMs = performance.now();
      await run('sh', ['-c', `cp -r "${source}/." "${target}" && sync -f "${target}"`]);
      return { wallS: (performance.now() - startMs) / 1e3 };
    },
    rows: ours('rows'),
    'pytorch rows': pytorch('rows'),
    columns: ours('columns'),
    'pytorch columns': pytorch('columns'),
  };
}

function report(costs: Readonly<Record<string, readonly Cost[]>>, bytes: number): void {
  const medians = Object.fromEntries(
    Object.entries(costs).map(([name, runs]) => [
      name,
      {
        wallS: median(runs.map(({ wallS }) => wallS)),
        rssBytes: Math.max(...runs.map(({ rssBytes = 0 }) => rssBytes)),
        amplification: median(runs.map(({ amplification = 0 }) => amplification)),
      },
    ]),
  );
  const seconds = (name: string): number => medians[name]?.wallS ?? NaN;
  const ratios = {
    rowsOfCp: seconds('cp') / seconds('rows'),
    columnsOfCp: seconds('cp') / seconds('columns'),
    rowsOverPytorch: seconds('pytorch rows') / seconds('rows'),
    columnsOverPytorch: seconds('pytorch columns') / seconds('columns'),
  };
  process.stdout.write(`${JSON.stringify({ bytes, medians, ratios })}\n`);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? NaN;
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function run(program: string, args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, args)).stdout.trim().split('\n').at(-1) ?? '';
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
