/**
 * `npm run reshard:bench -- plan`: seconds and memory to plan how saves of Llama 3.1 405B with the moments of Adam are divided anew, and how even the shares of workers
 * are. No tensor exists: the sources are descriptions. Each plan is made by a process of its own, so that its memory can be measured. The last line is one JSON object.
 */
import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import {
  divideByLayout,
  pieceBytesFor,
  planReshard,
  ranksOfLayout,
  type ReshardLayout,
  type ReshardPlan,
  sharesOf,
} from '../src/index.ts';
import { keysOfLlama405b, llama405b } from './llama-405b.ts';

const CASES: Readonly<Record<string, { readonly from: ReshardLayout; readonly to: ReshardLayout }>> = {
  'fsdp 1024 to 768': {
    from: { tensor: 1, pipeline: 1, shard: 1024 },
    to: { tensor: 1, pipeline: 1, shard: 768 },
  },
  'tp 8 pp 16 to tp 4 pp 32': {
    from: { tensor: 8, pipeline: 16, shard: 1 },
    to: { tensor: 4, pipeline: 32, shard: 1 },
  },
};
/** Numbers of workers whose shares are compared. */
const WORKERS = [2, 4, 8, 16];

const { values } = parseArgs({
  options: {
    /** For the processes that this program starts. */
    plan: { type: 'string' },
    help: { type: 'boolean' },
  },
});

if (values.help === true) process.stdout.write('npm run reshard:bench -- plan\n');
else if (values.plan !== undefined) process.stdout.write(`${JSON.stringify(plan(values.plan))}\n`);
else {
  const costs: Record<string, unknown> = {};
  for (const name of Object.keys(CASES)) {
    const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, '--plan', name]);
    process.stderr.write(`${name}: ${stdout}`);
    costs[name] = JSON.parse(stdout);
  }
  process.stdout.write(`${JSON.stringify(costs)}\n`);
}

function plan(name: string) {
  const layouts = CASES[name];
  if (layouts === undefined) throw new Error(`there is no plan "${name}"; there are ${Object.keys(CASES).join(', ')}`);
  const keys = keysOfLlama405b();
  const source = llama405b(divideByLayout(layouts.from, keys));
  const startMs = performance.now();
  const made = planReshard(source, {
    divide: divideByLayout(layouts.to, keys),
    pieceBytes: pieceBytesFor(ranksOfLayout(layouts.to)),
    crc32,
  });
  const wallS = (performance.now() - startMs) / 1e3;
  const sum = (count: (piece: ReshardPlan['pieces'][number]) => number): number =>
    made.pieces.reduce((total, piece) => total + count(piece), 0);
  return {
    wallS,
    rssBytes: process.resourceUsage().maxRSS * 1024,
    bytes: made.bytes,
    pieces: made.pieces.length,
    files: sum(({ files }) => files.size),
    chunksRead: sum(({ chunks }) => chunks.read),
    chunksWritten: sum(({ chunks }) => chunks.written),
    largestShareOverMean: Object.fromEntries(WORKERS.map((workers) => [workers, largestOverMean(made, workers)])),
  };
}

function largestOverMean(made: ReshardPlan, workers: number): number {
  const shares = sharesOf(made, workers).map((pieces) => pieces.reduce((sum, { bytes }) => sum + bytes, 0));
  return (Math.max(...shares) / made.bytes) * workers;
}
