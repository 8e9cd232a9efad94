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
  /** The project of its principals, if it stands for several. */
  readonly ofProjectId?: string | null;
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
/** The most principals of one project that are counted separately in a window: a project can have two hundred tokens. */
export const MOST_OF_PROJECT = 10;

interface Window {
  /** The principal or address that the count belongs to; undefined for those that share one count. */
  readonly who: string | undefined;
  readonly projectId: string | null;
  readonly endsMs: number;
  first: Denial | undefined;
  requests: number;
}

/**
 * Counts denials, so that a flood of them makes few entries. The first denial of a principal (or an address without one) and verb is reported at
 * once; those of the next minute are reported together at its end, under the first. When too many principals and addresses are counted separately,
 * further ones share one count; those of a project with too many share one of the project. Pure: it takes the time as an argument and is bounded for any input.
 */
export class DenialCounts {
  readonly #windows = new Map<string, Window>();
  #due: CountedDenial[] = [];
  /** Windows of each principal or address that is counted separately. */
  readonly #strangers = new Map<string, number>();
  readonly #principals = new Map<string, number>();
  /** Windows of each principal of each project. */
  readonly #projects = new Map<string, Map<string, number>>();

  add(denial: Denial): void {
    const { key, who, counted } = this.#kindOf(denial);
    const window = this.#windows.get(key);
    if (window === undefined) {
      const projectId = who === undefined ? null : (denial.principal?.projectId ?? null);
      this.#windows.set(key, { who, projectId, endsMs: denial.atMs + WINDOW_MS, first: undefined, requests: 0 });
      this.#countWindow({ who, projectId }, 1);
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
      this.#countWindow(window, -1);
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
    const projectId = principal?.projectId ?? null;
    const ofProject = this.#projects.get(projectId ?? '');
    if (projectId !== null && ofProject?.has(who) === false && ofProject.size >= MOST_OF_PROJECT) {
      return {
        key: `${OTHERS}${projectId} ${verb}`,
        who: undefined,
        counted: { ...nobodyOf(denial), ofProjectId: projectId },
      };
    }
    if (known.has(who) || known.size < (principal === null ? MOST_STRANGERS : MOST_PRINCIPALS)) {
      return { key: `${who} ${verb}`, who, counted: denial };
    }
    return { key: `${OTHERS}${verb}`, who: undefined, counted: nobodyOf(denial) };
  }

  #countWindow({ who, projectId }: Pick<Window, 'who' | 'projectId'>, change: 1 | -1): void {
    if (who !== undefined) countIn(this.#knownLike(who), who, change);
    if (who === undefined || projectId === null) return;
    const ofProject = this.#projects.get(projectId) ?? new Map<string, number>();
    countIn(ofProject, who, change);
    if (ofProject.size === 0) this.#projects.delete(projectId);
    else this.#projects.set(projectId, ofProject);
  }

  #knownLike(who: string): Map<string, number> {
    return who.startsWith(STRANGER) ? this.#strangers : this.#principals;
  }
}

/** A denial that stands for many principals. */
function nobodyOf(denial: Denial): Denial {
  return { ...denial, principal: null, sourceAddress: null, userAgent: null, requestId: null, project: null };
}

function countIn(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const STRANGER = 'from ';
const OTHERS = 'others ';
