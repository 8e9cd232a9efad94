/** May this job hold GPUs now, as Kueue says, and what does the operator write to the job's Workload? */
import { isFewerPods, sizeOfDigest, type WorkloadCondition, type WorkloadFacts } from './workload-facts.ts';

/** What counts of a job for its Workload. */
export interface QueuedJob {
  readonly uid: string;
  /** LocalQueue that the job's label names; undefined: it has no such label. */
  readonly queueName: string | undefined;
  /** Whether the job asks for GPUs: it is not finished, suspended, cancelled or deleted. */
  readonly wantsGang: boolean;
  /** Whether an attempt is under way or a pod of any attempt may still run. */
  readonly hasGang: boolean;
  /** Whether every rank of the attempt under way has started. */
  readonly hasStarted: boolean;
  /** How the job ended; undefined: it goes on, or it was deleted. */
  readonly ended: 'Succeeded' | 'Failed' | undefined;
  /** Whether the gang runs, and was not asked to stop. */
  readonly isSettled: boolean;
  /** What the attempt under way, or else the next one, asks for (`digestOfRequest`); undefined: its layout is not known yet. */
  readonly digest: string | undefined;
  /** What the running gang would ask for on all of its GPUs, which are free; undefined: it does not grow. */
  readonly growth: string | undefined;
  /** Whether nodes are free for the next attempt, inside the flavours: it could begin now, or a sentence why not. undefined: not known yet. */
  readonly room: { readonly kind: 'found' } | { readonly kind: 'none'; readonly message: string } | undefined;
}

/** What is known of Kueue and the job's Workload, read from the API server. */
export interface QuotaFacts {
  readonly job: QueuedJob;
  /** `notServed`: the cluster has no such kind. `taken`: another owner's object has the name. */
  readonly workload: WorkloadFacts | 'absent' | 'notServed' | 'taken';
  /** AdmissionChecks that name the operator as their controller. */
  readonly ownChecks: ReadonlySet<string>;
  readonly nowMs: number;
}

/** A write to the job's Workload. Each is made only if the Workload has not changed since it was read. */
export type QuotaWrite =
  | { readonly kind: 'create' }
  /** Other pods or another queue, while no quota is held. */
  | { readonly kind: 'change' }
  /** Fewer pods, under quota that is held: Kueue counts the others as free at once. They are gone, or never were. */
  | { readonly kind: 'shrink' }
  /** Gives the quota back. No pod of the job is left. */
  | { readonly kind: 'release' }
  | { readonly kind: 'answer'; readonly check: string; readonly state: 'Ready' | 'Pending'; readonly message: string }
  /** Kueue evicts an admitted Workload whose pods are not ready in time, if it is configured so (`waitForPodsReady`). */
  | { readonly kind: 'podsReady'; readonly areReady: boolean }
  /** The job has ended: the Workload is finished, which gives the quota back. */
  | { readonly kind: 'finish'; readonly outcome: 'Succeeded' | 'Failed' }
  | { readonly kind: 'delete' }
  /** Takes the finalizer, which gives the quota of a deleted Workload back. */
  | { readonly kind: 'takeFinalizer' };

/** What the job may do. */
export type Quota =
  /** The job names no queue, and no Workload of it is left. */
  | { readonly kind: 'notQueued' }
  /** No attempt begins; one that runs goes on. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** Kueue counts the GPUs as the job's. An attempt may be prepared inside the flavours; it begins when the Workload is admitted. */
  | { readonly kind: 'reserved'; readonly message: string }
  | { readonly kind: 'admitted' }
  /** The gang has to save and stop; no attempt begins. */
  | { readonly kind: 'evicted'; readonly reason: string; readonly message: string };

/** What to write, if anything, and what the job may do meanwhile. */
export interface QuotaDecision {
  readonly quota: Quota;
  readonly write?: QuotaWrite;
}

/** Kueue counts a gang no longer; it goes on for so long, in which Kueue may admit the Workload again. */
const WITHOUT_QUOTA_MS = 600_000;

/** Of the check's message in the Workload. */
const READY = 'Coxswain has nodes for the whole gang.';

/**
 * The decision. It depends on what was read alone, so a process that starts anew decides the same. A gang that runs is stopped for three reasons only: Kueue
 * evicted the Workload, Kueue finished it, or Kueue has counted its quota as free for ten minutes.
 */
export function decideQuota(facts: QuotaFacts): QuotaDecision {
  const { job, workload } = facts;
  if (workload === 'notServed') return job.queueName === undefined ? NOT_QUEUED : { quota: waiting(NOT_SERVED) };
  if (workload === 'taken') return job.queueName === undefined ? NOT_QUEUED : { quota: waiting(TAKEN) };
  if (workload === 'absent') return withoutWorkload(job);
  if (workload.isDeleting) return withDeletedWorkload(job, workload);
  if (!job.wantsGang || job.queueName === undefined) return afterwards(job, workload);
  if (isTrue(workload, 'Finished')) return withFinishedWorkload(job, workload);
  const isEvicted = isTrue(workload, 'Evicted') || !workload.isActive;
  if (isEvicted && (job.hasGang || isTrue(workload, 'QuotaReserved'))) return withEvictedWorkload(job, workload);
  return isTrue(workload, 'QuotaReserved') ? withQuota(facts, workload) : withoutQuota(facts, workload);
}

function withoutWorkload(job: QueuedJob): QuotaDecision {
  if (job.queueName === undefined || !job.wantsGang) return NOT_QUEUED;
  const quota = waiting(`Kueue is asked for quota in LocalQueue ${job.queueName}.`);
  return job.digest === undefined ? { quota } : { quota, write: { kind: 'create' } };
}

/** The finalizer keeps the quota counted while pods run. Who deletes a Workload stops no training: spec.active false does. */
function withDeletedWorkload(job: QueuedJob, { hasFinalizer }: WorkloadFacts): QuotaDecision {
  const quota = waiting('The Workload of the job is being deleted; Coxswain makes another one for the next attempt.');
  return job.hasGang || !hasFinalizer ? { quota } : { quota, write: { kind: 'takeFinalizer' } };
}

/** The job asks for no GPUs, or left the queue. Its quota stays until its last pod is gone. */
function afterwards(job: QueuedJob, workload: WorkloadFacts): QuotaDecision {
  const quota = waiting('The job leaves its queue when its last pod is gone.');
  if (job.hasGang) return { quota };
  if (job.ended === undefined) return { quota, write: { kind: 'delete' } };
  if (!isTrue(workload, 'Finished')) return { quota, write: { kind: 'finish', outcome: job.ended } };
  return workload.hasFinalizer ? { quota, write: { kind: 'takeFinalizer' } } : { quota };
}

/** Only the operator finishes a Workload, so somebody else did: Kueue counts its quota as free, and a finished Workload gets none again. */
function withFinishedWorkload(job: QueuedJob, { conditions }: WorkloadFacts): QuotaDecision {
  const message = `Its Workload was finished by another program (${conditions.get('Finished')?.reason ?? ''}), so its quota is free.`;
  if (job.hasGang) return { quota: { kind: 'evicted', reason: 'Finished', message } };
  return { quota: waiting(message), write: { kind: 'delete' } };
}

/** Until it is released no other job gets the quota. The check is not answered meanwhile: a Retry would leave the Workload hanging for ever. */
function withEvictedWorkload(job: QueuedJob, workload: WorkloadFacts): QuotaDecision {
  const { reason, message } = evictionOf(workload);
  if (job.hasGang) return { quota: { kind: 'evicted', reason, message } };
  return { quota: waiting(message), write: { kind: 'release' } };
}

function withoutQuota({ job, nowMs }: QuotaFacts, workload: WorkloadFacts): QuotaDecision {
  const { conditions, queueName } = workload;
  const answer = conditions.get('QuotaReserved');
  if (job.hasGang) {
    const isOver = answer !== undefined && answer.sinceMs > 0 && nowMs - answer.sinceMs >= WITHOUT_QUOTA_MS;
    if (!isOver) return { quota: waiting('Kueue does not count the running gang; it is asked to admit the Workload.') };
    return {
      quota: {
        kind: 'evicted',
        reason: 'NoQuota',
        message: `Kueue has not counted the quota of the gang for ${WITHOUT_QUOTA_MS / 60_000} minutes: ${answer.message}`,
      },
    };
  }
  const quota = waiting(workload.isActive ? describeAnswer(answer, queueName) : describeInactive(workload));
  const isChanged = job.digest !== undefined && (queueName !== job.queueName || workload.digest !== job.digest);
  return isChanged ? { quota, write: { kind: 'change' } } : { quota };
}

function describeAnswer(answer: WorkloadCondition | undefined, queueName: string | undefined): string {
  if (answer === undefined || answer.message === '')
    return `Kueue has not answered yet; check that LocalQueue ${queueName ?? ''} exists in the namespace and that Kueue runs.`;
  return `Kueue: ${answer.message}`;
}

function describeInactive({ name, conditions }: WorkloadFacts): string {
  const why = conditions.get('Evicted')?.message ?? '';
  return `Workload ${name} is not active${why === '' ? '' : `: ${why}`}. Set its spec.active to true to queue the job again.`;
}

/** Quota may be lowered under a Workload that holds it: Kueue says so by an eviction, or leaves it. */
function withQuota({ job, ownChecks }: QuotaFacts, workload: WorkloadFacts): QuotaDecision {
  // Of the pods only the size counts: what they demand of nodes includes the flavours by now.
  const isOtherSize = job.digest !== undefined && sizeOfDigest(workload.digest) !== sizeOfDigest(job.digest);
  const isOther = workload.queueName !== job.queueName || isOtherSize;
  if (workload.queueName === job.queueName && isSmaller(job, workload))
    return {
      quota: job.hasGang
        ? { kind: 'admitted' }
        : waiting('The quota of pods that the job needs no longer is given back.'),
      write: { kind: 'shrink' },
    };
  if (isOther && !job.hasGang)
    return {
      quota: waiting('The quota is given back, because the job now needs another number of GPUs or another queue.'),
      write: { kind: 'release' },
    };
  if (isTrue(workload, 'Admitted')) return withAdmission(job, workload);
  const checks = workload.checks.filter(({ name }) => ownChecks.has(name));
  const unanswered = checks.find(({ state }) => state === 'Pending');
  if (unanswered === undefined) return { quota: { kind: 'reserved', message: describeOthers(workload) } };
  const quota: Quota = { kind: 'reserved', message: 'Kueue reserved the quota; nodes are chosen.' };
  const check = unanswered.name;
  if (job.hasGang || job.room?.kind === 'found')
    return { quota, write: { kind: 'answer', check, state: 'Ready', message: READY } };
  if (job.room === undefined || job.room.message === unanswered.message) return { quota };
  return { quota, write: { kind: 'answer', check, state: 'Pending', message: job.room.message } };
}

/** A job that goes on with fewer pods keeps the rest of its quota, and its turn. A gang that did not grow after all gives back what it asked for. */
function isSmaller({ digest, hasGang, isSettled, growth }: QueuedJob, workload: WorkloadFacts): boolean {
  const mayGrow = !isSettled || growth !== undefined || !isTrue(workload, 'Admitted');
  if (digest === undefined || (hasGang && mayGrow)) return false;
  return isFewerPods(sizeOfDigest(digest), sizeOfDigest(workload.digest));
}

/** A Workload without the condition waits for its first start, so nothing is written before that. */
function withAdmission({ hasStarted }: QueuedJob, workload: WorkloadFacts): QuotaDecision {
  const quota: Quota = { kind: 'admitted' };
  if (isTrue(workload, 'PodsReady') === hasStarted) return { quota };
  return { quota, write: { kind: 'podsReady', areReady: hasStarted } };
}

function describeOthers({ checks }: WorkloadFacts): string {
  const names = checks.filter(({ state }) => state !== 'Ready').map(({ name }) => name);
  if (names.length === 0) return 'Kueue reserved the quota and has not admitted the Workload yet.';
  return `Kueue reserved the quota; the Workload waits for AdmissionCheck ${names.join(', ')}.`;
}

/** Why Kueue evicted the Workload; one that is only inactive was not evicted yet. */
function evictionOf({ conditions, isActive }: Pick<WorkloadFacts, 'conditions' | 'isActive'>): {
  readonly reason: string;
  readonly message: string;
} {
  const evicted = conditions.get('Evicted');
  if (evicted?.isTrue === true)
    return { reason: evicted.reason, message: `Kueue evicted the Workload: ${evicted.message}` };
  return { reason: isActive ? 'Evicted' : 'Deactivated', message: 'The Workload is not active.' };
}

function isTrue({ conditions }: WorkloadFacts, type: string): boolean {
  return conditions.get(type)?.isTrue === true;
}

function waiting(message: string): Quota {
  return { kind: 'waiting', message };
}

const NOT_QUEUED: QuotaDecision = { quota: { kind: 'notQueued' } };
const NOT_SERVED =
  'The job names a queue, and the cluster serves no Workloads of Kueue (kueue.x-k8s.io/v1beta2). Install Kueue, or remove label kueue.x-k8s.io/queue-name.';
const TAKEN = 'A Workload of another owner has the name that the Workload of this job needs; delete or rename it.';
