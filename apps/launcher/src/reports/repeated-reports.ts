import type { Draft } from './pending-reports.ts';

/** Keeps the reports that each new connection repeats: an operator that has just become leader has received none of them. */
export class RepeatedReports {
  readonly #byKind = new Map<Draft['kind'], Draft>();

  /** The reports to repeat, oldest first. */
  get all(): readonly Draft[] {
    return [...this.#byKind.values()];
  }

  /** Repeats `draft` until it is forgotten. It replaces one of its kind. */
  keep(draft: Draft): void {
    this.#byKind.delete(draft.kind);
    this.#byKind.set(draft.kind, draft);
  }

  forget(...kinds: readonly Draft['kind'][]): void {
    for (const kind of kinds) this.#byKind.delete(kind);
  }
}
