import type { PlacedLauncher } from '@coxswain/lifecycle';

/** State of the ranks of a pod as its launcher reported it. */
export interface LauncherReport extends PlacedLauncher {
  readonly jobUid: string;
  readonly podUid: string;
}

/** The newest report of each launcher since the last digest; bounded by the number of pods. */
export class LauncherReports {
  #reports = new Map<string, LauncherReport>();

  add(report: LauncherReport): void {
    this.#reports.set(report.podUid, report);
  }

  /** Whether a report waits for the next digest. */
  get hasNew(): boolean {
    return this.#reports.size > 0;
  }

  take(): readonly LauncherReport[] {
    const reports = [...this.#reports.values()];
    this.#reports = new Map();
    return reports;
  }
}
