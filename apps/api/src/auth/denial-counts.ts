/** A request that was not let in, as the audit tells it. */
export interface Denial {
  /** When it was, in milliseconds. */
  readonly atMs: number;
  /** Null: the token was no good. */
  readonly principal: {
    readonly id: string;
    readonly kind: string;
    readonly name: string;
    readonly projectId: string | null;
  } | null;
  readonly verb: string;
  readonly object: string;
  /** The code that was answered. */
  readonly reason: string;
  /** Null: it stands for many. */
  readonly sourceAddress: string | null;
  readonly userAgent: string | null;
  readonly requestId: string | null;
  /** Under which name a project was asked for. */
  readonly project: string | null;
}

/** The first of its kind, and how many there were. */
export interface CountedDenial extends Denial {
  readonly requests: number;
}

/** For so long denials of one kind are counted as one after the first. */
export const WINDOW_MS = 60_000;
/** The most principals, and the most addresses without a valid token, that are counted separately in a window; each with a handful of verbs. */
export const MOST_STRANGERS = 100;
/** The most principals with a valid credential that are counted separately in a window. */
export const MOST_PRINCIPALS = 1_000;

interface Window {
  /** The principal or address that the count belongs to; undefined for those that share one count. */
  readonly who: string | undefined;
  readonly endsMs: number;
  first: Denial | undefined;
  requests: number;
}

/**
 * Counts denials, so that a flood of them makes few entries. The first denial of a principal (or an address without one) and verb is reported at
 * once; those of the next minute are reported together at its end, under the first. When too many principals and addresses are counted separately,
 * further ones share one count. Pure: it takes the time as an argument and is bounded for any input.
 */
export class DenialCounts {
  readonly #windows = new Map<string, Window>();
  #due: CountedDenial[] = [];
  /** Windows of each principal or address that is counted separately. */
  readonly #strangers = new Map<string, number>();
  readonly #principals = new Map<string, number>();

  add(denial: Denial): void {
    const { key, who, counted } = this.#kindOf(denial);
    const window = this.#windows.get(key);
    if (window === undefined) {
      this.#windows.set(key, { who, endsMs: denial.atMs + WINDOW_MS, first: undefined, requests: 0 });
      if (who !== undefined) this.#count(who, 1);
      this.#due.push({ ...counted, requests: 1 });
      return;
    }
    window.first ??= counted;
    window.requests++;
  }

  /** What is to be written now; each is given once. */
  take(nowMs: number): readonly CountedDenial[] {
    for (const [key, window] of this.#windows) {
      if (window.endsMs > nowMs) continue;
      this.#windows.delete(key);
      if (window.who !== undefined) this.#count(window.who, -1);
      // The next one of a flood that goes on begins a window of its own.
      if (window.first !== undefined) this.#due.push({ ...window.first, requests: window.requests });
    }
    const due = this.#due;
    this.#due = [];
    return due;
  }

  /** Everything that was counted, for the end of the process. */
  takeAll(): readonly CountedDenial[] {
    return this.take(Number.POSITIVE_INFINITY);
  }

  #kindOf(denial: Denial): { readonly key: string; readonly who: string | undefined; readonly counted: Denial } {
    const { principal, sourceAddress, verb } = denial;
    const who = principal === null ? `${STRANGER}${sourceAddress ?? ''}` : principal.id;
    const known = this.#knownLike(who);
    if (known.has(who) || known.size < (principal === null ? MOST_STRANGERS : MOST_PRINCIPALS)) {
      return { key: `${who} ${verb}`, who, counted: denial };
    }
    const nobody = { ...denial, principal: null, sourceAddress: null, userAgent: null, requestId: null, project: null };
    return { key: `${OTHERS}${verb}`, who: undefined, counted: nobody };
  }

  #count(who: string, change: 1 | -1): void {
    const known = this.#knownLike(who);
    const windows = (known.get(who) ?? 0) + change;
    if (windows === 0) known.delete(who);
    else known.set(who, windows);
  }

  #knownLike(who: string): Map<string, number> {
    return who.startsWith(STRANGER) ? this.#strangers : this.#principals;
  }
}

const STRANGER = 'from ';
const OTHERS = 'others ';
