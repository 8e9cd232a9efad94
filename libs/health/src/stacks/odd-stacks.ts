/** Which ranks have another stack trace than most, and which stacks are evidence for an incident? */
import { RANK_SILENCES, rankIsIn, type SilentRanks, type StackGroup } from '@coxswain/api-types';

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
