/** What is a failure judged by? */
import type { FailureBudget, FailureRule, FailureTally } from '@coxswain/api-types';
import type { CrashJudgement } from '@coxswain/health';
import type { JobRecord } from '../record/job-record.ts';
import type { Failure } from './failure.ts';
import type { EffectivePolicy } from './failure-rules.ts';

/** A failure and all that it is judged by. */
export interface Case {
  readonly record: JobRecord;
  readonly failure: Failure;
  readonly policy: EffectivePolicy;
  readonly crash: CrashJudgement;
  readonly rule: FailureRule;
  /** With this failure, and without what pays for it. */
  readonly tally: FailureTally | undefined;
  /** What pays for it, if not `restartPolicy.maxRestarts`. */
  readonly budget: FailureBudget | undefined;
  readonly maxRestarts: number;
  readonly now: Date;
}
