/** What does a job ask the queue of its quota for? */
import { ranksOfPod } from '@coxswain/api-types';
import { nodeDemandOf } from '@coxswain/runtime';
import type { GangRequest } from '@coxswain/scheduling';
import type { NextEpoch } from '../epoch/next-epoch.ts';
import type { QuotaQuestion } from '../epoch/quota-gate.ts';
import { type Facts, placementOf } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** What to ask, if anything; undefined: the job is not queued, or its layout is not known yet. */
export function quotaQuestion(record: JobRecord, facts: Facts, next: NextEpoch): QuotaQuestion | undefined {
  if (facts.observed.quota === undefined) return undefined;
  if (next.kind === 'waitingForQuota') return next.question;
  if (next.kind === 'waiting' || next.kind === 'unsatisfiable')
    return next.wanted && { request: next.wanted.request, room: { kind: 'none', message: next.message } };
  const attempt = liveAttempt(record);
  const spec = attempt === undefined ? undefined : placementOf(facts, attempt.epoch)?.spec;
  return spec === undefined ? undefined : { request: requestOfPlacement(spec), room: undefined };
}

/** For a gang whose Workload has vanished. */
function requestOfPlacement(spec: NonNullable<ReturnType<typeof placementOf>>['spec']): GangRequest {
  const { layout, runtime } = spec;
  return {
    layout,
    gpusPerNode: Math.max(1, ranksOfPod(spec, 0).length),
    ...(runtime === undefined ? {} : { demand: nodeDemandOf(runtime.template) }),
  };
}
