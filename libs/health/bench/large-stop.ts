/**
 * What does it cost to find out why 16,384 ranks stand still, where each of them waits in all that its host has called? As NCCL tells it where it is not
 * timed: with nobody missing the whole of the gang is looked at, and again every few seconds.
 */
import type { RankWatermark } from '@coxswain/api-types';
import { type ModelGroup, stepModel } from '../src/testing/step-program.ts';
import type { TraceHeader, TraceRecord } from '../src/trace/records.ts';
import type { VerdictKind } from '../src/verdict/verdict.ts';
import { watchHealth } from '../src/watch/watch-health.ts';

const RANKS_PER_POD = 8;
const STEP_S = 5;
const STANDS_AFTER_S = 30;
const TOLD_S = 75;

export interface LargeStop {
  readonly ranks: number;
  /** CPU milliseconds of the records of a second, the look in it included. */
  readonly longestSecondMs: number;
  readonly msPerStandingSecond: number;
  readonly verdicts: readonly (readonly [kind: VerdictKind, ranks: readonly number[]])[];
}

/** `frozen`: the rank that has called nothing but its tensor operations since; undefined: a network that lets nothing through. */
export function largeStop(frozen: number | undefined): LargeStop {
  const model = stepModel({ tensorParallelDegree: 8, pipelineParallelDegree: 16, dataParallelDegree: 128 }, 1);
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
  const groupsOf = Array.from({ length: model.ranks }, (): ModelGroup[] => []);
  for (const group of model.groups) for (const rank of group.ranks) groupsOf[rank]?.push(group);
  const watch = watchHealth(header);
  const verdicts: [VerdictKind, readonly number[]][] = [];
  const give = (record: TraceRecord): void => {
    for (const { kind, ranks } of watch.observe(record)) verdicts.push([kind, ranks]);
  };
  for (const { group, name, ranks } of model.groups) give({ kind: 'group', group, name, ranks: ranks.join(',') });
  const spentMs: number[] = [];
  for (let second = 1; second <= TOLD_S; second += 1) {
    const before = process.cpuUsage().user;
    for (const ranks of pods) {
      give({
        kind: 'watermarks',
        atMs: second * 1_000,
        ranks: ranks.map((rank) => watermark(rank, groupsOf[rank] ?? [], second, frozen)),
      });
      const step = second / STEP_S;
      if (second > STANDS_AFTER_S || !Number.isInteger(step)) continue;
      const timed = ranks.map((rank) => ({ rank, stepTimeMs: STEP_S * 1_000, timingsMs: {} }));
      give({ kind: 'step', atMs: second * 1_000, step, loss: null, gradNorm: null, ranks: timed });
    }
    spentMs.push((process.cpuUsage().user - before) / 1_000);
  }
  const standing = spentMs.slice(STANDS_AFTER_S);
  return {
    ranks: model.ranks,
    longestSecondMs: Math.max(...standing),
    msPerStandingSecond: standing.reduce((sum, ms) => sum + ms, 0) / standing.length,
    verdicts,
  };
}

function watermark(
  rank: number,
  groups: readonly ModelGroup[],
  second: number,
  frozen: number | undefined,
): RankWatermark {
  const stands = second > STANDS_AFTER_S;
  const ageMs = stands ? (second - STANDS_AFTER_S) * 1_000 : 100;
  return {
    rank,
    step: Math.floor(Math.min(second, STANDS_AFTER_S) / STEP_S),
    phase: 'training',
    phaseAgeMs: ageMs,
    groups: groups.map(({ group, name }) => {
      const calls = stands ? STANDS_AFTER_S + 1 : second;
      const called = stands && rank === frozen && name !== 'tensor' ? calls - 1 : calls;
      const completed = !stands || (name === 'tensor' && frozen !== undefined) ? calls : STANDS_AFTER_S;
      return { group, operation: 'all_reduce', bytes: 8, enqueued: called, started: called, completed, ageMs };
    }),
  };
}
