/** Measures the machine that the command runs on: as many ranks as asked for, each a process of the Python that is given. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError } from '../cli-error.ts';
import programs from './programs.generated.json' with { type: 'json' };

/** How many ranks measure this machine, with which Python, and for about how long. */
export interface LocalRanks {
  readonly python: string;
  readonly ranks: number;
  /** Ranks of one node; ranks of this machine stand for several nodes where it is fewer. */
  readonly ranksPerNode: number;
  /** About how long to measure. */
  readonly seconds: number;
  /** Longest that ranks may take beyond three times what they measure: loading PyTorch, meeting, warming up. */
  readonly spareMs?: number;
}

const SPARE_MS = 10 * 60_000;
const LAST_LINES = 3;

/** What rank 0 wrote, as text. Throws a {@link CliError} with the last lines of the first rank that failed, or where the ranks do not end. */
export async function measureHere(
  asked: LocalRanks,
  signal: AbortSignal,
  print: (line: string) => void,
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'coxswain-calibrate-'));
  try {
    for (const { name, text } of programs.files) writeFileSync(join(directory, name), text);
    const out = join(directory, 'measured.json');
    const port = await freePort();
    const over = new AbortController();
    const limitMs = asked.seconds * 1_000 * 3 + (asked.spareMs ?? SPARE_MS);
    const deadline = AbortSignal.timeout(limitMs);
    const limits = AbortSignal.any([signal, over.signal, deadline]);
    const ranks = Array.from({ length: asked.ranks }, (_, rank) =>
      runRank({ ...asked, rank, port, directory, out }, limits, print),
    );
    // The others would wait for one that is gone.
    await Promise.all(ranks)
      .catch((error: unknown) => {
        throw deadline.aborted ? notEnded(asked, limitMs) : error;
      })
      .finally(() => over.abort());
    return readFileSync(out, 'utf8');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Rank extends LocalRanks {
  readonly rank: number;
  readonly port: number;
  readonly directory: string;
  readonly out: string;
}

function runRank(
  { python, rank, ranks, ranksPerNode, seconds, port, directory, out }: Rank,
  signal: AbortSignal,
  print: (line: string) => void,
): Promise<void> {
  const program = join(directory, programs.files[0]?.name ?? '');
  const child = spawn(python, [program, '--seconds', String(seconds), '--out', out], {
    signal,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      OMP_NUM_THREADS: '1',
      ...process.env,
      RANK: String(rank),
      WORLD_SIZE: String(ranks),
      LOCAL_RANK: String(rank),
      LOCAL_WORLD_SIZE: String(ranksPerNode),
      MASTER_ADDR: '127.0.0.1',
      MASTER_PORT: String(port),
    },
  });
  let lines: readonly string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const printed = text.split('\n').filter((line) => line.trim() !== '');
    lines = [...lines, ...printed].slice(-LAST_LINES);
    if (rank === 0) printed.forEach(print);
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(notStarted(python, error)));
    child.once('close', (code, killedBy) => {
      if (code === 0) resolve();
      else
        reject(
          new CliError(`Rank ${rank} ended with ${code ?? killedBy}: ${lines.join(' / ') || 'it printed nothing'}`),
        );
    });
  });
}

function notEnded({ ranks, seconds }: LocalRanks, limitMs: number): CliError {
  return new CliError(
    `${ranks} ranks should measure for ${seconds} s, did not end within ${Math.round(limitMs / 1_000)} s and were killed; use fewer --ranks or --seconds, or check whether other processes load this machine.`,
  );
}

function notStarted(python: string, error: NodeJS.ErrnoException): Error {
  if (error.code === 'ENOENT')
    return new CliError(`${python} does not exist: choose a Python interpreter with PyTorch with --python.`);
  return error;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
