import { type Checkpoint, type EffectiveSpec, effectiveSpec, isPlanOf, type PlacementSpec } from '@coxswain/api-types';
import { newestRestorable } from '@coxswain/checkpoint';
import { engineRefusal, layoutRefusal } from '@coxswain/engines';
import { placeGang } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import { type Facts, isLive } from './facts.ts';
import { placementName } from './names.ts';
import { type JobRecord, liveAttempt } from './job-record.ts';
import { unreportedCheckpoints } from './unreported-checkpoints.ts';

/** Whether the spec can be run as it stands. */
export type Acceptance =
  /** With the layout that it runs on, whoever chose it. */
  | { readonly kind: 'accepted'; readonly spec: EffectiveSpec }
  /** The planner is to choose a layout and knows too little of the cluster as yet. */
  | { readonly kind: 'unplanned'; readonly message: string }
  | {
      readonly kind: 'refused';
      readonly reason: 'SpecInvalid' | 'NoLayoutFits' | 'LayoutInvalid' | 'EngineRefused';
      readonly message: string;
    };

/** What stands between the job and its next epoch; `notNeeded` while an attempt is under way or none is wanted. */
export type NextEpoch =
  | { readonly kind: 'notNeeded' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unplanned'; readonly message: string }
  | { readonly kind: 'afterPreviousEpoch'; readonly message: string }
  | { readonly kind: 'delayed'; readonly untilMs: number }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'unsatisfiable'; readonly message: string }
  | { readonly kind: 'placing'; readonly name: string; readonly spec: PlacementSpec };

export function acceptance(record: JobRecord, facts: Facts): Acceptance {
  const { spec } = facts;
  if (spec === undefined) {
    return { kind: 'refused', reason: 'SpecInvalid', message: facts.specProblem ?? 'spec cannot be read' };
  }
  const effective = effectiveSpec(spec, record.plan);
  const invalid = effective === undefined ? undefined : layoutRefusal(effective);
  if (invalid !== undefined) return { kind: 'refused', reason: 'LayoutInvalid', message: invalid };
  const refusal = engineRefusal(effective ?? spec);
  if (refusal !== undefined) {
    return { kind: 'refused', reason: 'EngineRefused', message: `${refusal.reason}; ${refusal.alternative}` };
  }
  if (effective !== undefined) return { kind: 'accepted', spec: effective };
  const { plan } = record;
  if (plan?.refusal !== undefined && isPlanOf(plan, spec)) {
    return { kind: 'refused', reason: 'NoLayoutFits', message: plan.refusal };
  }
  return { kind: 'unplanned', message: 'The layout is chosen when the cluster has a node with GPUs.' };
}

export function nextEpoch(record: JobRecord, facts: Facts, now: Date): NextEpoch {
  const accepted = acceptance(record, facts);
  if (!isWanted(record, facts)) return { kind: 'notNeeded' };
  if (accepted.kind === 'refused') return { kind: 'refused' };
  if (accepted.kind === 'unplanned') return accepted;
  const live = facts.pods.filter((pod) => isLive(facts, pod, now)).length;
  if (live > 0) {
    return { kind: 'afterPreviousEpoch', message: 'Pods of an earlier epoch are still going away.' };
  }
  if (unreportedCheckpoints(facts).length > 0) {
    return { kind: 'afterPreviousEpoch', message: 'Checkpoints of an earlier epoch are being recorded.' };
  }
  const untilMs = notBeforeMs(record, now);
  if (now.getTime() < untilMs) return { kind: 'delayed', untilMs };
  return place(record, facts, accepted.spec);
}

function isWanted(record: JobRecord, facts: Facts): boolean {
  return (
    record.terminal === undefined &&
    liveAttempt(record) === undefined &&
    !facts.suspend &&
    !facts.cancel &&
    !facts.deleting
  );
}

function place(record: JobRecord, facts: Facts, spec: EffectiveSpec): NextEpoch {
  const { gpusPerNode } = spec.resources;
  const microBatchSize = spec.training?.microBatchSize;
  const outcome = placeGang(
    { layout: spec.layout, ...(gpusPerNode === undefined ? {} : { gpusPerNode }) },
    facts.capacity(),
  );
  if (outcome.kind !== 'placed') return outcome;
  const { name, uid } = facts.job.metadata;
  const epoch = record.epoch + 1;
  const resume = spec.checkpoint === undefined ? undefined : checkpointToResume(record, facts);
  return {
    kind: 'placing',
    name: placementName({ name, uid }, epoch),
    spec: {
      jobName: name,
      jobUid: uid,
      epoch,
      layout: spec.layout,
      ...(microBatchSize === undefined ? {} : { microBatchSize }),
      worldSize: worldSize(spec.layout),
      ranksPerPod: outcome.ranksPerPod,
      nodes: [...outcome.nodes],
      ...(resume === undefined
        ? {}
        : {
            resume: {
              checkpoint: resume.metadata.name,
              step: resume.spec.step,
              path: resume.spec.path,
              manifestSha256: resume.spec.manifestSha256,
            },
          }),
    },
  };
}

/** The newest one that no attempt found unreadable, whether or not its object says so yet. */
function checkpointToResume(record: JobRecord, facts: Facts): Checkpoint | undefined {
  const unreadable = new Set(unreadableCheckpoints(record));
  return newestRestorable(
    facts.checkpoints.filter((checkpoint) => !unreadable.has(checkpoint.metadata.name)),
    { jobUid: facts.job.metadata.uid },
  );
}

/** Names of checkpoints that an attempt could not load. */
export function unreadableCheckpoints(record: JobRecord): readonly string[] {
  return record.attempts.flatMap((attempt) =>
    attempt.reason === 'CheckpointUnreadable' ? (attempt.resumedFrom?.checkpoint ?? []) : [],
  );
}

/** No restart waits longer than the longest delay a policy may ask for; a later time is nonsense and counts as absent. */
const LONGEST_DELAY_MS = 3_600_000;

function notBeforeMs(record: JobRecord, now: Date): number {
  const untilMs = Date.parse(record.notBefore ?? '');
  return Number.isNaN(untilMs) || untilMs > now.getTime() + LONGEST_DELAY_MS ? 0 : untilMs;
}
