/** Which ranks have the same stack trace, and which did not report one? */
import {
  formatRanks,
  MAX_FRAME_CHARACTERS,
  MAX_RANKS_PER_POD,
  MAX_STACK_FRAMES,
  MAX_THREAD_NAME_CHARACTERS,
  type JobStacks,
  type RankSilence,
  type SilentRanks,
  type StackGroup,
  type ThreadStack,
} from '@coxswain/api-types';
import { cutText, safeText } from '@coxswain/safe-text';

/** How much is kept. Beyond it, only the ranks are listed. */
export interface StackBounds {
  /** Different stacks of first threads, and of other threads. */
  readonly firstThreads: number;
  readonly otherThreads: number;
  /** UTF-16 code units of all stacks together. May exceed the size of the answer, because the first stacks need not be the most common ones. */
  readonly characters: number;
}

/** Stacks with the ranks that have them, ranks without an answer, and ranks whose stacks were left out. */
export type GroupedStacks = Pick<JobStacks, 'groups' | 'silent' | 'leftOut'>;

interface Group {
  readonly stack: ThreadStack;
  readonly ranks: number[];
}

interface Silent extends Pick<SilentRanks, 'why' | 'node'> {
  readonly ranks: number[];
}

/**
 * Collects the answers of ranks and launchers in the order in which they arrive. Answers are not trusted: text is made safe, put on one line and bounded.
 * Add all answers of one pod together, so that a repeated rank counts once.
 */
export class StackGathering {
  readonly #bounds: StackBounds;
  readonly #groups = new Map<string, Group>();
  readonly #kinds = { firstThreads: 0, otherThreads: 0 };
  #characters = 0;
  readonly #silent = new Map<string, Silent>();
  readonly #leftOut = new Set<number>();

  constructor(bounds: StackBounds) {
    this.#bounds = bounds;
  }

  /** Adds a stack; a stack without ranks is ignored. */
  add(ranks: readonly number[], reported: ThreadStack): void {
    if (ranks.length === 0) return;
    const stack = safeStack(reported);
    const key = JSON.stringify(stack);
    const known = this.#groups.get(key);
    if (known !== undefined) return addNew(known.ranks, ranks);
    const kind = stack.isMain ? 'firstThreads' : 'otherThreads';
    const isFull = this.#characters + key.length > this.#bounds.characters;
    if (isFull || this.#kinds[kind] >= this.#bounds[kind]) return this.leaveOut(ranks);
    this.#kinds[kind] += 1;
    this.#characters += key.length;
    this.#groups.set(key, { stack, ranks: [...new Set(ranks)] });
  }

  addSilent(ranks: readonly number[], why: RankSilence, node?: string): void {
    if (ranks.length === 0) return;
    const key = `${why} ${node ?? ''}`;
    const silent = this.#silent.get(key) ?? { why, ...(node === undefined ? {} : { node }), ranks: [] };
    this.#silent.set(key, silent);
    addNew(silent.ranks, ranks);
  }

  /** Marks ranks whose stacks are incomplete. */
  leaveOut(ranks: readonly number[]): void {
    for (const rank of ranks) this.#leftOut.add(rank);
  }

  /** The collected stacks: first threads before others, most common first, up to that many UTF-16 code units in all. */
  result(mostCharacters: number): GroupedStacks {
    const leftOut = new Set(this.#leftOut);
    let left = mostCharacters;
    const groups = [...this.#groups.values()].sort(byFrequency).flatMap(({ stack, ranks }): readonly StackGroup[] => {
      const group = { ...stack, ranks: inOrder(ranks), rankCount: ranks.length };
      left -= charactersOf(group);
      if (left >= 0) return [group];
      for (const rank of ranks) leftOut.add(rank);
      return [];
    });
    const silent = together([...this.#silent.values()]).toSorted((one, other) => first(one) - first(other));
    return {
      groups,
      silent: silent.map((one) => ({ ...one, ranks: inOrder(one.ranks) })),
      leftOut: inOrder([...leftOut]),
    };
  }
}

/** With too many nodes to list, ranks that are silent for the same reason are grouped without node names. */
const MOST_NODES = 8;

function together(silent: readonly Silent[]): readonly Silent[] {
  const byWhy = Map.groupBy(silent, ({ why }) => why);
  return [...byWhy].flatMap(([why, ofNodes]) =>
    ofNodes.length <= MOST_NODES ? ofNodes : [{ why, ranks: ofNodes.flatMap(({ ranks }) => ranks) }],
  );
}

/** The text on one line, whatever it contains. */
function oneLine(text: string, most: number): string {
  return cutText(safeText(text).replaceAll(/\s+/g, ' ').trim(), most);
}

function safeStack({ thread, isMain, frames, isCut }: ThreadStack): ThreadStack {
  return {
    thread: oneLine(thread, MAX_THREAD_NAME_CHARACTERS),
    isMain,
    frames: frames.slice(0, MAX_STACK_FRAMES).map((frame) => oneLine(frame, MAX_FRAME_CHARACTERS)),
    ...(isCut === true || frames.length > MAX_STACK_FRAMES ? { isCut: true } : {}),
  };
}

/** Answers of a pod arrive together, so a repeated rank is among the last ones. */
function addNew(known: number[], ranks: readonly number[]): void {
  const newest = known.slice(-MAX_RANKS_PER_POD);
  for (const rank of new Set(ranks)) if (!newest.includes(rank)) known.push(rank);
}

function byFrequency(one: Group, other: Group): number {
  const isOther = Number(!one.stack.isMain) - Number(!other.stack.isMain);
  return isOther || other.ranks.length - one.ranks.length || first(one) - first(other);
}

function first({ ranks }: { readonly ranks: readonly number[] }): number {
  return ranks.reduce((least, rank) => Math.min(least, rank), Infinity);
}

function inOrder(ranks: readonly number[]): string {
  return formatRanks(ranks.toSorted((one, other) => one - other));
}

function charactersOf({ thread, frames, ranks }: StackGroup): number {
  return frames.reduce((sum, frame) => sum + frame.length, thread.length + ranks.length);
}
