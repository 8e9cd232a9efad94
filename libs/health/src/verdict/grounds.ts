/** Does what a verdict stands on still hold? */
import type { RankWatermark } from '@coxswain/api-types';
import { describeRanks, type Verdict } from './verdict.ts';

/** Where a rank is, by its newest watermark. */
export interface RankPlace {
  readonly rank: number;
  /** undefined: it has sent no watermark. */
  readonly at?: Pick<RankWatermark, 'step' | 'phase'> & { readonly completed: number };
}

/** What a verdict that may end a gang stands on. */
export interface Grounds {
  /** Newest step that the gang had completed; -1: none. */
  readonly step: number;
  /** The named ranks. */
  readonly ranks: readonly RankPlace[];
  /** When it was judged, in milliseconds of the reader's clock. */
  readonly judgedAtMs: number;
}

/** The same, read again. */
export interface RunProgress {
  readonly step: number;
  readonly ranks: readonly (RankPlace & {
    /** Milliseconds since the rank's newest watermark; undefined: there was none. */
    readonly heardAgoMs?: number;
  })[];
  /** Ranks that are slow in the newest window. */
  readonly slowRanks: readonly number[];
}

/** Steps after a stall that refute it. The first may be one that was under way: stages of a pipeline complete a step one after the other. */
export const STEPS_OF_RECOVERY = 2;

/** A rank that reported within this time is not silent. Three heartbeats. */
const HEARD_MS = 30_000;

/** Where that watermark shows the rank. */
export function placeOfRank(rank: number, watermark: RankWatermark | undefined): RankPlace {
  if (watermark === undefined) return { rank };
  const { step, phase, groups } = watermark;
  return { rank, at: { step, phase, completed: groups.reduce((sum, { completed }) => sum + completed, 0) } };
}

/** Why newer progress refutes the verdict, in a sentence; undefined: it still holds. */
export function refutationOf(
  { kind, ranks, evidence }: Pick<Verdict, 'kind' | 'ranks' | 'evidence'>,
  grounds: Grounds,
  now: RunProgress,
): string | undefined {
  if (kind === 'slowRank') {
    return ranks.some((rank) => now.slowRanks.includes(rank)) ? undefined : sentence(ranks, 'no longer slow');
  }
  const steps = now.step - grounds.step;
  if (steps >= STEPS_OF_RECOVERY) return `The gang has completed ${steps} steps since.`;
  if (ranks.length === 0) return undefined;
  if (evidence['cause'] === 'noTelemetry') {
    const isHeard = now.ranks.some(({ rank, heardAgoMs = Infinity }) => ranks.includes(rank) && heardAgoMs < HEARD_MS);
    return isHeard ? sentence(ranks, 'heard again') : undefined;
  }
  const then = new Map(grounds.ranks.map((place) => [place.rank, place]));
  const moved = now.ranks.filter((place) => hasMoved(then.get(place.rank), place));
  return moved.length >= grounds.ranks.length && moved.length > 0
    ? sentence(ranks, 'further than at the verdict')
    : undefined;
}

function hasMoved(before: RankPlace | undefined, { at }: RankPlace): boolean {
  if (before?.at === undefined || at === undefined) return false;
  const isLater = (at.step ?? -1) > (before.at.step ?? -1) || at.completed > before.at.completed;
  return isLater || at.phase !== before.at.phase;
}

function sentence(ranks: readonly number[], what: string): string {
  const who = describeRanks(ranks);
  return `${who.charAt(0).toUpperCase()}${who.slice(1)} ${ranks.length === 1 ? 'is' : 'are'} ${what}.`;
}
