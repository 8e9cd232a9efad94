/** What uses a checkpoint, or is about to? */
import {
  type Attempt,
  type Checkpoint,
  type CheckpointLocation,
  formatPlace,
  type Placement,
  SCRATCH,
  type TrainingJob,
} from '@coxswain/api-types';
import { isFoundBroken, newestRestorable } from '@coxswain/checkpoint';
import { wantedVerifications } from '../verification/wanted-verifications.ts';
import { asBefore } from './record-deletion.ts';

/** What is in a namespace. Retention decides from this alone. */
export interface RetentionView {
  readonly checkpoints: readonly Checkpoint[];
  readonly jobs: readonly TrainingJob[];
  readonly placements: readonly Pick<Placement, 'spec'>[];
  /** Names of checkpoints that a pod reads. */
  readonly readByPods: ReadonlySet<string>;
}

/** Clauses on what uses each checkpoint, by its name. Names are unique in a namespace. */
export type Uses = ReadonlyMap<string, readonly string[]>;

/** A use of a save that nothing else needs ends with the save. */
const TO_BE_VERIFIED = 'it is to be verified';

/** What else uses the checkpoint than a verification that has not begun. */
export function otherUsesOf(uses: Uses, name: string): readonly string[] {
  return (uses.get(name) ?? []).filter((why) => why !== TO_BE_VERIFIED);
}

/** Everything that uses checkpoints of the namespace: a checkpoint of one job can be used by another. */
export function usesOf(view: RetentionView): Uses {
  const uses = new Map<string, string[]>();
  const note = (name: string | undefined, why: string): void => {
    if (name === undefined || name === SCRATCH) return;
    const known = uses.get(name) ?? [];
    if (!known.includes(why)) uses.set(name, [...known, why]);
  };
  // A deletion that can be taken back is none.
  const checkpoints = view.checkpoints.map(asBefore);
  const jobs = new Map(view.jobs.map((job) => [job.metadata.uid, job]));
  for (const { spec } of view.placements)
    if (!isEnded(spec, jobs.get(spec.jobUid))) noteResume(spec, { job: jobs.get(spec.jobUid), checkpoints }, note);
  const byJob = Map.groupBy(checkpoints, ({ spec }) => spec.jobUid);
  for (const job of view.jobs) {
    noteUsesOfJob(job, byJob.get(job.metadata.uid) ?? [], note);
    noteConversion(job, checkpoints, note);
    noteWeights(job, checkpoints, note);
  }
  for (const name of view.readByPods) note(name, 'a pod reads it');
  // Time decides which node reads it, not whether one does.
  for (const { checkpoint } of wantedVerifications(checkpoints, 0)) note(checkpoint.metadata.name, TO_BE_VERIFIED);
  noteSharedFolders(checkpoints, note);
  return uses;
}

type Note = (name: string | undefined, why: string) => void;

/** By name, and by place: the object that the placement names can be gone while ranks load its files. */
function noteResume(
  { resume, epoch, jobName }: Placement['spec'],
  { job, checkpoints }: { readonly job: TrainingJob | undefined; readonly checkpoints: readonly Checkpoint[] },
  note: Note,
): void {
  if (resume === undefined) return;
  const why = `attempt ${epoch} of job ${jobName} resumes from it`;
  note(resume.checkpoint, why);
  const ofJob = (job as Partial<TrainingJob> | undefined)?.spec?.checkpoint;
  const { claimName = ofJob?.claimName, path } = resume;
  const location = resume.claimName === undefined && ofJob !== undefined ? ofJob : { claimName };
  for (const { metadata, spec } of checkpoints)
    if (isNested(placeOf(spec, spec.path), placeOf(location, path))) note(metadata.name, why);
}

/** `checkpoints`: of this job. */
function noteUsesOfJob(job: TrainingJob, checkpoints: readonly Checkpoint[], note: Note): void {
  const { name, uid } = job.metadata;
  const { spec, status } = job as Partial<TrainingJob>;
  note(spec?.resumeFrom?.from, `spec.resumeFrom of job ${name} names it`);
  note(status?.resumeFrom?.from, `spec.resumeFrom of job ${name} named it`);
  const next = `job ${name} would resume from it`;
  note(status?.checkpoint?.name, next);
  note(newestRestorable(checkpoints, { jobUid: uid })?.metadata.name, next);
  for (const attempt of status?.attempts ?? []) {
    if (attempt.endedAt !== undefined) continue;
    const why = `attempt ${attempt.epoch} of job ${name}`;
    note(attempt.resumedFrom?.checkpoint, `${why} resumed from it`);
    for (const { checkpoint } of attempt.passedOver ?? []) note(checkpoint, `${why} verifies it`);
  }
}

/** It lives as long as the save that it was made from, unless it was found broken: then another one can be made. */
function noteConversion({ metadata, status }: TrainingJob, checkpoints: readonly Checkpoint[], note: Note): void {
  const { conversion } = (status as TrainingJob['status']) ?? {};
  if (conversion === undefined) return;
  if (conversion.wantedSince !== undefined) note(conversion.checkpoint, `it is converted for job ${metadata.name}`);
  const ofName = (name: string): Checkpoint | undefined => checkpoints.find((one) => one.metadata.name === name);
  const made = ofName(conversion.converted);
  const isBroken = made?.spec.convertedFrom !== undefined && isFoundBroken(made);
  const isSourceThere = ofName(conversion.checkpoint)?.spec.jobUid === metadata.uid;
  if (isSourceThere && !isBroken) note(conversion.converted, `it was converted for job ${metadata.name}`);
}

function noteWeights({ metadata: { name }, spec }: TrainingJob, checkpoints: readonly Checkpoint[], note: Note): void {
  const { initialWeights: weights } = (spec as Partial<TrainingJob['spec']> | undefined) ?? {};
  if (weights === undefined) return;
  for (const { metadata, spec: saved } of checkpoints)
    if (isNested(placeOf(saved, saved.path), placeOf(weights, weights.path)))
      note(metadata.name, `job ${name} began from it`);
}

/** A placement without its job, or without its attempt, may be one that is about to start. */
function isEnded({ epoch }: Placement['spec'], job: TrainingJob | undefined): boolean {
  const attempts: readonly Attempt[] = job?.status?.attempts ?? [];
  return attempts.some((attempt) => attempt.epoch === epoch && attempt.endedAt !== undefined);
}

/** Notes pairs of checkpoints where one lies in the folder of the other. In the order of paths, what a folder holds follows it. */
function noteSharedFolders(checkpoints: readonly Checkpoint[], note: Note): void {
  const folder = ({ spec }: Checkpoint): string => placeOf(spec, spec.path);
  const inOrder = checkpoints.toSorted((one, other) => (folder(one) < folder(other) ? -1 : 1));
  let outer: Checkpoint | undefined;
  for (const inner of inOrder) {
    if (outer !== undefined && folder(inner).startsWith(folder(outer))) {
      note(outer.metadata.name, `its folder holds checkpoint ${inner.metadata.name}`);
      note(inner.metadata.name, `it is in the folder of checkpoint ${outer.metadata.name}`);
    } else outer = inner;
  }
}

/** Whether one place is the other, or is inside it. */
function isNested(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one);
}

/** Claims and buckets have different names. Prefixes of one bucket can hold each other, and one server can have several endpoints, so the endpoint does not count. */
function placeOf({ claimName, bucket }: CheckpointLocation, path: string): string {
  return formatPlace(bucket === undefined ? { claimName } : { bucket }, folderOf(path));
}

/** With a slash at the end, so that no folder is a prefix of another name. Empty parts and `.` lead nowhere. */
function folderOf(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  return parts.map((part) => `${part}/`).join('');
}
