/** Which gangs make room for a job, from what the scheduler reads of the cluster? */
import type { GangRequest } from '../gang-request.ts';
import { priorityOf } from '../order/priority.ts';
import { nameOf } from '../promises/holders.ts';
import type { SchedulerView } from '../scheduler-view.ts';
import { type ClaimRules, DEFAULT_CLAIM_RULES } from './claim-rules.ts';
import type { ClaimChoice, ClaimQuestion } from './claim.ts';
import { chooseVictims } from './choose-victims.ts';
import { type GangFacts, runningGangs } from './running-gangs.ts';
import { standingClaims } from './standing-claims.ts';

/** What the view does not have. */
interface AskedInView extends Pick<ClaimQuestion, 'fabric' | 'usedGpus'> {
  readonly jobUid: string;
  readonly request: GangRequest;
  readonly startWithout: Date | undefined;
  readonly withHeld: NonNullable<ClaimQuestion['withHeld']>;
  readonly facts: GangFacts & { readonly rules?: ClaimRules };
}

/** No gang makes room in a view without a clock, because ends are predicted in the time of day. */
export function chooseInView(view: SchedulerView, asked: AskedInView): ClaimChoice {
  const { jobUid, request, startWithout, facts, ...around } = asked;
  const now = view.now?.();
  const job = view.job(jobUid);
  if (now === undefined || job === undefined) return { kind: 'none', reason: 'No job makes room: the job is gone.' };
  const [jobs, placements] = [view.jobs(), view.placements()];
  return chooseVictims({
    ...around,
    claimant: { job: nameOf(job), priority: priorityOf(job), request, startWithout },
    gangs: runningGangs(jobs, placements, { ...facts, now }),
    standing: standingClaims(jobs, placements),
    now,
    rules: facts.rules ?? DEFAULT_CLAIM_RULES,
  });
}
