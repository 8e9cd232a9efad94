import type { PickleValue } from './pickle-value.ts';
import type { MemoUses } from './read-memo-uses.ts';

/** Values per page of the memo. */
const PAGE = 64;

/** In place of a page without values. */
const NO_PAGE: (PickleValue | undefined)[] = [];

/** Values that are used again, by their number. Few are, so most pages stay away. */
export class PickleMemo {
  readonly #uses: MemoUses;
  readonly #pages: (PickleValue | undefined)[][] = [];
  /** The number of the value that MEMOIZE keeps next. */
  next = 0;

  constructor(uses: MemoUses) {
    this.#uses = uses;
  }

  get(memo: number): PickleValue | undefined {
    return this.#pages[Math.floor(memo / PAGE)]?.[memo % PAGE];
  }

  /** Whether the value of this number is used again. */
  isUsed(memo: number): boolean {
    return this.#uses.has(memo);
  }

  /** Keeps a value that is used again. */
  set(memo: number, value: PickleValue): void {
    const at = Math.floor(memo / PAGE);
    while (this.#pages.length <= at) this.#pages.push(NO_PAGE);
    let page = this.#pages[at] ?? NO_PAGE;
    if (page === NO_PAGE) this.#pages[at] = page = Array.from<undefined>({ length: PAGE });
    page[memo % PAGE] = value;
  }
}
