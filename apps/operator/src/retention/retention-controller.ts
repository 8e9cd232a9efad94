/** Deletes saves by the retention policies of jobs and runtimes, in pods of their own. */
import type { CheckpointResourceStatus, CheckpointRetention, TrainingJob } from '@coxswain/api-types';
import { type KubeObject, sleep } from '@coxswain/kube';
import {
  planRetention,
  type RetentionOf,
  type RetentionView,
  usesOf,
  withDecision,
  withDeletionOrdered,
  withDeletionProblem,
  withDeletionStarted,
  withDeletionTakenBack,
  withoutDecision,
} from '@coxswain/lifecycle';
import { type CheckpointObject, CheckpointWrites, type RetentionParts } from './checkpoint-writes.ts';
import { countRunning, DeletionWorkers, hasRoom, type RunningPods } from './deletion-workers.ts';
import { RetentionPolicies } from './retention-policies.ts';
import { readView } from './retention-reads.ts';

const INTERVAL_MS = 30_000;
/** Between the order and its start everything is read and decided again: a gang that is about to start has written its Placement by then. */
const GRACE_MS = 60_000;
/** Age of the policy of a runtime when a deletion is ordered or started. */
const FRESH_MS = 5_000;
/** Orders of a namespace at once. */
const MOST_ORDERS = 20;

/** The saves of one job, or of one that is gone. */
interface Retained {
  readonly jobUid: string;
  readonly job: (TrainingJob & KubeObject) | undefined;
  readonly policy: CheckpointRetention | undefined;
}

/** All state is in the status of Checkpoints, so that another leader goes on; but for when to try again. */
export class RetentionController {
  readonly #parts: RetentionParts;
  readonly #policies: RetentionPolicies;
  readonly #writes: CheckpointWrites;
  readonly #workers: DeletionWorkers;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    this.#policies = new RetentionPolicies(parts);
    this.#writes = new CheckpointWrites(parts);
    this.#workers = new DeletionWorkers(parts, this.#writes);
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#writes.attempt(() => this.reconcile());
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
    }
  }

  /** Goes on with deletions, and decides about all other checkpoints. A failure affects its own checkpoint alone. */
  async reconcile(): Promise<void> {
    this.#writes.expire();
    this.#policies.expire();
    const checkpoints = this.#parts.cache.checkpoints.all();
    const running = await this.#workers.continueStarted(checkpoints.filter(({ status }) => isStarted(status)));
    const byNamespace = Map.groupBy(checkpoints, ({ metadata }) => metadata.namespace ?? '');
    for (const [namespace, own] of byNamespace)
      await this.#writes.attempt(() => this.#reconcileNamespace(namespace, own, running));
  }

  async #reconcileNamespace(
    namespace: string,
    checkpoints: readonly CheckpointObject[],
    running: RunningPods,
  ): Promise<void> {
    const retained = await this.#retainedJobs(checkpoints);
    if (retained.length === 0) return;
    for (const { jobUid, job, policy } of retained)
      if (job !== undefined && policy === undefined) await this.#forgetDecisions(checkpoints, jobUid);
    const view = this.#cachedView(checkpoints, retained);
    const uses = usesOf(view);
    const objects = new Map(checkpoints.map((one) => [one.metadata.uid, one]));
    let isToDelete = checkpoints.some(({ status }) => status?.deletion !== undefined && !isStarted(status));
    for (const { jobUid, job, policy } of retained) {
      for (const plan of planRetention(jobUid, view, policy, uses)) {
        const checkpoint = objects.get(plan.checkpoint.metadata.uid);
        if (checkpoint === undefined || checkpoint.status?.deletion !== undefined) continue;
        if (plan.action === 'Delete') isToDelete ||= this.#writes.isDue(checkpoint);
        else if (job !== undefined)
          await this.#writes.attempt(() => this.#writes.writeIfNew(checkpoint, withDecision(checkpoint, plan, policy)));
      }
    }
    if (isToDelete) await this.#reconcileFresh(namespace, new Set(retained.map(({ jobUid }) => jobUid)), running);
  }

  /** Decides by what the API server holds now, and orders, takes back or starts deletions. */
  async #reconcileFresh(namespace: string, jobUids: ReadonlySet<string>, running: RunningPods): Promise<void> {
    const view = await readView(this.#parts.client, namespace);
    const uses = usesOf(view);
    const jobs = new Map(view.jobs.map((job) => [job.metadata.uid, job]));
    let orders = 0;
    for (const [jobUid, own] of Map.groupBy(view.checkpoints, ({ spec }) => spec.jobUid)) {
      if (!jobUids.has(jobUid)) continue;
      const job = jobs.get(jobUid);
      const policy = job && (await this.#policies.policyOf(job, FRESH_MS));
      const planned = planRetention(jobUid, view, policy, uses);
      const plans = new Map(planned.map((plan) => [plan.checkpoint.metadata.uid, plan]));
      for (const checkpoint of own) {
        const plan = plans.get(checkpoint.metadata.uid);
        const isWanted = plan?.action === 'Delete' && this.#writes.isDue(checkpoint) && orders < MOST_ORDERS;
        if (isStarted(checkpoint.status) || (checkpoint.status?.deletion === undefined && !isWanted)) continue;
        orders += 1;
        await this.#writes.attempt(() => this.#advance(checkpoint as CheckpointObject, { plan, policy, running }));
      }
    }
  }

  /** One step of a checkpoint that is to go, or whose deletion was ordered. */
  async #advance(
    checkpoint: CheckpointObject,
    about: {
      readonly plan: RetentionOf | undefined;
      readonly policy: CheckpointRetention | undefined;
      readonly running: RunningPods;
    },
  ): Promise<void> {
    const { status = { state: 'Complete' as const } } = checkpoint;
    const { plan, policy, running } = about;
    const { deletion } = status;
    const now = this.#parts.clock.now();
    if (plan?.action !== 'Delete') {
      const why = plan?.because ?? 'No retention policy applies any more.';
      await this.#writes.write(checkpoint, withDeletionTakenBack(status, why));
      return;
    }
    if (deletion === undefined) {
      // The policy of a deleted job is what its checkpoints recorded.
      const decided = withDecision(checkpoint, plan, policy ?? status.retention) ?? status;
      await this.#writes.write(checkpoint, withDeletionOrdered(decided, plan.because, now.toISOString()));
      return;
    }
    if (now.getTime() - Date.parse(deletion.orderedAt) < GRACE_MS || !hasRoom(checkpoint, running)) return;
    const place = await this.#workers.placeOf(checkpoint);
    if ('waits' in place) return await this.#writes.writeIfNew(checkpoint, withDeletionProblem(status, place.waits));
    const started = await this.#writes.write(checkpoint, withDeletionStarted(status, now.toISOString()));
    if (await this.#workers.createPod(started, plan.survivors, { node: place.node })) countRunning(running, checkpoint);
  }

  /** Jobs of these checkpoints that have a policy, or that had one. */
  async #retainedJobs(checkpoints: readonly CheckpointObject[]): Promise<readonly Retained[]> {
    const found: Retained[] = [];
    for (const [jobUid, own] of Map.groupBy(checkpoints, ({ spec }) => spec.jobUid)) {
      const job = own[0] && this.#writes.jobOf(own[0]);
      const policy = job && (await this.#policies.policyOf(job));
      const isKnown = own.some(({ status }) => status?.retention !== undefined || status?.deletion !== undefined);
      if (policy !== undefined || isKnown) found.push({ jobUid, job, policy });
    }
    return found;
  }

  /** What watches have brought. It decides what to read, and what to say of checkpoints that stay. */
  #cachedView(checkpoints: readonly CheckpointObject[], retained: readonly Retained[]): RetentionView {
    const namespace = checkpoints[0]?.metadata.namespace;
    const jobs = this.#parts.cache.jobs.all().filter(({ metadata }) => metadata.namespace === namespace);
    const placements = retained.flatMap(({ job }) =>
      job === undefined ? [] : this.#parts.cache.placements.ofJob(job),
    );
    return { checkpoints, jobs, placements, readByPods: new Set() };
  }

  async #forgetDecisions(checkpoints: readonly CheckpointObject[], jobUid: string): Promise<void> {
    for (const checkpoint of checkpoints) {
      const { spec, status } = checkpoint;
      if (spec.jobUid !== jobUid || status?.deletion !== undefined) continue;
      await this.#writes.attempt(() => this.#writes.writeIfNew(checkpoint, withoutDecision(checkpoint)));
    }
  }
}

function isStarted(status: CheckpointResourceStatus | undefined): boolean {
  return status?.deletion?.startedAt !== undefined;
}
