/** What do detectors cost at 16,384 ranks? Steps every five seconds and watermarks every second, of 2,048 pods. */
import { watchHealth } from '../src/watch/watch-health.ts';
import type { TraceHeader, TraceRecord } from '../src/trace/records.ts';
import { randomOf } from '../src/testing/random.ts';
import { stepModel } from '../src/testing/step-program.ts';

const RANKS_PER_POD = 8;
const STEP_MS = 5_000;
const WINDOWS = 6;

export interface LargeJob {
  readonly ranks: number;
  readonly records: number;
  readonly msPerWindow: number;
  readonly longestObserveMs: number;
  readonly heapMiB: number;
  readonly verdicts: number;
}

export function largeJob(): LargeJob {
  const model = stepModel({ tensorParallelDegree: 8, pipelineParallelDegree: 16, dataParallelDegree: 128 }, 1);
  const random = randomOf(7);
  const pods = Array.from({ length: model.ranks / RANKS_PER_POD }, (_, pod) =>
    Array.from({ length: RANKS_PER_POD }, (_, at) => pod * RANKS_PER_POD + at),
  );
  const header: TraceHeader = {
    kind: 'header',
    version: 1,
    layout: model.layout,
    nodes: pods.map((ranks, pod) => ({ node: `node-${pod}`, ranks: `${ranks[0]}-${ranks.at(-1)}` })),
    reportEveryMs: 5_000,
  };
  const groupsOf = Array.from({ length: model.ranks }, () => [] as string[]);
  for (const { group, ranks } of model.groups) for (const rank of ranks) groupsOf[rank]?.push(group);
  const heap = (): number => {
    globalThis.gc?.();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return (heapUsed + arrayBuffers) / 2 ** 20;
  };
  const before = heap();
  const watch = watchHealth(header);
  let spentMs = 0;
  let longestObserveMs = 0;
  let records = 0;
  let verdicts = 0;
  const give = (record: TraceRecord): void => {
    const startedMs = performance.now();
    verdicts += watch.observe(record).length;
    const tookMs = performance.now() - startedMs;
    spentMs += tookMs;
    longestObserveMs = Math.max(longestObserveMs, tookMs);
    records += 1;
  };
  for (const { group, name, ranks } of model.groups) give({ kind: 'group', group, name, ranks: ranks.join(',') });
  spentMs = 0;
  longestObserveMs = 0;
  for (let atMs = 1_000; atMs <= WINDOWS * 60_000; atMs += 1_000) {
    const step = Math.floor(atMs / STEP_MS);
    for (const ranks of pods) {
      give({
        kind: 'watermarks',
        atMs,
        ranks: ranks.map((rank) => ({
          rank,
          step,
          phase: 'training',
          phaseAgeMs: atMs % STEP_MS,
          groups: (groupsOf[rank] ?? []).map((group) => ({
            group,
            operation: 'all_reduce',
            bytes: 8,
            enqueued: atMs,
            started: atMs,
            completed: atMs - 1,
            ageMs: 200 * random.uniform(),
          })),
        })),
      });
      if (atMs % STEP_MS !== 0) continue;
      const timings = ranks.map((rank) => {
        const forward = 1_200 * Math.exp(0.01 * random.normal());
        return {
          rank,
          stepTimeMs: STEP_MS,
          timingsMs: { forward, backward: 2 * forward, communication: STEP_MS - 3 * forward },
        };
      });
      give({ kind: 'step', atMs, step, loss: null, gradNorm: null, ranks: timings });
    }
  }
  const heapMiB = heap() - before;
  give({ kind: 'tick', atMs: WINDOWS * 60_000 + 1 });
  return { ranks: model.ranks, records, msPerWindow: spentMs / WINDOWS, longestObserveMs, heapMiB, verdicts };
}
