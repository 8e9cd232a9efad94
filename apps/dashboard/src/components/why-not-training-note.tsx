import type { Job } from '@coxswain/api-types';
import type { ReactNode } from 'react';

/** The smallest change that lets a waiting job train. The reason itself is the summary above it. */
export function WhyNotTrainingNote({ job }: { readonly job: Job }): ReactNode {
  const { whyNotTraining: verdict } = job;
  if (verdict === null || verdict.change === null || verdict.reason === 'NotApplied') return null;
  const isShown = job.summary.startsWith(verdict.sentence);
  return (
    <p className="problem" role="status">
      {isShown ? '' : `${verdict.sentence} `}
      {verdict.change}
    </p>
  );
}
