/** Which checkpoints does retention delete, and why does each other one stay? */
import { type Checkpoint, type CheckpointRetention, ANNOTATIONS, type TrainingJob } from '@coxswain/api-types';
import {
  applyRetention,
  isFoundBroken,
  isOwnSave,
  isVerified,
  protectionsOf,
  type RetainedSave,
} from '@coxswain/checkpoint';
import { isCheckpointReason } from '../failure/checkpoint-standing.ts';
import { asBefore } from './record-deletion.ts';
import { type RetentionView, type Uses, usesOf } from './uses.ts';

/** What becomes of a checkpoint. */
export interface RetentionOf {
  readonly checkpoint: Checkpoint;
  readonly action: 'Keep' | 'Delete';
  /** A sentence. */
  readonly because: string;
  /** Saves that must be whole when it is deleted, because they are why it may go. */
  readonly survivors: readonly Checkpoint[];
}

/** Newest verified saves that a worker checks before it deletes an older one. */
const MOST_NEWEST = 8;

/**
 * Plans retention for the checkpoints of one job, in the order in which they were saved. A deletion that was ordered and not started counts as not ordered, so
 * that it can be taken back. `policy`: of the job, or of its runtime; undefined: nothing is planned. The policy of a deleted job is what its Checkpoints recorded. `uses`: of the view, if the caller has them.
 */
export function planRetention(
  jobUid: string,
  view: RetentionView,
  policy: CheckpointRetention | undefined,
  uses: Uses = usesOf(view),
): readonly RetentionOf[] {
  const checkpoints = view.checkpoints
    .filter(({ spec, metadata }) => spec.jobUid === jobUid && metadata.deletionTimestamp === undefined)
    .filter(({ status }) => status?.state !== undefined && status.deletion?.startedAt === undefined)
    .map(asBefore)
    .toSorted(bySave);
  const job = view.jobs.find(({ metadata }) => metadata.uid === jobUid);
  if (job === undefined) return ofDeletedJob(checkpoints, uses, view);
  if (policy === undefined) return [];
  const doubt = storageDoubt(job, checkpoints);
  if (doubt !== undefined) return checkpoints.map((checkpoint) => kept(checkpoint, doubt));
  return byPolicy(checkpoints, uses, policy);
}

/** Why storage cannot be trusted now, as a clause; undefined: nothing speaks against it. */
export function storageDoubt(job: TrainingJob | undefined, checkpoints: readonly Checkpoint[]): string | undefined {
  // Of a save whose files are gone it is known what it lacks.
  const suspect = checkpoints
    .filter(({ status }) => status?.absent === undefined)
    .find((one) => one.status?.suspect !== undefined || (one.status?.state === 'Complete' && isFoundBroken(one)));
  if (suspect !== undefined) return `nothing is deleted while checkpoint ${suspect.metadata.name} is suspect`;
  const last = job?.status?.attempts?.at(-1);
  if (last === undefined) return undefined;
  if (isCheckpointReason(last.reason) || (last.checkpointFaults ?? []).length > 0)
    return `nothing is deleted, because attempt ${last.epoch} could not read its checkpoint`;
  return undefined;
}

function byPolicy(checkpoints: readonly Checkpoint[], uses: Uses, policy: CheckpointRetention): readonly RetentionOf[] {
  const { whenJobIsDeleted: _later, ...rule } = policy;
  const saves = checkpoints.map((checkpoint) => retainedSave(checkpoint, uses));
  // A user may have gone back to an earlier step: a save stays if it stays in the order of saving or in the order of steps.
  const orders = [saves, saves.toSorted((one, other) => one.step - other.step)];
  const reasons = new Map<string, Set<string>>();
  for (const { name, because } of orders.flatMap((order) => applyRetention(order, rule).keep))
    reasons.set(name, new Set([...(reasons.get(name) ?? []), ...because]));
  const verified = checkpoints.filter(({ metadata }) => reasons.has(metadata.name));
  return checkpoints.map((checkpoint) => {
    const because = reasons.get(checkpoint.metadata.name);
    if (because !== undefined) return kept(checkpoint, [...because].join('; '));
    return {
      checkpoint,
      action: 'Delete',
      because: sentence(
        `the newest ${rule.keepNewestVerified} verified saves stay, and the policy keeps this one for no other reason`,
      ),
      survivors: survivorsOf(checkpoint, verified, rule.keepNewestVerified),
    };
  });
}

/**
 * Saves of the job that must be whole when `checkpoint` is deleted: the newest verified ones, and the newest of its layout. `stay`: checkpoints of the job that are
 * not to be deleted, in any order.
 */
export function survivorsOf(
  checkpoint: Checkpoint,
  stay: readonly Checkpoint[],
  most = MOST_NEWEST,
): readonly Checkpoint[] {
  const { jobUid } = checkpoint.spec;
  const verified = stay
    .filter(({ spec, status }) => spec.jobUid === jobUid && status?.deletion === undefined)
    .filter((one) => isVerified(retainedSave(one, new Map())))
    .toSorted(bySave);
  const ofLayout = verified.findLast((one) => layoutOf(one) === layoutOf(checkpoint));
  const newest = verified.slice(-Math.min(most, MOST_NEWEST));
  return [...new Set([...newest, ...(ofLayout === undefined ? [] : [ofLayout])])];
}

/** Checkpoints whose job is gone go if they recorded that its policy says so, even the last verified one. */
function ofDeletedJob(checkpoints: readonly Checkpoint[], uses: Uses, view: RetentionView): readonly RetentionOf[] {
  const doubt = storageDoubt(undefined, checkpoints);
  return checkpoints
    .filter(({ status }) => status?.retention?.whenJobIsDeleted === 'Delete')
    .map((checkpoint) => {
      const { jobName } = checkpoint.spec;
      const again = view.jobs.some(({ metadata }) => metadata.name === jobName)
        ? [`a job ${jobName} exists again`]
        : [];
      const because = [
        ...again,
        ...(doubt === undefined ? [] : [doubt]),
        ...protectionsOf(retainedSave(checkpoint, uses)),
      ];
      if (because.length > 0) return kept(checkpoint, because.join('; '));
      const why = `job ${jobName} was deleted, and its policy deletes its saves with it`;
      return { checkpoint, action: 'Delete', because: sentence(why), survivors: [] };
    });
}

function retainedSave(checkpoint: Checkpoint, uses: Uses): RetainedSave {
  const { metadata, spec, status } = checkpoint;
  const { verification, state, absent, progress } = status ?? {};
  const pin = metadata.annotations?.[ANNOTATIONS.pin];
  const isThere = state === 'Complete' && absent === undefined;
  return {
    name: metadata.name,
    step: spec.step,
    layout: layoutOf(checkpoint),
    ...(isThere && verification !== undefined
      ? { verification: { level: verification.level, verdict: verification.verdict } }
      : {}),
    ...(isThere ? {} : { verification: { level: 'V0', verdict: 'damaged' } }),
    ...(progress?.loss === undefined ? {} : { loss: progress.loss }),
    isAdopted: !isOwnSave(spec),
    ...(pin === undefined ? {} : { pin: pin === '' ? 'no reason is given' : pin }),
    leases: uses.get(metadata.name) ?? [],
  };
}

/** Equal for saves that load alike. */
function layoutOf({ spec }: Checkpoint): string {
  return JSON.stringify([spec.format, Object.entries(spec.layout).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** The order of saving. */
function bySave({ spec: one }: Checkpoint, { spec: other }: Checkpoint): number {
  return one.epoch - other.epoch || (one.incarnation ?? 1) - (other.incarnation ?? 1) || one.step - other.step;
}

function kept(checkpoint: Checkpoint, because: string): RetentionOf {
  return { checkpoint, action: 'Keep', because: sentence(because), survivors: [] };
}

function sentence(clause: string): string {
  return `${clause.slice(0, 1).toUpperCase()}${clause.slice(1)}.`;
}
