import { gangOf } from '../gang/gang.ts';
import { hangDetector } from '../hang/hang-detector.ts';
import { lossDetector } from '../loss/loss-detector.ts';
import { HEALTH_SETTINGS, type HealthSettings } from '../settings.ts';
import { slowDetector } from '../slow/slow-detector.ts';
import type { TraceHeader, TraceRecord } from '../trace/records.ts';
import type { Verdict } from '../verdict/verdict.ts';

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
  const detectors = [hangDetector(gang, settings), slowDetector(gang, settings), lossDetector(settings)];
  return {
    observe: (record) => {
      if (record.kind !== 'group') return detectors.flatMap((detector) => detector.observe(record));
      gang.declare(record);
      return [];
    },
  };
}
