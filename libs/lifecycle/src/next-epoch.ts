import type { Checkpoint, EffectiveSpec, PlacementSpec } from '@coxswain/api-types';
import { newestRestorable } from '@coxswain/checkpoint';
import { placeGang } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import type { Acceptance } from './acceptance.ts';
import { condemnedCheckpoints } from './checkpoint-trouble.ts';
import { type Facts, isLive } from './facts.ts';
import type { JobRecord } from './job-record.ts';
import { placementName } from './names.ts';
import { placementSha256 } from './recorded-placement.ts';
import { isGangWanted, type Planning } from './planning.ts';
import { unreportedCheckpoints } from './unreported-checkpoints.ts';

/** What stands between the job and its next epoch; `notNeeded` while an attempt is under way or none is wanted. */
export type NextEpoch =
  | { readonly kind: 'notNeeded' }
  | { readonly kind: 'refused' }
  /** The planner knows too little of the cluster as yet. */
  | { readonly kind: 'unplanned'; readonly message: string }
  /** The planner was asked, or will be again. */
  | { readonly kind: 'planning'; readonly message: string }
  | { readonly kind: 'afterPreviousEpoch'; readonly message: string }
  | { readonly kind: 'delayed'; readonly untilMs: number }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'unsatisfiable'; readonly message: string }
  | { readonly kind: 'placing'; readonly name: string; readonly spec: PlacementSpec };

/** What the next epoch depends on. */
interface Standing {
  readonly facts: Facts;
  readonly record: JobRecord;
  readonly planning: Planning;
  readonly acceptance: Acceptance;
  readonly now: Date;
}

export function nextEpoch({ record, facts, planning, acceptance, now }: Standing): NextEpoch {
  if (!isGangWanted(record, facts)) return { kind: 'notNeeded' };
  if (acceptance.kind === 'refused') return { kind: 'refused' };
  if (acceptance.kind === 'unplanned') return planning.kind === 'nothingToAsk' ? NO_GPUS : planningMessage(planning);
  const live = facts.pods.filter((pod) => isLive(facts, pod, now)).length;
  if (live > 0) {
    return { kind: 'afterPreviousEpoch', message: 'Pods of an earlier epoch are still going away.' };
  }
  if (unreportedCheckpoints(facts).length > 0) {
    return { kind: 'afterPreviousEpoch', message: 'Checkpoints of an earlier epoch are being recorded.' };
  }
  const untilMs = notBeforeMs(record, now);
  if (now.getTime() < untilMs) return { kind: 'delayed', untilMs };
  if (planning.kind === 'asking')
    return { kind: 'planning', message: 'The planner predicts what the layout will need.' };
  return place(record, facts, { spec: acceptance.spec, epoch: nextEpochNumber(record, facts) });
}

const NO_GPUS = { kind: 'unplanned', message: 'The layout is chosen when the cluster has a node with GPUs.' } as const;

function planningMessage(planning: Planning): NextEpoch {
  const message =
    planning.kind === 'askingLater'
      ? `The planner could not choose a layout and is asked again: ${planning.problem}`
      : 'The planner searches for a layout.';
  return { kind: 'planning', message };
}

/** Epochs beyond the recorded one that a leftover object may have; a greater number is nonsense, and would use up what numbers there are. */
const MOST_LOST_EPOCHS = 10_000;

/** The one after the last that anything tells of: where status was lost, what an epoch saved and where it was placed outlives its pods. */
function nextEpochNumber(record: JobRecord, facts: Facts): number {
  const { placements, checkpoints } = facts.observed;
  const told = [...placements, ...checkpoints].map(({ spec }) => spec?.epoch);
  const plausible = told.filter((epoch) => Number.isSafeInteger(epoch) && epoch <= record.epoch + MOST_LOST_EPOCHS);
  return Math.max(record.epoch, ...plausible) + 1;
}

/** Where that epoch of the job goes, if it can go anywhere. The same look at the same cluster gives the same placement. */
export function place(
  record: JobRecord,
  facts: Facts,
  { spec, epoch }: { readonly spec: EffectiveSpec; readonly epoch: number },
): NextEpoch {
  const { gpusPerNode } = spec.resources;
  const microBatchSize = spec.training?.microBatchSize;
  const outcome = placeGang(
    { layout: spec.layout, ...(gpusPerNode === undefined ? {} : { gpusPerNode }) },
    facts.capacity(),
  );
  if (outcome.kind !== 'placed') return outcome;
  const { name, uid } = facts.job.metadata;
  const resume = spec.checkpoint === undefined ? undefined : checkpointToResume(record, facts);
  const placement: PlacementSpec = {
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
  };
  const sha256 = placementSha256(placement);
  return { kind: 'placing', name: placementName({ name, uid }, { epoch, sha256 }), spec: placement };
}

/** The newest one that no attempt has condemned, whether or not its object says so yet. */
function checkpointToResume(record: JobRecord, facts: Facts): Checkpoint | undefined {
  const condemned = condemnedCheckpoints(record);
  return newestRestorable(
    facts.checkpoints.filter((checkpoint) => !condemned.has(checkpoint.metadata.name)),
    { jobUid: facts.job.metadata.uid },
  );
}

/** No restart waits longer than the longest delay a policy may ask for; a later time is nonsense and counts as absent. */
const LONGEST_DELAY_MS = 3_600_000;

function notBeforeMs(record: JobRecord, now: Date): number {
  const untilMs = Date.parse(record.notBefore ?? '');
  return Number.isNaN(untilMs) || untilMs > now.getTime() + LONGEST_DELAY_MS ? 0 : untilMs;
}
