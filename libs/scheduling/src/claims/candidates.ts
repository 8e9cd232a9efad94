/** Which running gangs may be asked to make room, and why not the others? */
import type { ClaimQuestion, RunningGang } from './claim.ts';
import { protectedSeconds } from './price.ts';

/** Why a gang does not make room. */
type WhyNot = 'priority' | 'ending' | 'asked' | 'protected' | 'often';

/** The gangs that may make room, and how many of the others do not for each reason. */
export interface Candidates {
  readonly gangs: readonly RunningGang[];
  readonly others: ReadonlyMap<WhyNot, number>;
}

/**
 * Gangs of strictly lower priority that have run beyond their protected time. A gang that stops already, or that another claim names, is left alone. So
 * no two jobs make room for each other in turn.
 */
export function candidatesOf(question: ClaimQuestion): Candidates {
  const named = new Set(question.standing.flatMap(({ victims }) => victims.map(({ uid }) => uid)));
  const claimants = new Set(question.standing.map(({ job }) => job.uid));
  const judged = Map.groupBy(question.gangs, (gang) => whyNot(gang, question, { named, claimants }));
  const others = [...judged].flatMap(([why, gangs]) => (why === undefined ? [] : [[why, gangs.length] as const]));
  return { gangs: judged.get(undefined) ?? [], others: new Map(others) };
}

/**
 * For so long after its return a gang does not make room for the same job again, whatever time of protection the administrator states. Else the two
 * would take turns.
 */
const SAME_AGAIN_SECONDS = 900;

function whyNot(
  gang: RunningGang,
  { claimant, now, rules }: ClaimQuestion,
  { named, claimants }: { readonly named: ReadonlySet<string>; readonly claimants: ReadonlySet<string> },
): WhyNot | undefined {
  const { uid } = gang.job;
  if (gang.priority >= claimant.priority || uid === claimant.job.uid) return 'priority';
  if (gang.isStopping) return 'ending';
  if (named.has(uid) || claimants.has(uid)) return 'asked';
  const ranSeconds = (now.getTime() - gang.startedAt.getTime()) / 1_000;
  const isSameAgain = gang.lastMadeRoomFor === claimant.job.uid && ranSeconds < SAME_AGAIN_SECONDS;
  if (isSameAgain || ranSeconds < protectedSeconds(gang, rules)) return 'protected';
  const { madeRoomFor } = gang;
  return madeRoomFor.length >= rules.mostInADay && claimant.priority <= Math.max(...madeRoomFor) ? 'often' : undefined;
}

const IN_WORDS: Readonly<Record<WhyNot, (count: number) => string>> = {
  priority: (count) => `${count} ${count === 1 ? 'has' : 'have'} no lower priority`,
  ending: (count) => `${count} ${count === 1 ? 'stops' : 'stop'} already`,
  asked: (count) => `${count} already ${count === 1 ? 'makes' : 'make'} room for another job`,
  protected: (count) => `${count} started too recently to be stopped again`,
  often: (count) => `${count} made room too often today`,
};

/** Such as `3 have no lower priority, 1 stops already`; empty: there are no others. */
export function describeOthers({ others }: Candidates): string {
  return (Object.keys(IN_WORDS) as WhyNot[])
    .flatMap((why) => {
      const count = others.get(why);
      return count === undefined ? [] : IN_WORDS[why](count);
    })
    .join(', ');
}
