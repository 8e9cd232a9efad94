import { formatApplyFailure, type Job } from '@coxswain/api-types';
import type { ReactNode } from 'react';

/** That the newest change has not reached the cluster, and why. A refused job says why in its summary. */
export function ApplyFailureNote({ job, now }: { readonly job: Job; readonly now: Date }): ReactNode {
  const { applyFailure, state } = job;
  if (applyFailure === null || state === 'Refused') return null;
  return (
    <p className="problem" role="status">
      The newest change has not reached the cluster. {formatApplyFailure(applyFailure, now)}
    </p>
  );
}
