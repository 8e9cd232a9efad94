import type { CheckpointResourceSpec } from '@coxswain/api-types';
import { checkpointName, incarnationOf, saveDirectoryOf } from '@coxswain/checkpoint';
import type { Facts } from '../look/facts.ts';

/** Checkpoints that only a termination message tells of: the launcher saved them while no operator listened. */
export function unreportedCheckpoints(
  facts: Facts,
): readonly { readonly name: string; readonly spec: CheckpointResourceSpec }[] {
  const { job, spec } = facts;
  const claimName = spec?.checkpoint?.claimName;
  if (spec === undefined || claimName === undefined) return [];
  // One without a state was made by somebody who died before the second write, which says that it is complete.
  const recorded = facts.observed.checkpoints.filter(({ status }) => status?.state !== undefined);
  const known = new Set(recorded.map((checkpoint) => checkpoint.metadata.name));
  const found = new Map<string, { readonly name: string; readonly spec: CheckpointResourceSpec }>();
  for (const pod of facts.pods) {
    const cause = pod.exit?.cause;
    const attempt = facts.attempts.findLast(({ epoch }) => epoch === pod.epoch);
    if (cause === undefined || cause.epoch !== pod.epoch || attempt === undefined) continue;
    for (const { directory, step, ...saved } of cause.unreportedCheckpoints) {
      const fence = { epoch: pod.epoch, incarnation: cause.incarnation };
      const name = checkpointName(job.metadata, { ...fence, step });
      if (known.has(name)) continue;
      const path = `${saveDirectoryOf({ metadata: job.metadata, spec }, fence)}/${directory}`;
      const { name: jobName, uid: jobUid } = job.metadata;
      const about = { jobName, jobUid, ...incarnationOf(fence), epoch: pod.epoch, step, claimName, path };
      found.set(name, { name, spec: { ...about, layout: attempt.layout, ...saved } });
    }
  }
  return [...found.values()];
}
