/** Which facts decide how a failure is answered? */
import type { FailureBudget, FailureRule, FailureTally } from '@coxswain/api-types';
import type { CrashJudgement } from '@coxswain/health';
import type { Facts } from '../observation/facts.ts';
import type { JobRecord } from '../record/job-record.ts';
import type { Failure } from './failure.ts';
import type { EffectivePolicy } from './failure-rules.ts';

/** A failure and every fact that decides its answer. */
export interface Case {
  readonly record: JobRecord;
  readonly failure: Failure;
  readonly policy: EffectivePolicy;
  readonly crash: CrashJudgement;
  readonly rule: FailureRule;
  /** The tally including this failure, before its budget is charged. */
  readonly tally: FailureTally | undefined;
  /** The budget that pays for it; undefined: `restartPolicy.maxRestarts` does. */
  readonly budget: FailureBudget | undefined;
  readonly restartPolicy: Facts['restartPolicy'];
  readonly now: Date;
}
