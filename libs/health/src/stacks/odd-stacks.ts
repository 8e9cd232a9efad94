/** Which ranks have another stack trace than most, and which stacks are evidence for an incident? */
import { parseRanks, RANK_SILENCES, rankIsIn, type SilentRanks, type StackGroup } from '@coxswain/api-types';
import type { Outliers } from '../verdict/outliers.ts';
import { capitalize, describeRanks } from '../verdict/verdict.ts';

interface MostAndOdd {
  /** The stack of more than half of all ranks that answered; undefined if there is none. */
  readonly most: StackGroup | undefined;
  /** First threads of the other ranks, rarest last. */
  readonly odd: readonly StackGroup[];
}

/** Compares first threads alone, because helper threads say little about their rank. */
export function mostAndOdd(groups: readonly StackGroup[]): MostAndOdd {
  const firsts = groups.filter(({ isMain }) => isMain);
  const ranks = firsts.reduce((sum, { rankCount }) => sum + rankCount, 0);
  const [most, ...odd] = firsts;
  return most !== undefined && 2 * most.rankCount > ranks ? { most, odd } : { most: undefined, odd: firsts };
}

/** More ranks than this differ for a reason of the layout, such as the last stage of a pipeline. */
const MOST_ODD_RANKS = 4;
/** Frames of a stack that a sentence shows, innermost first. */
const SHOWN_FRAMES = 3;

/** The few ranks that do something else than most, for an idle gang; undefined: no stack of most ranks, or too many others. */
export function oddRanks(groups: readonly StackGroup[]): Outliers | undefined {
  const { most, odd } = mostAndOdd(groups);
  const count = odd.reduce((sum, { rankCount }) => sum + rankCount, 0);
  if (most === undefined || count === 0 || count > MOST_ODD_RANKS) return undefined;
  const ranks = odd.flatMap((group) => parseRanks(group.ranks, MOST_ODD_RANKS));
  const stands = odd.map((group) => {
    const who = capitalize(describeRanks(parseRanks(group.ranks, MOST_ODD_RANKS)));
    return `${who} ${group.rankCount === 1 ? 'stands' : 'stand'} out, in ${shownFrames(group)}.`;
  });
  return { ranks, why: `${stands.join(' ')} ${most.rankCount} ranks are in ${shownFrames(most)}.` };
}

function shownFrames({ frames }: StackGroup): string {
  return frames.slice(0, SHOWN_FRAMES).join(INNER);
}

/** Stacks that an incident keeps, that of most ranks included. */
const MOST_KEPT = 4;
const INNER = ' < ';

/**
 * Evidence for an incident that names `ranks`: their stacks, then the rarest ones, then the most common one. Innermost frame first, because evidence is cut
 * at its end.
 */
export function stackEvidence(
  { groups, silent }: { readonly groups: readonly StackGroup[]; readonly silent: readonly SilentRanks[] },
  ranks: readonly number[],
): Readonly<Record<string, string>> {
  const names = (text: string): boolean => ranks.some((rank) => rankIsIn(rank, text));
  const { most, odd } = mostAndOdd(groups);
  const named = odd.filter((group) => names(group.ranks));
  const others = odd.filter((group) => !named.includes(group)).toReversed();
  const kept = [...named, ...others].slice(0, most === undefined ? MOST_KEPT : MOST_KEPT - 1);
  const unanswered = silent.filter((one) => names(one.ranks));
  return Object.fromEntries([
    ...unanswered.map((one): [string, string] => [nameOf(one.ranks), `none: ${RANK_SILENCES[one.why]}`]),
    ...[...kept, ...(most === undefined ? [] : [most])].map((group): [string, string] => [
      nameOf(group.ranks),
      group.frames.join(INNER),
    ]),
  ]);
}

function nameOf(ranks: string): string {
  return `stack of ${/^\d+$/.test(ranks) ? 'rank' : 'ranks'} ${ranks}`;
}
