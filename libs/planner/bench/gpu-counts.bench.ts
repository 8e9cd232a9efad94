/**
 * Is any number of GPUs answered in time? Run: `npm run planner:gpu-counts`; the last line is one JSON object.
 *
 * Draws counts from 1 to 65,536 and asks for a plan of each as a user would, advice on fewer GPUs and other batches included. Half of them are drawn
 * evenly, half evenly in their logarithm, as small jobs are asked for as often as large ones. Models and kinds of batches take turns. Seconds are
 * those that the process was busy (user time), beside what a clock saw.
 */
import { createHash } from 'node:crypto';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { PlanAnswer, PlanRequestInput } from '../src/contract.ts';
import { plan } from '../src/questions/plan.ts';
import { parsePlanRequest } from '../src/request/parse-plan-request.ts';

const MOST_GPUS = 65_536;
const LIMIT_S = 10;
const HELP = `npm run planner:gpu-counts -- [--samples N] [--seed WORD]

Plans jobs on numbers of GPUs that are drawn from 1 to 65,536, and says how long the slowest answer took. The same seed draws the same numbers.

  --samples N  how many (default: 200)
  --seed WORD  what they are drawn by (default: counts)
`;

/** A model on so many GPUs, trained with so many samples a step. */
type Job = (gpus: number, globalBatchSize: number) => PlanRequestInput;

/** Small, large and with experts, on three kinds of GPU. */
const JOBS: readonly Job[] = [
  (gpus, globalBatchSize) => ({
    model: 'llama-3.1-8b',
    cluster: { gpu: 'h100', gpus },
    globalBatchSize,
    sequenceLength: 8_192,
  }),
  (gpus, globalBatchSize) => ({
    model: 'llama-3.1-70b',
    cluster: { gpu: 'a100', gpus },
    globalBatchSize,
    sequenceLength: 4_096,
  }),
  (gpus, globalBatchSize) => ({
    model: 'deepseek-v3',
    cluster: { gpu: 'gb200', gpus },
    globalBatchSize,
    sequenceLength: 4_096,
  }),
  (gpus, globalBatchSize) => ({
    model: 'megatron-1t',
    cluster: { gpu: 'h100', gpus },
    globalBatchSize,
    sequenceLength: 2_048,
  }),
];

interface AnsweredLayout {
  readonly model: string;
  readonly gpus: number;
  readonly outcome: string;
  readonly busyS: number;
  readonly wallS: number;
}

/** In [0, 1), by seed and place. */
function uniform(seed: string, index: number): number {
  return createHash('sha256').update(`${seed} ${index}`).digest().readUInt32BE(0) / 2 ** 32;
}

function gpusOf(seed: string, index: number): number {
  const drawn = uniform(seed, index);
  return index % 2 === 0 ? 1 + Math.floor(drawn * MOST_GPUS) : Math.floor(MOST_GPUS ** drawn);
}

/**
 * What batches are: a power of two, as most are, which few numbers of GPUs divide, and as many samples as GPUs, which leaves the search most to choose from.
 */
function batchOf(index: number, gpus: number): number {
  return (index >> 1) % 2 === 0 ? gpus : Math.min(4_096, 2 ** Math.ceil(Math.log2(2 * gpus)));
}

/** Each model meets numbers that were drawn in both ways, with batches of both kinds. */
function requestOf(seed: string, index: number): PlanRequestInput {
  const job = JOBS[(index >> 2) % JOBS.length];
  if (job === undefined) throw new Error('there is no job to ask for');
  const gpus = gpusOf(seed, index);
  return job(gpus, batchOf(index, gpus));
}

function answered(input: PlanRequestInput): AnsweredLayout {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  const outcome = outcomeOf(plan(parsePlanRequest(input)));
  return {
    model: String(input.model),
    gpus: input.cluster.gpus,
    outcome,
    busyS: process.cpuUsage(before).user / 1e6,
    wallS: (performance.now() - startedMs) / 1000,
  };
}

/** @throws Error for an answer that says neither what to do nor why there is nothing. */
function outcomeOf({ best, closest, whyNothing }: PlanAnswer): string {
  if (best !== undefined) return 'planned';
  if (closest !== undefined) return 'nearest told';
  if (whyNothing === undefined) throw new Error('an answer without a plan says not why');
  return 'reason told';
}

function countOf(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new Error(`--samples ${text} is not a whole number from 1 to 9999`);
}

function main(argv: readonly string[]): void {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      samples: { type: 'string', default: '200' },
      seed: { type: 'string', default: 'counts' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const samples = countOf(values.samples);
  console.log(`${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}`);
  const all = Array.from({ length: samples }, (_, index) => answered(requestOf(values.seed, index)));
  report(all);
}

function report(all: readonly AnsweredLayout[]): void {
  const slowest = all.toSorted((a, b) => b.busyS - a.busyS);
  for (const { model, gpus, outcome, busyS, wallS } of slowest.slice(0, 5)) {
    console.log(
      `${model} on ${gpus.toLocaleString('en')} GPUs: ${busyS.toFixed(2)} s (clock ${wallS.toFixed(2)}), ${outcome}`,
    );
  }
  const outcomes = Object.fromEntries(
    [...Map.groupBy(all, ({ outcome }) => outcome)].map(([outcome, those]) => [outcome, those.length]),
  );
  const slowestS = slowest[0]?.busyS ?? 0;
  const medianS = slowest[slowest.length >> 1]?.busyS ?? 0;
  const late = all.filter(({ busyS }) => busyS >= LIMIT_S).length;
  console.log(
    `${all.length} numbers of GPUs: median ${medianS.toFixed(2)} s, slowest ${slowestS.toFixed(2)} s (bar ${LIMIT_S}), ${late} late`,
  );
  if (late > 0) process.exitCode = 1;
  console.log(JSON.stringify({ samples: all.length, medianS, slowestS, late, outcomes }));
}

main(process.argv.slice(2));
