import type { RankWatermark } from '@coxswain/api-types';
import { PendingReports } from './pending-reports.ts';

const mark = (rank: number, step: number): RankWatermark => ({
  rank,
  step,
  phase: 'training',
  phaseAgeMs: 1,
  groups: [],
});
const step = (at: number, ranks = 1) => ({
  kind: 'step' as const,
  atMs: at,
  step: at,
  loss: 1,
  gradNorm: null,
  ranks: Array.from({ length: ranks }, (_, rank) => ({ rank, stepTimeMs: 1, timingsMs: {} })),
});

describe('reports that wait', () => {
  it('are the newest of each rank and the newest steps, in the order of time, and then none', () => {
    const pending = new PendingReports();
    const marks = new Map([[1, mark(1, 7)]]);
    for (let at = 0; at < 40; at += 1) {
      pending.mark([mark(1, at)]);
      pending.hear([{ rank: 2, step: at }]);
      pending.step(step(at));
      pending.tick();
    }
    const records = pending.take(marks, 100);
    expect(records.slice(0, 16).map((one) => one.kind === 'step' && one.step)).toEqual(
      Array.from({ length: 16 }, (_, at) => 24 + at),
    );
    expect(records.slice(16)).toEqual([
      { kind: 'watermarks', atMs: 100, ranks: [mark(1, 7)] },
      { kind: 'heartbeat', atMs: 100, ranks: [{ rank: 2, step: 39 }] },
      { kind: 'tick', atMs: 100 },
    ]);
    expect([pending.take(marks, 101), pending.bytes]).toEqual([[], 0]);
  });

  it('of many ranks are several records, and their steps count as memory', () => {
    const pending = new PendingReports();
    const marks = new Map(Array.from({ length: 3_000 }, (_, rank) => [rank, mark(rank, 1)]));
    pending.mark([...marks.values()]);
    for (let at = 0; at < 40; at += 1) pending.step(step(at, 100));
    expect(pending.bytes).toBe(16 * 100 * 128);
    const sizes = pending.take(marks, 1).flatMap((one) => (one.kind === 'watermarks' ? [one.ranks.length] : []));
    expect(sizes).toEqual([1_024, 1_024, 952]);
  });
});
