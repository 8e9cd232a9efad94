import { gangOf } from '../gang/gang.ts';
import { hangDetector } from '../hang/hang-detector.ts';
import { lossDetector } from '../loss/loss-detector.ts';
import { HEALTH_SETTINGS, type HealthSettings } from '../settings.ts';
import { slowDetector } from '../slow/slow-detector.ts';
import type { TraceHeader, TraceRecord } from '../trace/records.ts';
import type { Verdict } from '../verdict/verdict.ts';
import { steadyTime } from './steady-time.ts';

/** All detectors of one run of a job's ranks. */
export interface HealthWatch {
  /**
   * Verdicts of which this record was the last piece. Reads no clock: time goes on by `atMs` alone, so that the same records always give the same
   * verdicts. What detectors remember is theirs and is changed in place; begin a new watch for each epoch and incarnation, and after a change of leader:
   * it learns anew what is usual, and accuses nobody before it has.
   */
  readonly observe: (record: TraceRecord) => readonly Verdict[];
}

export function watchHealth(header: TraceHeader, settings: HealthSettings = HEALTH_SETTINGS): HealthWatch {
  const gang = gangOf(header);
  const hang = hangDetector(gang, settings);
  const others = [slowDetector(gang, settings), lossDetector(settings)];
  const silentAfterMs = settings.hang.silentPeriods * header.reportEveryMs;
  // Half of what makes a rank silent: after a gap nobody is, until he could have spoken.
  const heardTime = steadyTime(silentAfterMs / 2);
  // Steps may be further apart than reports: windows count the time between them in full, unless it runs backwards.
  const windowTime = steadyTime(Infinity);
  return {
    observe: (record) => {
      if (record.kind === 'group') {
        gang.declare(record);
        return [];
      }
      const inWindow = { ...record, atMs: windowTime.of(record.atMs) };
      const verdicts = [
        ...hang.observe({ ...record, atMs: heardTime.of(record.atMs) }),
        ...others.flatMap((detector) => detector.observe(inWindow)),
      ];
      return verdicts.map((verdict) => ({ ...verdict, atMs: record.atMs }));
    },
  };
}
