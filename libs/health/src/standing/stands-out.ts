/** Which ranks of an idle gang differ from the others? */
import type { Gang } from '../gang/gang.ts';
import { capitalize, describeRanks } from '../verdict/verdict.ts';
import type { Outliers } from '../verdict/outliers.ts';
import { formatFinished, formatStopped, type StandingRank } from './format-standing.ts';

const NONE: Outliers = { ranks: [], why: '' };

/** The strongest difference first: ranks that ended, that are stopped, that have not joined, with another program, behind the others. */
export function standsOut(all: readonly StandingRank[], gang: Pick<Gang, 'ranks' | 'nodeOf'>): Outliers {
  const finished = all.filter(({ finishedAtMs }) => finishedAtMs !== undefined);
  if (finished.length > 0 && finished.length < gang.ranks) {
    return outliers(finished, formatFinished(finished, { ranks: gang.ranks, goesOn: false }));
  }
  const held = all.filter(({ state }) => state === 'stopped' || state === 'waiting');
  if (held.length > 0) return outliers(held, formatStopped(held, gang));
  return (
    minority(
      all,
      ({ phase }) => phase === undefined,
      (who, is) => `${who} ${is ? 'has' : 'have'} not joined the process group.`,
    ) ??
    otherProgram(all) ??
    behind(all) ??
    NONE
  );
}

function outliers(ranks: readonly StandingRank[], why: string): Outliers {
  return { ranks: ranks.map(({ rank }) => rank), why };
}

function minority(
  all: readonly StandingRank[],
  differs: (one: StandingRank) => boolean,
  sentence: (who: string, isOne: boolean) => string,
): Outliers | undefined {
  const some = all.filter(differs);
  if (some.length === 0 || some.length > all.length / 2) return undefined;
  return outliers(some, sentence(capitalize(describeRanks(some.map(({ rank }) => rank))), some.length === 1));
}

/** Ranks run one program each; one that runs another, such as a shell or `sleep`, does not train. Of two equal parts the one that used less CPU time. */
function otherProgram(all: readonly StandingRank[]): Outliers | undefined {
  const byProgram = [...Map.groupBy(all, ({ program }) => program ?? '')];
  const [usual, other] = byProgram.toSorted(
    ([, left], [, right]) => right.length - left.length || cpuMsOf(right) - cpuMsOf(left),
  );
  if (usual === undefined || other === undefined || byProgram.length > 2 || other[0] === '') return undefined;
  const who = capitalize(describeRanks(other[1].map(({ rank }) => rank)));
  const isOne = other[1].length === 1;
  return outliers(
    other[1],
    `${who} ${isOne ? 'stands' : 'stand'} out: ${isOne ? 'it runs' : 'they run'} \`${other[0]}\`, and the others run \`${usual[0]}\`.`,
  );
}

function behind(all: readonly StandingRank[]): Outliers | undefined {
  const newest = Math.max(-1, ...all.map(({ step }) => step ?? -1));
  return minority(
    all,
    ({ step = -1 }) => step < newest,
    (who, isOne) =>
      `${who} ${isOne ? 'stands' : 'stand'} out: ${isOne ? 'it has' : 'they have'} not reached step ${newest}.`,
  );
}

function cpuMsOf(ranks: readonly StandingRank[]): number {
  return ranks.reduce((sum, { cpuMs = 0 }) => sum + cpuMs, 0) / ranks.length;
}
