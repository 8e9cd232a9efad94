/** Which ends of the attempt are held, and why? */
import { judgeVerdicts } from '../failure/verdicts.ts';
import type { Facts } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { canMove, leavingNodes, ruleOnMove, whyLeaving } from './leaving-nodes.ts';

/** One message for each held end. They have no counts and times, so that each is written once. */
export function heldEnds(record: JobRecord, facts: Facts, now: Date): readonly string[] {
  const attempt = liveAttempt(record);
  if (attempt?.stage !== 'Released') return [];
  const nodes = canMove(facts) ? leavingNodes(facts, attempt) : [];
  const move = nodes.length === 0 ? undefined : ruleOnMove(facts, { attempt, nodes, now });
  const says = (what: string, why: string): string =>
    `${what} Coxswain does not end attempt ${attempt.epoch} for this: ${why}.`;
  return [
    ...judgeVerdicts(facts, attempt).held.map(({ verdict, why }) => says(verdict.message, why)),
    ...(move?.kind === 'held' ? [says(whyLeaving(facts, nodes), move.why)] : []),
  ];
}
