import type { PlacedLauncher } from '@coxswain/lifecycle';

/** What a launcher says of the ranks of its pod, and whose it is. */
export interface LauncherReport extends PlacedLauncher {
  readonly jobUid: string;
  readonly podUid: string;
}

/** The newest word of each launcher that has said something since the last look; bounded by the number of pods. */
export class LauncherReports {
  #reports = new Map<string, LauncherReport>();

  add(report: LauncherReport): void {
    this.#reports.set(report.podUid, report);
  }

  /** Whether there is something that nobody was told yet. */
  get hasNew(): boolean {
    return this.#reports.size > 0;
  }

  take(): readonly LauncherReport[] {
    const reports = [...this.#reports.values()];
    this.#reports = new Map();
    return reports;
  }
}
