/** What is in doubt about a gang that runs? */
import type { Attempt } from '@coxswain/api-types';
import type { StandingReason } from '@coxswain/health';
import { heldEnds } from '../disruption/held-ends.ts';
import { judgeNodes } from '../failure/lost-nodes.ts';
import type { Facts } from '../observation/facts.ts';
import { standingOf } from '../observation/gang-standing.ts';
import type { JobRecord } from '../record/job-record.ts';

/** A condition Running of a gang that runs, for now. */
export interface RunningDoubt {
  readonly holds: true;
  readonly reason: 'NodesInDoubt' | 'EndHeld' | StandingReason;
  readonly message: string;
}

/** The doubt that users see first; undefined: there is none. Without counts and times: in an outage, each change would otherwise be a write of every job. */
export function doubtOfRunning(
  record: JobRecord,
  facts: Facts,
  { attempt, now }: { readonly attempt: Attempt; readonly now: Date },
): RunningDoubt | undefined {
  const [held] = heldEnds(record, facts, now);
  const standing = standingOf(facts, attempt);
  return (
    doubtOfNodes(attempt, facts) ??
    (held === undefined ? undefined : { holds: true, reason: 'EndHeld', message: held }) ??
    (standing === undefined ? undefined : { holds: true, reason: standing.reason, message: standing.message })
  );
}

/** Whether the condition says that the gang may train, and names a doubt. */
export function isInDoubt(condition: { readonly reason: string } | undefined): condition is RunningDoubt {
  return condition?.reason === 'NodesInDoubt' || condition?.reason === 'EndHeld';
}

function doubtOfNodes(attempt: Attempt, facts: Facts): RunningDoubt | undefined {
  const { doubted, isHeld } = judgeNodes(facts, attempt, 'none');
  const [node] = doubted;
  if (node === undefined) return undefined;
  const whatIs = `Node ${node} is not ready`;
  const message = isHeld
    ? `${whatIs}, like most nodes of the cluster, so the connection to the API server is the likelier cause: the gang keeps running until a rank fails or no step is reported.`
    : `${whatIs}: the gang keeps running as long as the launcher there reports or steps come, and otherwise for at most ${facts.timeouts.nodeGraceMs / 1000} s.`;
  return { holds: true, reason: 'NodesInDoubt', message };
}
