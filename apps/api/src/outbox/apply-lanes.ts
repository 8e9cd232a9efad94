/*
 * How many of a replica's workers may one project hold, and for how long?
 *
 * An apply may hang, for instance because an admission webhook of one namespace does not answer. Such a project is in trouble: its last apply ran over time. It
 * gets one worker at a time, and all projects in trouble together get half of the workers. So others are served at once, however many projects hang.
 */

/** An apply takes some ten milliseconds. One that takes longer than this goes on as the apply of a project in trouble. */
const QUICK_MS = 2_000;
/** Time of an apply of a project in trouble. The lease of its entry is longer. */
const PATIENT_MS = 15_000;
/** A project leaves trouble after so many applies in a row within the quick time. One would be too few: a project that hangs every other time would never be in trouble. */
const QUICK_IN_A_ROW = 3;
/** A project that was refused a worker still wants one if it asked so recently. */
const WANTS_MS = 3_000;
/** A project in trouble that no longer has changes is forgotten. */
const FORGOTTEN_AFTER_MS = 600_000;
const LOOK_AT_SIZE = 256;

interface Trouble {
  /** Applies in a row within the quick time. */
  quick: number;
  isServed: boolean;
  /** Order of the last service; 0: never. */
  servedAt: number;
  wantedAtMs: number;
}

/** A worker for one apply. */
export interface ApplyLease {
  readonly budgetMs: number;
  /** To be called once, when the apply has ended. `hasApplied`: an entry was there; a turn without one shows nothing about its project. Default true. */
  end(about?: { readonly hasApplied: boolean }): void;
}

/** Times of an apply, in ms. */
export interface ApplyBudgets {
  readonly quickMs: number;
  readonly patientMs: number;
}

/** Decides which turns get a worker of this replica. A turn is a project. */
export class ApplyLanes {
  readonly #mostInTrouble: number;
  readonly #nowMs: () => number;
  readonly #budgets: ApplyBudgets;
  readonly #troubles = new Map<string, Trouble>();
  #served = 0;
  #order = 0;
  #lookAtSize = LOOK_AT_SIZE;

  constructor(parts: {
    readonly workers: number;
    /** Of a clock that never steps. */
    readonly nowMs: () => number;
    readonly budgets?: ApplyBudgets | undefined;
  }) {
    this.#mostInTrouble = Math.max(1, Math.floor(parts.workers / 2));
    this.#nowMs = parts.nowMs;
    this.#budgets = parts.budgets ?? { quickMs: QUICK_MS, patientMs: PATIENT_MS };
  }

  /** Projects in trouble, without those that had no change for so long that they are to be forgotten. */
  get inTrouble(): number {
    const sinceMs = this.#nowMs() - FORGOTTEN_AFTER_MS;
    return [...this.#troubles.values()].filter(({ isServed, wantedAtMs }) => isServed || wantedAtMs >= sinceMs).length;
  }

  /** A worker for an apply of the turn; undefined: none now, ask again. */
  enter(turnId: string): ApplyLease | undefined {
    const trouble = this.#troubles.get(turnId);
    if (trouble === undefined) return this.#lease(turnId, this.#budgets.quickMs, undefined);
    trouble.wantedAtMs = this.#nowMs();
    if (trouble.isServed || this.#served + this.#longerUnserved(trouble) >= this.#mostInTrouble) return undefined;
    trouble.isServed = true;
    trouble.servedAt = this.#order += 1;
    this.#served += 1;
    return this.#lease(turnId, this.#budgets.patientMs, trouble);
  }

  /** Others in trouble that want a worker and were served longer ago. They come first, so that none waits for ever. */
  #longerUnserved({ servedAt }: Trouble): number {
    const sinceMs = this.#nowMs() - WANTS_MS;
    let count = 0;
    for (const other of this.#troubles.values())
      if (!other.isServed && other.wantedAtMs >= sinceMs && other.servedAt < servedAt) count += 1;
    return count;
  }

  #lease(turnId: string, budgetMs: number, trouble: Trouble | undefined): ApplyLease {
    const sinceMs = this.#nowMs();
    return {
      budgetMs,
      end: ({ hasApplied } = { hasApplied: true }) => {
        if (trouble !== undefined) {
          trouble.isServed = false;
          this.#served -= 1;
        }
        if (hasApplied) this.#note(turnId, { isQuick: this.#nowMs() - sinceMs < this.#budgets.quickMs });
      },
    };
  }

  #note(turnId: string, { isQuick }: { readonly isQuick: boolean }): void {
    const trouble = this.#troubles.get(turnId);
    if (trouble === undefined) {
      if (!isQuick) this.#add(turnId);
      return;
    }
    trouble.quick = isQuick ? trouble.quick + 1 : 0;
    if (trouble.quick >= QUICK_IN_A_ROW && !trouble.isServed) this.#troubles.delete(turnId);
  }

  #add(turnId: string): void {
    const nowMs = this.#nowMs();
    if (this.#troubles.size >= this.#lookAtSize) {
      for (const [id, { isServed, wantedAtMs }] of this.#troubles)
        if (!isServed && wantedAtMs < nowMs - FORGOTTEN_AFTER_MS) this.#troubles.delete(id);
      this.#lookAtSize = Math.max(LOOK_AT_SIZE, 2 * this.#troubles.size);
    }
    this.#troubles.set(turnId, { quick: 0, isServed: false, servedAt: 0, wantedAtMs: nowMs });
  }
}
