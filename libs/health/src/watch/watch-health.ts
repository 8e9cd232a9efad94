import { gangOf } from '../gang/gang.ts';
import { HangDetector } from '../hang/hang-detector.ts';
import { lossDetector } from '../loss/loss-detector.ts';
import { HEALTH_SETTINGS, type HealthSettings } from '../settings.ts';
import { SlowDetector } from '../slow/slow-detector.ts';
import type { TraceHeader, TraceRecord } from '../trace/records.ts';
import type { Verdict } from '../verdict/verdict.ts';
import { steadyTime } from './steady-time.ts';

/** All detectors of one run of a job's ranks. */
export interface HealthWatch {
  /**
   * Takes one record into account and returns the verdicts that it completes. Reads no clock: time advances by `atMs` alone, so the same records always
   * give the same verdicts. The state of the detectors changes in place. Begin a new watch for each attempt and incarnation, and after a change of leader:
   * it learns what is usual again, and names no rank before it has.
   */
  readonly observe: (record: TraceRecord) => readonly Verdict[];
  /** Memory that the detectors take, estimated and rather too high than too low. A program that watches runs of many tenants bounds it. */
  readonly bytes: () => number;
  /** Ranks that were slow in the newest window and have been named. */
  readonly slowRanks: () => readonly number[];
}

/** Windows and histories, which the number of ranks determines. */
const FIXED_BYTES = { run: 16_384, rank: 1_024 } as const;

/** Starts all detectors for the run of a trace. */
export function watchHealth(header: TraceHeader, settings: HealthSettings = HEALTH_SETTINGS): HealthWatch {
  const gang = gangOf(header);
  const hang = new HangDetector(gang, settings);
  const slow = new SlowDetector(gang, settings);
  const others = [slow, lossDetector(settings)];
  const silentAfterMs = settings.hang.silentPeriods * header.reportEveryMs;
  // Half of the time that makes a rank silent: after a gap no rank counts as silent until it could have reported.
  const reportTime = steadyTime(silentAfterMs / 2);
  // Steps may be further apart than reports: windows count the time between them in full, unless it runs backwards.
  const windowTime = steadyTime(Infinity);
  return {
    bytes: () => FIXED_BYTES.run + FIXED_BYTES.rank * gang.ranks + gang.groupBytes() + hang.bytes,
    slowRanks: () => slow.slowRanks(),
    observe: (record) => {
      if (record.kind === 'group') {
        gang.declare(record);
        return [];
      }
      const inWindow = { ...record, atMs: windowTime.of(record.atMs) };
      const verdicts = [
        ...hang.observe({ ...record, atMs: reportTime.of(record.atMs) }),
        ...others.flatMap((detector) => detector.observe(inWindow)),
      ];
      return verdicts.map((verdict) => ({ ...verdict, atMs: record.atMs }));
    },
  };
}
