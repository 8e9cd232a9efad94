/**
 * NVRx's own rule, on the same traces: per report interval the median of each part of a step per rank; GPU score G_r = sum over parts of
 * (least median of any rank / median of the rank) x share of the rank's time in that part; a straggler below 0.75. Communication is left out.
 * Its kernels are here the compute parts of a step: a trace has no kernels.
 */
import type { TraceRecord } from '../src/trace/records.ts';
import { median } from '../src/slow/robust.ts';

const INTERVAL_MS = 300_000;
const STRAGGLER_BELOW = 0.75;
const PARTS = ['forward', 'backward'] as const;

export interface NvrxAlarm {
  readonly atMs: number;
  readonly rank: number;
}

export function nvrxScores(): { readonly observe: (record: TraceRecord) => readonly NvrxAlarm[] } {
  let endsAtMs = INTERVAL_MS;
  let times = new Map<number, Record<(typeof PARTS)[number], number[]>>();
  const close = (atMs: number): NvrxAlarm[] => {
    const medians = [...times].map(([rank, parts]) => ({
      rank,
      parts: PARTS.map((part) => ({ median: median(parts[part]), sum: parts[part].reduce((a, b) => a + b, 0) })),
    }));
    const least = PARTS.map((_, part) => Math.min(...medians.map(({ parts }) => parts[part]?.median ?? Infinity)));
    times = new Map();
    return medians.flatMap(({ rank, parts }) => {
      const all = parts.reduce((total, { sum }) => total + sum, 0);
      const score = parts.reduce((total, one, part) => total + ((least[part] ?? 0) / one.median) * (one.sum / all), 0);
      return score < STRAGGLER_BELOW ? [{ atMs, rank }] : [];
    });
  };
  return {
    observe: (record) => {
      if (record.kind === 'group') return [];
      const due = record.atMs >= endsAtMs ? close(record.atMs) : [];
      while (record.atMs >= endsAtMs) endsAtMs += INTERVAL_MS;
      if (record.kind !== 'step') return due;
      for (const { rank, timingsMs } of record.ranks) {
        const parts = times.get(rank) ?? { forward: [], backward: [] };
        times.set(rank, parts);
        for (const part of PARTS) parts[part].push(timingsMs[part] ?? 0);
      }
      return due;
    },
  };
}
