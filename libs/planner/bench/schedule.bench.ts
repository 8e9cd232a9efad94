/**
 * Time of one makespan, over plans already met and over new ones. Run: `node libs/planner/bench/schedule.bench.ts`.
 *
 * A search asks for a makespan per layout that survives its cheaper bounds, so the limits below keep it at tens of thousands a second.
 */
import { newScheduleScratch, type ScheduleInput } from '../src/index.ts';
import { makespanOf } from '../src/schedule/makespan.ts';
import type { Schedule } from '../src/index.ts';

const CASES: readonly [schedule: Schedule, pipeline: number, chunks: number, microBatches: number, limitUs: number][] =
  [
    ['gpipe', 16, 1, 512, 5],
    ['1f1b', 8, 1, 64, 10],
    ['1f1b', 16, 1, 512, 20],
    ['1f1b', 64, 1, 512, 600],
    ['interleaved-1f1b', 8, 4, 64, 90],
    ['interleaved-1f1b', 16, 4, 128, 300],
    ['interleaved-1f1b', 16, 4, 2_048, 400],
    ['zb-h1', 8, 1, 64, 120],
    ['zb-2p', 8, 1, 64, 120],
    ['zbv', 16, 2, 64, 400],
    ['v-half', 16, 2, 64, 400],
    ['v-min', 16, 2, 64, 400],
    ['dualpipe-v', 16, 2, 64, 400],
  ];

/** Stages within a tenth of each other, the same on every run. */
function unevenTimes(length: number, valueS: number): Float64Array {
  return Float64Array.from({ length }, (_, index) => valueS * (1 + ((index * 7919) % 101) / 1010));
}

/** The fastest of several batches: what other programs on the machine do is left out. */
function usOf(run: () => void, batches: number, perBatch: number): number {
  let fastestMs = Infinity;
  for (let batch = 0; batch < batches; batch++) {
    const startedMs = performance.now();
    for (let i = 0; i < perBatch; i++) run();
    fastestMs = Math.min(fastestMs, performance.now() - startedMs);
  }
  return (1_000 * fastestMs) / perBatch;
}

for (const [schedule, pipeline, chunks, microBatches, limitUs] of CASES) {
  const stages = pipeline * chunks;
  const input: ScheduleInput = {
    schedule,
    pipeline,
    chunks,
    microBatches,
    forwardS: unevenTimes(stages, 0.01),
    backwardInputS: unevenTimes(stages, 0.011),
    backwardWeightS: unevenTimes(stages, 0.009),
    forwardHopS: unevenTimes(stages, 0.0002),
    backwardHopS: unevenTimes(stages, 0.0002),
    p2p: 'overlapped',
  };
  const scratch = newScheduleScratch();
  const newUs = usOf(() => makespanOf(input, newScheduleScratch()), 20, 1);
  const knownUs = usOf(() => makespanOf(input, scratch), 300, 5);
  const name = `${schedule} on ${pipeline} ranks, ${chunks} chunks, ${microBatches} micro-batches`;
  console.log(`${name}: ${knownUs.toFixed(1)} us, ${newUs.toFixed(0)} us the first time`);
  if (knownUs > limitUs) process.exitCode = 1;
}
