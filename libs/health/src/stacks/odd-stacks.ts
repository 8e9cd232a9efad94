/** Which ranks are in the middle of something else than most, and what of it is evidence? */
import { RANK_SILENCES, rankIsIn, type SilentRanks, type StackGroup } from '@coxswain/api-types';

interface MostAndOdd {
  /** That of more than half of all ranks that answered; undefined where there is none. */
  readonly most: StackGroup | undefined;
  /** First threads of the others, those of the fewest ranks last. */
  readonly odd: readonly StackGroup[];
}

/** Of first threads alone: what a helper does says little of its rank. */
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
 * For an incident that names `ranks`: what these are in the middle of, then what the fewest are, then most. Innermost first, which is what is left when it is
 * cut to the length of evidence.
 */
export function stackEvidence(
  { groups, silent }: { readonly groups: readonly StackGroup[]; readonly silent: readonly SilentRanks[] },
  ranks: readonly number[],
): Readonly<Record<string, string>> {
  const names = (text: string): boolean => ranks.some((rank) => rankIsIn(rank, text));
  const { most, odd } = mostAndOdd(groups);
  const named = odd.filter((group) => names(group.ranks));
  const others = odd.filter((group) => !named.includes(group)).toReversed();
  const told = [...named, ...others].slice(0, most === undefined ? MOST_KEPT : MOST_KEPT - 1);
  const nobody = silent.filter((one) => names(one.ranks));
  return Object.fromEntries([
    ...nobody.map((one): [string, string] => [nameOf(one.ranks), `none: ${RANK_SILENCES[one.why]}`]),
    ...[...told, ...(most === undefined ? [] : [most])].map((group): [string, string] => [
      nameOf(group.ranks),
      group.frames.join(INNER),
    ]),
  ]);
}

function nameOf(ranks: string): string {
  return `stack of ${/^\d+$/.test(ranks) ? 'rank' : 'ranks'} ${ranks}`;
}
