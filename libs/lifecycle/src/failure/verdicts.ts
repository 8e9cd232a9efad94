/** Which verdicts of detectors still hold, and which are held back? */
import { type Attempt, ranksOfPod } from '@coxswain/api-types';
import { STEPS_OF_RECOVERY } from '@coxswain/health';
import { doesAnswer, type Facts, nodeStateOf, placementOf, podCount } from '../observation/facts.ts';
import { isOfFence } from '../observation/incarnation.ts';
import { hearsFew } from '../observation/hearing.ts';
import type { Verdict } from '../observation/observed.ts';

/** A verdict on which nothing is done now. */
export interface HeldVerdict {
  readonly verdict: Verdict;
  /** A sentence without its full stop. */
  readonly why: string;
}

/** Verdicts about the current run. Those that newer progress refutes are in neither list. */
export interface JudgedVerdicts {
  readonly valid: readonly Verdict[];
  readonly held: readonly HeldVerdict[];
}

const HEARS_FEW =
  'the operator hears few of all launchers at the moment, so its own view is in doubt: check the network between nodes and the operator';

/** Verdicts of detectors about the current run that may end it. */
export function verdictsOn(facts: Facts, attempt: Attempt): readonly Verdict[] {
  return judgeVerdicts(facts, attempt).valid;
}

/** Sorts the verdicts about the current run. */
export function judgeVerdicts(facts: Facts, attempt: Attempt): JudgedVerdicts {
  const { epoch, incarnation = 1 } = attempt;
  const current = (facts.observed.verdicts ?? []).filter(
    (verdict) =>
      verdict.epoch === epoch &&
      (verdict.incarnation ?? incarnation) === incarnation &&
      !isOutdated(verdict, facts, attempt),
  );
  const judged = current.map((verdict) => ({ verdict, why: verdict.held ?? doubtOf(verdict, facts, attempt) }));
  return {
    valid: judged.flatMap(({ verdict, why }) => (why === undefined ? verdict : [])),
    held: judged.flatMap(({ verdict, why }) => (why === undefined ? [] : { verdict, why })),
  };
}

/** Whether the gang has trained since the verdict. */
function isOutdated({ atStep }: Verdict, { observed: { progress } }: Facts, attempt: Attempt): boolean {
  if (atStep === undefined || progress === undefined || !isOfFence(progress, attempt)) return false;
  return progress.step >= atStep + STEPS_OF_RECOVERY;
}

/** Why silence is no evidence now. A node that the API server calls not ready confirms it. */
function doubtOf(verdict: Verdict, facts: Facts, attempt: Attempt): string | undefined {
  if (verdict.isSilence !== true || !hearsFew(facts.observed.hearing?.())) return undefined;
  const node = nodeOfVerdict(facts, attempt, verdict);
  return node === undefined || doesAnswer(nodeStateOf(facts, node)) ? HEARS_FEW : undefined;
}

/** The blamed node; undefined: none, or it is not in the gang. */
export function nodeOfVerdict(facts: Facts, attempt: Attempt, verdict: Verdict): string | undefined {
  return placementOf(facts, attempt.epoch)?.spec.nodes[condemnedPod(facts, attempt, verdict)];
}

/** Index of the blamed pod; -1: it is not in the gang. */
export function condemnedPod(facts: Facts, attempt: Attempt, { about }: Verdict): number {
  const placement = placementOf(facts, attempt.epoch)?.spec;
  if (placement === undefined) return -1;
  if (about.kind === 'node') return placement.nodes.indexOf(about.node);
  if (about.kind === 'gang') return -1;
  const indices = Array.from({ length: podCount(placement) }, (_, podIndex) => podIndex);
  return indices.findIndex((podIndex) => ranksOfPod(placement, podIndex).includes(about.rank));
}
