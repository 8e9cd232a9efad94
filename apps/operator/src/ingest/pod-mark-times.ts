/** Turns the ages of marks that a launcher reports into times of this process's clock. */
import { type LauncherMessage, RUN_MARKS, type RunMark } from '@coxswain/api-types';
import type { ObservedMarks } from '@coxswain/lifecycle';

/** The marks of one launcher's newest incarnation. The first report of each counts: later ones differ by how long they were under way. */
export class PodMarkTimes {
  #incarnation = 0;
  #atMs: Partial<Record<RunMark, number>> = {};
  #saves: ObservedMarks['saves'] = [];

  /** What is known with this message; undefined: nothing of its incarnation. */
  receive(message: LauncherMessage, nowMs: number): ObservedMarks | undefined {
    const { incarnation = 0 } = message;
    const marks = message.kind === 'heartbeat' || message.kind === 'reaped' ? message.marks : undefined;
    if (incarnation !== this.#incarnation) {
      this.#incarnation = incarnation;
      this.#atMs = {};
      this.#saves = [];
    }
    for (const mark of RUN_MARKS) {
      const ageMs = marks?.[mark];
      if (ageMs !== undefined && this.#atMs[mark] === undefined)
        this.#atMs = { ...this.#atMs, [mark]: Math.max(0, nowMs - ageMs) };
    }
    this.#saves = marks?.saves ?? this.#saves;
    if (Object.keys(this.#atMs).length === 0 && this.#saves.length === 0) return undefined;
    return { atMs: this.#atMs, saves: this.#saves };
  }
}
