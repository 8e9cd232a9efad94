import { LABELS, type TrainingJob } from '@coxswain/api-types';
import {
  type Clock,
  isAdmissionUnavailable,
  isConflict,
  isNotFound,
  isRefusal,
  isRetryable,
  isUnauthorizedVerb,
  keyOf,
  type KubeClient,
  type KubeObject,
  ObjectCache,
  Reflector,
  serverSentence,
  sleep,
  WorkQueue,
} from '@coxswain/kube';
import type { JobEffects } from '@coxswain/lifecycle';
import {
  decideQuota,
  decideSlice,
  flavourRules,
  type FreeQuota,
  goneJob,
  type JobQuota,
  jobQuota,
  jobUidOf,
  type NodeRules,
  type QueuedJob,
  queuedJob,
  queueNameOf,
  type QuotaDecision,
  type WorkloadFacts,
  workloadNames,
} from '@coxswain/scheduling';
import { kueuePath, podsPath, trainingJobsPath } from '../cluster/paths.ts';
import { AdmissionChecks } from './admission-checks.ts';
import { QueueQuotas } from './queue-quotas.ts';
import { type FoundWorkloads, readWorkloads, type WorkloadsAt } from './read-workloads.ts';
import { MissingPriorityError, WorkloadWriter } from './workload-writer.ts';

/** Parts of the controller. `client` must reject writes while this process does not lead. */
export interface KueueParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Every job of the cache, and the one of that UID. */
  readonly jobs: { list(): readonly TrainingJob[]; byUid(uid: string): TrainingJob | undefined };
  /** Called when what the job of that key may do has changed. */
  readonly onNews: (key: string) => void;
  readonly onError: (error: unknown) => void;
}

type Question = Parameters<NonNullable<JobEffects['askQuota']>>[1];

const BEING_READ: JobQuota = { kind: 'waiting', message: 'The Workload of the job is being read.' };
const ROUND_MS = 30_000;
/** A change that a watch lost is found within this time, and the ten minutes without quota are noticed. */
const RESYNC_ROUNDS = 4;
const WORKERS = 4;
/** A job whose larger Workload was withdrawn waits so long before it asks again. */
const ASK_AGAIN_MS = 600_000;

/**
 * Follows Kueue for the jobs that name a queue: writes one Workload per job, answers the AdmissionCheck, and says what each job may do. All rules are in
 * `decideQuota`. A watch tells when to look; every decision stands on a live read of the Workload, and a write that gives quota back also on one of the job.
 * Nothing is recorded here: a new leader reads the same.
 */
export class KueueController {
  readonly #parts: KueueParts;
  readonly #checks: AdmissionChecks;
  readonly #writer: WorkloadWriter;
  readonly #quotasOfQueues: QueueQuotas;
  readonly #workloads = new ObjectCache<KubeObject>();
  readonly #queue: WorkQueue;
  readonly #questions = new Map<string, Question>();
  /** When a job whose larger Workload was withdrawn may ask again, in milliseconds since 1970. A new leader asks earlier. */
  readonly #askAgainMs = new Map<string, number>();
  /** What was read last, by UID of the job; undefined: the job is not queued. */
  readonly #quotas = new Map<string, JobQuota | undefined>();

  constructor(parts: KueueParts) {
    this.#parts = parts;
    const { client, clock, onError } = parts;
    this.#checks = new AdmissionChecks({ client, clock });
    this.#writer = new WorkloadWriter({ client, clock });
    this.#quotasOfQueues = new QueueQuotas({ client, clock });
    this.#queue = new WorkQueue({
      clock,
      random: Math.random,
      name: 'workloads',
      // An administrator mends the cause outside, and the job goes on soon after. A key in quarantine would see no eviction either.
      isTransient: (error) => isRetryable(error) || isConflict(error) || saysWhy(error),
      transientMaxMs: ROUND_MS,
      onError: ({ error }) => onError(error),
    });
    this.#workloads.onChange(({ object }) => this.#wake(jobUidOf(object)));
  }

  /** What the job may do; undefined: it is not queued. A job that names a queue waits until its Workload was read. */
  quotaOf(job: TrainingJob): JobQuota | undefined {
    // A job that was not queued when it was read last may be by now: it was resumed, or got the label.
    return this.#quotas.get(job.metadata.uid) ?? (queueNameOf(job) === undefined ? undefined : BEING_READ);
  }

  /** The job needs these pods, and has nodes for them or not. */
  ask(job: TrainingJob, question: Question): void {
    const { uid } = job.metadata;
    const before = this.#questions.get(uid);
    this.#questions.set(uid, question);
    if (before === undefined || !isSame(before, question)) this.#wake(uid);
  }

  /** The job changed: it may name another queue, or its gang may be gone. */
  jobChanged(job: TrainingJob): void {
    const { uid } = job.metadata;
    if (queueNameOf(job) !== undefined || this.#quotas.get(uid) !== undefined) this.#wake(uid);
  }

  /** The job was deleted. Its Workload is looked at once more, because it keeps its quota until its finalizer is taken. */
  forget(jobUid: string): void {
    this.#questions.delete(jobUid);
    this.#quotas.delete(jobUid);
    this.#askAgainMs.delete(jobUid);
    this.#wake(jobUid);
  }

  /** Works until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const reconcile = (uid: string): Promise<void> => this.#reconcile(uid);
    await Promise.all([this.#rounds(signal), this.#queue.run({ workers: WORKERS, reconcile, signal, drainMs: 5_000 })]);
  }

  #wake(jobUid: string | undefined): void {
    if (jobUid !== undefined) this.#queue.add(jobUid, 'normal');
  }

  /** Watches Workloads while the cluster serves them. */
  async #rounds(signal: AbortSignal): Promise<void> {
    const { clock, onError, jobs } = this.#parts;
    let watch: Promise<void> | undefined;
    for (let round = 0; !signal.aborted; round += 1) {
      try {
        const isServed = await this.#checks.keep();
        if (isServed) watch ??= this.#watch(signal);
        if (round % RESYNC_ROUNDS === 0) for (const job of jobs.list()) this.jobChanged(job);
        for (const job of jobs.list()) if (this.#needsFreeQuota(job)) this.jobChanged(job);
        for (const workload of this.#workloads.list()) if (isLeftOver(workload, jobs)) this.#wake(jobUidOf(workload));
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
      await sleep(clock, ROUND_MS, signal);
    }
    await watch;
  }

  /** No watch tells when quota of a queue is free again. */
  #needsFreeQuota({ metadata, spec }: TrainingJob): boolean {
    if (spec.minGpus === undefined) return false;
    const quota = this.#quotas.get(metadata.uid);
    return quota?.kind === 'waiting' || this.#questions.get(metadata.uid)?.growth !== undefined;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, clock, onError } = this.#parts;
    const reflector = new Reflector<KubeObject>({
      client,
      collectionPath: kueuePath('workloads'),
      cache: this.#workloads,
      clock,
      random: Math.random,
      onError: (problem) => onError(problem),
    });
    await reflector.run(signal);
  }

  async #reconcile(jobUid: string): Promise<void> {
    const job = this.#parts.jobs.byUid(jobUid);
    const known = this.#knownOf(jobUid, job);
    if (known === undefined) return;
    const found = await readWorkloads(this.#parts.client, known, jobUid);
    const queued = await this.#queuedOf(jobUid, job, known);
    const decision = decideQuota(this.#factsOf(queued, found));
    const { write } = decision;
    if (write === undefined) await this.#grow(job, { jobUid, known, found, queued });
    // A job that waits for a write shows why it fails, so what it waits for is shown after it.
    const waitsForWrite = write !== undefined && decision.quota.kind === 'waiting';
    if (!waitsForWrite) await this.#publish(jobUid, job, { decision, found });
    if (write === undefined) return;
    // What gives quota back, or takes a Workload away, stands on the job as the API server has it.
    const live =
      write.kind === 'create' || write.kind === 'answer' || write.kind === 'podsReady'
        ? job
        : await this.#readJob(jobUid, nameOfJob(jobUid, job, found));
    const proven = decideQuota(this.#factsOf(await this.#queuedOf(jobUid, live, known), found));
    if (proven.write?.kind === write.kind) {
      await this.#write({ job: live, jobUid, known, found, decision: { ...proven, write: proven.write } });
      this.#wake(jobUid);
    }
    if (waitsForWrite) await this.#publish(jobUid, job, { decision, found });
  }

  async #write(about: {
    readonly job: TrainingJob | undefined;
    readonly jobUid: string;
    readonly known: WorkloadsAt;
    readonly found: FoundWorkloads;
    readonly decision: QuotaDecision & Required<Pick<QuotaDecision, 'write'>>;
  }): Promise<void> {
    const { job, jobUid, known, found, decision } = about;
    const { quota, write } = decision;
    const request = this.#questions.get(jobUid)?.request;
    const asks = job === undefined || request === undefined ? undefined : { job, request };
    try {
      const { namespace, names } = known;
      const name = found.object?.metadata.name ?? names[0] ?? '';
      await this.#writer.write({
        namespace,
        name,
        object: found.object,
        write,
        ...(asks === undefined ? {} : { asks }),
      });
    } catch (error) {
      // The job shows why it waits; the queue tries again.
      if (job !== undefined && quota.kind === 'waiting' && saysWhy(error))
        this.#set(job, { kind: 'waiting', message: `The Workload of the job cannot be written: ${messageOf(error)}` });
      throw error;
    }
  }

  /** The second Workload of a job that grows. */
  async #grow(
    job: TrainingJob | undefined,
    about: {
      readonly jobUid: string;
      readonly known: WorkloadsAt;
      readonly found: FoundWorkloads;
      readonly queued: QueuedJob;
    },
  ): Promise<void> {
    const { jobUid, known, found, queued } = about;
    const { workloads, objects } = found;
    const nowMs = this.#parts.clock.now().getTime();
    const growth = this.#questions.get(jobUid)?.growth;
    const mayAsk = nowMs >= (this.#askAgainMs.get(jobUid) ?? 0);
    const free =
      job === undefined || growth === undefined || !mayAsk ? undefined : await this.#freeOf(job, found.facts);
    const write = decideSlice({ ...workloads, job: queued, freeGpus: free?.withBorrowed, nowMs });
    if (write === undefined) return;
    const workload = write.kind === 'remove' ? write.workload : workloads.current;
    const object = objects.find(({ metadata }) => metadata.uid === workload?.uid);
    if (object === undefined) return;
    if (write.kind === 'remove' && workload === workloads.slice) this.#askAgainMs.set(jobUid, nowMs + ASK_AGAIN_MS);
    const asks = job === undefined || growth === undefined ? {} : { asks: { job, request: growth } };
    await this.#writer.write({ namespace: known.namespace, name: object.metadata.name, object, write, ...asks });
    this.#wake(jobUid);
  }

  /** Of a job that may run on fewer GPUs. */
  async #freeOf(job: TrainingJob, facts: FoundWorkloads['facts']): Promise<FreeQuota | undefined> {
    const queueName = queueNameOf(job);
    if (queueName === undefined || job.spec.minGpus === undefined || facts === 'notServed') return undefined;
    const flavours = typeof facts === 'string' ? [] : facts.flavours.flat();
    return this.#quotasOfQueues.freeOf({ namespace: job.metadata.namespace, queueName, flavours });
  }

  #factsOf(job: QueuedJob, { facts }: FoundWorkloads): Parameters<typeof decideQuota>[0] {
    return { job, workload: facts, ownChecks: this.#checks.names, nowMs: this.#parts.clock.now().getTime() };
  }

  /** Of a deleted job only its pods count. */
  async #queuedOf(jobUid: string, job: TrainingJob | undefined, { namespace }: WorkloadsAt): Promise<QueuedJob> {
    if (job !== undefined) return queuedJob(job, this.#questions.get(jobUid));
    const labelSelector = `${LABELS.jobUid}=${jobUid}`;
    const { items } = await this.#parts.client.list<KubeObject>(podsPath({ namespace }), { labelSelector });
    return goneJob(jobUid, items.some(isLive));
  }

  #knownOf(jobUid: string, job: TrainingJob | undefined): WorkloadsAt | undefined {
    const cached = this.#workloads.list().filter((one) => jobUidOf(one) === jobUid);
    const namesOfCached = cached.map(({ metadata }) => metadata.name);
    if (job === undefined) {
      const [workload] = cached;
      return workload && { namespace: workload.metadata.namespace, names: namesOfCached };
    }
    const [name, other] = workloadNames(job);
    const mayGrow = job.spec.minGpus !== undefined || namesOfCached.includes(other);
    return { namespace: job.metadata.namespace, names: mayGrow ? [name, other] : [name] };
  }

  /** undefined: the job of that UID is gone. */
  async #readJob(
    jobUid: string,
    at: { readonly namespace?: string | undefined; readonly name: string } | undefined,
  ): Promise<TrainingJob | undefined> {
    if (at === undefined) return undefined;
    try {
      const { namespace, name } = at;
      const live = await this.#parts.client.get<TrainingJob & KubeObject>(trainingJobsPath({ namespace, name }));
      return live.metadata.uid === jobUid ? live : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #publish(
    jobUid: string,
    job: TrainingJob | undefined,
    { decision, found }: { readonly decision: QuotaDecision; readonly found: FoundWorkloads },
  ): Promise<void> {
    if (job === undefined) return;
    const { quota } = decision;
    const workload = typeof found.facts === 'string' ? NO_FLAVOURS : found.facts;
    const holds = quota.kind === 'reserved' || quota.kind === 'admitted';
    const flavours = holds ? await this.#flavoursOf(workload) : new Map<string, NodeRules>();
    const free =
      quota.kind === 'waiting' || quota.kind === 'admitted' ? await this.#freeOf(job, found.facts) : undefined;
    this.#set(job, jobQuota(quota, workload, { flavours, free }));
    if (quota.kind === 'notQueued' && queueNameOf(job) === undefined) this.#questions.delete(jobUid);
  }

  #set(job: TrainingJob, quota: JobQuota | undefined): void {
    const { uid } = job.metadata;
    const before = this.#quotas.get(uid);
    const isNew = !this.#quotas.has(uid) || JSON.stringify(before) !== JSON.stringify(quota);
    // The same object stays, because templates are remembered by it.
    if (!isNew) return;
    this.#quotas.set(uid, quota);
    this.#parts.onNews(keyOf({ metadata: job.metadata }));
  }

  async #flavoursOf({ flavours }: Pick<WorkloadFacts, 'flavours'>): Promise<ReadonlyMap<string, NodeRules>> {
    const rules = new Map<string, NodeRules>();
    for (const name of new Set(flavours.flat())) {
      try {
        rules.set(name, flavourRules(await this.#parts.client.get(kueuePath('resourceflavors', { name }))));
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    return rules;
  }
}

const NO_FLAVOURS = { flavours: [], updates: [], gpus: 0 };

/** A Workload whose job is gone. */
function isLeftOver(workload: KubeObject, jobs: KueueParts['jobs']): boolean {
  const uid = jobUidOf(workload);
  return uid !== undefined && jobs.byUid(uid) === undefined;
}

/** A job that the cache does not have is read by the name that its Workload says: a cache can lag. */
function nameOfJob(
  jobUid: string,
  job: TrainingJob | undefined,
  { object }: FoundWorkloads,
): { readonly namespace?: string | undefined; readonly name: string } | undefined {
  if (job !== undefined) return job.metadata;
  const owner = object?.metadata.ownerReferences?.find(({ uid }) => uid === jobUid);
  return owner === undefined ? undefined : { namespace: object?.metadata.namespace, name: owner.name };
}

function isSame(one: Question, other: Question): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isLive(pod: KubeObject): boolean {
  const { phase } = (pod as { readonly status?: { readonly phase?: unknown } }).status ?? {};
  return phase !== 'Succeeded' && phase !== 'Failed';
}

/** Whether users and administrators can act on the error: everything but a lost connection or a conflict. */
function saysWhy(error: unknown): boolean {
  if (error instanceof MissingPriorityError || isRefusal(error) || isAdmissionUnavailable(error)) return true;
  return isUnauthorizedVerb(error);
}

function messageOf(error: unknown): string {
  return serverSentence(error) ?? (error instanceof Error ? error.message : String(error));
}
