/** What does a job ask the queue of its quota for? */
import { gpusOfPod } from '@coxswain/api-types';
import { nodeDemandOf } from '@coxswain/runtime';
import type { GangRequest, QuotaAsked } from '@coxswain/scheduling';
import { growthRequest } from '../epoch/growth.ts';
import type { NextEpoch } from '../epoch/next-epoch.ts';
import { type Facts, placementOf } from '../observation/facts.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';

/** What to ask, if anything; undefined: the job is not queued, or its layout is not known yet. */
export function quotaQuestion(
  record: JobRecord,
  facts: Facts,
  about: { readonly next: NextEpoch; readonly now: Date },
): QuotaAsked | undefined {
  const { next, now } = about;
  if (facts.observed.quota === undefined) return undefined;
  const epoch = record.epoch + 1;
  if (next.kind === 'waitingForQuota') return { epoch, ...next.question };
  if (next.kind === 'waiting' || next.kind === 'unsatisfiable')
    return next.wanted && { epoch, request: next.wanted.request, room: { kind: 'none', message: next.message } };
  const attempt = liveAttempt(record);
  const spec = attempt === undefined ? undefined : placementOf(facts, attempt.epoch)?.spec;
  if (spec === undefined) return undefined;
  const growth = growthRequest(record, facts, now);
  const request = requestOfPlacement(spec, facts);
  const { demand } = request;
  const grown = growth === undefined ? {} : { growth: { ...growth, ...(demand === undefined ? {} : { demand }) } };
  return { epoch: record.epoch, request, room: undefined, ...grown };
}

/** For a gang whose Workload has vanished, or holds quota for another number of pods. */
function requestOfPlacement(
  spec: NonNullable<ReturnType<typeof placementOf>>['spec'],
  { spec: asked }: Facts,
): GangRequest {
  const { layout, runtime } = spec;
  const standbys = asked?.standby;
  return {
    layout,
    gpusPerNode: Math.max(1, gpusOfPod(spec, 0)),
    ...(standbys === undefined ? {} : { standbys }),
    ...(runtime === undefined ? {} : { demand: nodeDemandOf(runtime.template) }),
  };
}
