import type { RankWatermark } from '@coxswain/api-types';
import type { Gang } from '../gang/gang.ts';
import type { TraceRecord } from '../trace/records.ts';
import type { Patience } from './patience.ts';
import type { Silence } from './silence.ts';
import { waitsOf } from './walk.ts';

/** A wait as its rank told it: since then it may have ended, so that no time is added to what was seen. */
export interface Wait {
  readonly rank: number;
  readonly group: string;
  readonly operation: string;
  readonly front: number;
  readonly ageMs: number;
  /** Under which its usual length is learnt. */
  readonly key: string;
}

const BEGAN_ANEW_WORDS = 3;

/** The newest that was heard of each rank. */
export interface Standings {
  readonly take: (record: TraceRecord) => void;
  /** Under which the usual length of an operation is learnt. */
  readonly keyOf: (group: string, operation: string) => string;
  readonly hasWatermarks: () => boolean;
  readonly watermarkOf: (rank: number) => RankWatermark | undefined;
  /** Milliseconds since anything was heard of it; undefined: nothing yet. */
  readonly silentMs: (rank: number, nowMs: number) => number | undefined;
  readonly waits: () => readonly Wait[];
  /** Newest complete step, -1 before the first. */
  readonly stepOf: (rank: number) => number;
  readonly steppedAtMs: (rank: number) => number;
}

export function standingsOf(gang: Gang, patience: Patience, silence: Silence): Standings {
  const marks: (RankWatermark | undefined)[] = new Array<RankWatermark | undefined>(gang.ranks).fill(undefined);
  const heardAt = new Float64Array(gang.ranks).fill(-1);
  const markedAt = new Float64Array(gang.ranks);
  const steps = new Int32Array(gang.ranks).fill(-1);
  const steppedAt = new Float64Array(gang.ranks).fill(-1);
  let told = false;
  let newestAtMs = -1;

  /** Words in a row by which a rank is further back than it was. */
  const backwards = new Uint8Array(gang.ranks);
  const hear = (rank: number, step: number | null, atMs: number): void => {
    heardAt[rank] = atMs;
    const known = steps[rank] ?? -1;
    if (step === null || step === known) return;
    // One word may have been overtaken on its way; several, and the ranks began anew from an earlier step.
    backwards[rank] = step < known ? (backwards[rank] ?? 0) + 1 : 0;
    if (step < known && (backwards[rank] ?? 0) < BEGAN_ANEW_WORDS) return;
    backwards[rank] = 0;
    steps[rank] = step;
    newestAtMs = Math.max(newestAtMs, atMs);
    steppedAt[rank] = atMs;
  };
  const keyOf = (group: string, operation: string): string =>
    `${gang.groups.get(group)?.name ?? 'undeclared'} ${operation}`;
  const learn = (before: RankWatermark, now: RankWatermark): void => {
    if (before.phase !== now.phase) patience.learnPhase(now.rank, before.phase, before.phaseAgeMs);
    for (const { group, operation, completed, ageMs } of waitsOf(before)) {
      const after = now.groups.find((mark) => mark.group === group);
      if (after !== undefined && after.completed > completed) patience.learnOperation(keyOf(group, operation), ageMs);
    }
  };
  const mark = (watermark: RankWatermark, atMs: number): void => {
    const before = marks[watermark.rank];
    if (before !== undefined) {
      learn(before, watermark);
      // Of a job that stands these are the only words: how far apart they come is not told by steps.
      silence.learn(atMs - (markedAt[watermark.rank] ?? atMs), atMs);
    }
    markedAt[watermark.rank] = atMs;
    told = true;
    marks[watermark.rank] = watermark;
    hear(watermark.rank, watermark.step, atMs);
  };
  const waitsOfRank = (watermark: RankWatermark): Wait[] =>
    waitsOf(watermark).map(({ group, operation, completed, ageMs }) => ({
      rank: watermark.rank,
      group,
      operation,
      front: completed + 1,
      ageMs,
      key: keyOf(group, operation),
    }));

  return {
    keyOf,
    hasWatermarks: () => told,
    watermarkOf: (rank) => marks[rank],
    silentMs: (rank, nowMs) => ((heardAt[rank] ?? -1) < 0 ? undefined : nowMs - (heardAt[rank] ?? 0)),
    waits: () => marks.flatMap((watermark) => (watermark === undefined ? [] : waitsOfRank(watermark))),
    stepOf: (rank) => steps[rank] ?? -1,
    steppedAtMs: (rank) => steppedAt[rank] ?? -1,
    take: (record) => {
      switch (record.kind) {
        case 'watermarks':
          for (const watermark of record.ranks) mark(watermark, record.atMs);
          return;
        case 'step':
          if (newestAtMs >= 0) patience.learnGap(record.atMs - newestAtMs);
          for (const { rank, stepTimeMs } of record.ranks) {
            hear(rank, record.step, record.atMs);
            patience.learnStep(record.step, stepTimeMs);
          }
          return;
        case 'heartbeat':
          for (const { rank, step } of record.ranks) hear(rank, step, record.atMs);
          return;
        case 'collectives':
          for (const { rank, groups } of record.ranks) {
            heardAt[rank] = record.atMs;
            for (const { group, operation, maxMs } of groups) patience.learnOperation(keyOf(group, operation), maxMs);
          }
          return;
        case 'group':
        case 'tick':
          return;
      }
    },
  };
}
