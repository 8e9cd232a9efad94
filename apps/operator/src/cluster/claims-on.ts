import type { ClaimOnJob } from '@coxswain/lifecycle';
import { priorityOf, recordedClaim } from '@coxswain/scheduling';
import type { ClusterCache } from './cluster-cache.ts';
import { BY_VICTIM } from './indexes.ts';

/** Standing claims of other jobs that ask the job of that UID to make room. */
export function claimsOn({ jobs }: Pick<ClusterCache, 'jobs'>, jobUid: string): readonly ClaimOnJob[] {
  return jobs.cached.byIndex(BY_VICTIM, jobUid).flatMap((cached) => {
    if (jobs.isGone(cached.metadata.uid)) return [];
    const job = jobs.newest(cached);
    const { uid, name, namespace = '' } = job.metadata;
    const claim = recordedClaim(job);
    return claim === undefined ? [] : [{ job: { uid, name, namespace }, priority: priorityOf(job), claim }];
  });
}
