/** Converts saves that jobs wait for, in pods of their own, and deletes converted saves that no job needs any more. */
import {
  API_GROUP_VERSION,
  type Checkpoint,
  ConversionAnswer,
  DeletionAnswer,
  LABELS,
  type OperatorEvent,
  type TrainingJob,
} from '@coxswain/api-types';
import { conversionFormat, isOwnSave } from '@coxswain/checkpoint';
import { isAlreadyExists, isRefusal, keyOf, type KubeObject, sleep } from '@coxswain/kube';
import {
  conversionStep,
  type ConversionStep,
  isConvertedFrom,
  isWantedBy,
  otherUsesOf,
  type RetentionView,
  usesOf,
  withAnswer,
  withDropped,
  withHindrance,
  withOrdered,
  withoutAnswer,
} from '@coxswain/lifecycle';
import { checkpointsPath, podsPath } from '../cluster/paths.ts';
import { type CheckpointObject, CheckpointWrites, type RetentionParts } from '../retention/checkpoint-writes.ts';
import { readView } from '../retention/retention-reads.ts';
import { ClaimPlaces } from '../worker-pods/claim-places.ts';
import type { WorkerContext } from '../worker-pods/worker-context.ts';
import { isOwnedBy, outcomeOf, type WorkerPod } from '../worker-pods/worker-pod.ts';
import { cleaningPod, CONVERSION_WORKER, conversionPod, conversionPodName, convertedSpec } from './conversion-pod.ts';

const INTERVAL_MS = 5_000;
/** Pods at once: each reads and writes a whole save on storage that jobs save to. */
const MOST_IN_ALL = 4;
const MOST_IN_NAMESPACE = 2;
/** Between two tries to create a pod that the cluster rejects, or whose claim is mounted elsewhere. */
const WAITS_MS = 60_000;

/** What one reconciliation has read. */
interface Seen {
  readonly pods: ReadonlyMap<string, WorkerPod>;
  /** Pods that run, by namespace. */
  readonly running: Map<string, number>;
}

/** All state is in the status of jobs and Checkpoints, so that another leader goes on; but for when to try again. */
export class ConversionController {
  readonly #parts: RetentionParts;
  readonly #writes: CheckpointWrites;
  readonly #places: ClaimPlaces;
  /** By UID of the converted Checkpoint, in monotonic milliseconds. */
  readonly #notBefore = new Map<string, number>();
  /** Pods can be there: after a change of leader, and as long as the last list had some. */
  #mayHavePods = true;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    this.#writes = new CheckpointWrites(parts);
    this.#places = new ClaimPlaces(parts);
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#writes.attempt(() => this.reconcile());
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
    }
  }

  /** Takes each conversion one step further. A failure affects its own checkpoint alone. */
  async reconcile(): Promise<void> {
    const { cache } = this.#parts;
    const nowMs = this.#parts.clock.monotonicMs();
    for (const [uid, atMs] of this.#notBefore) if (atMs < nowMs) this.#notBefore.delete(uid);
    const checkpoints = cache.checkpoints.all();
    for (const job of cache.jobs.all())
      if (job.status?.conversion?.wantedSince !== undefined)
        await this.#writes.attempt(() => this.#create(job, checkpoints));
    const byNamespace = Map.groupBy(
      checkpoints.filter(({ spec }) => spec.convertedFrom !== undefined),
      ({ metadata }) => metadata.namespace ?? '',
    );
    let seen: Seen | undefined;
    for (const [namespace, converted] of byNamespace) {
      const view = this.#cachedView(namespace, checkpoints);
      const steps = this.#stepsOf(converted, view);
      if (!this.#mayHavePods && steps.every(({ step }) => step === 'Keep')) continue;
      seen ??= await this.#readPods();
      for (const { one, step } of steps) {
        const pods = seen;
        await this.#writes.attempt(() => this.#advance(one, step, pods));
      }
    }
  }

  /** Makes the Checkpoint of the converted save, before anything is written to storage. */
  async #create(job: TrainingJob & KubeObject, checkpoints: readonly CheckpointObject[]): Promise<void> {
    const { checkpoint = '', converted = '', kind = '' } = job.status?.conversion ?? {};
    const { namespace } = job.metadata;
    const ofName = (name: string) =>
      checkpoints.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    const source = ofName(checkpoint);
    const format = conversionFormat(kind);
    if (source?.spec.jobUid !== job.metadata.uid || !isOwnSave(source.spec) || format === undefined) return;
    if (ofName(converted) !== undefined || !isWantedBy(job, { metadata: { name: converted, uid: '' } })) return;
    const body = {
      apiVersion: API_GROUP_VERSION,
      kind: 'Checkpoint',
      metadata: { name: converted, ...(namespace === undefined ? {} : { namespace }) },
      spec: convertedSpec(source, kind, format),
    };
    try {
      const made = await this.#parts.client.create(checkpointsPath({ namespace }), body);
      this.#parts.cache.checkpoints.remember('', made as unknown as CheckpointObject);
    } catch (error) {
      // The watch has not brought it yet, or another program made one of that name: the job says so.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  #stepsOf(
    converted: readonly CheckpointObject[],
    view: RetentionView,
  ): readonly { readonly one: CheckpointObject; readonly step: ConversionStep }[] {
    const uses = usesOf(view);
    const jobs = new Map(view.jobs.map((job) => [job.metadata.uid, job]));
    const uids = new Set(view.checkpoints.map(({ metadata }) => metadata.uid));
    const now = this.#parts.clock.now();
    return converted
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((one) => {
        const { uid = '', jobUid = '' } = one.spec.convertedFrom ?? {};
        const about = {
          job: jobs.get(jobUid),
          hasSource: uids.has(uid),
          uses: otherUsesOf(uses, one.metadata.name),
          now,
        };
        return { one, step: conversionStep(one, about) };
      });
  }

  async #advance(one: CheckpointObject, step: ConversionStep, seen: Seen): Promise<void> {
    const at = this.#parts.clock.now().toISOString();
    const pod = podOf(one, 'convert', seen);
    // The status says how it ended, or that it is to go.
    if (step !== 'Run' && pod !== undefined) await this.#deletePod(pod);
    switch (step) {
      case 'Keep':
        return;
      case 'Order':
        await this.#writes.write(one, withOrdered(one, at));
        return;
      case 'Run':
        return await (pod === undefined ? this.#start(one, seen) : this.#observe(one, pod));
      case 'Drop':
        return await this.#drop(one, at);
      case 'Clean':
        return await this.#clean(one, seen);
    }
  }

  async #start(one: CheckpointObject, seen: Seen): Promise<void> {
    const source = this.#sourceOf(one);
    if (source === undefined || !this.#isDue(one) || !hasRoom(one, seen)) return;
    const place = await this.#places.placeOf(source, { access: 'write' });
    if ('waits' in place) {
      this.#delay(one, WAITS_MS);
      return await this.#writes.writeIfNew(
        one,
        withHindrance(one, `${place.waits}; the conversion waits until it is free`),
      );
    }
    await this.#createPod(one, conversionPod(one, source, this.#contextOf(one, place.node)), seen);
  }

  async #observe(one: CheckpointObject, pod: WorkerPod): Promise<void> {
    const now = this.#parts.clock.now();
    const outcome = outcomeOf(pod, now, (json) => ConversionAnswer.safeParse(json).data);
    if (outcome === 'running') return;
    const status =
      'problem' in outcome
        ? withoutAnswer(one, outcome.problem, now.toISOString())
        : withAnswer(one, outcome.answer, now.toISOString());
    if ('problem' in outcome) this.#delay(one, WAITS_MS);
    await this.#writes.write(one, status);
    this.#announceEnd(one, status);
    // After the status, so that a crash in between repeats the deletion and not the conversion.
    await this.#deletePod(pod);
  }

  #announceEnd(one: CheckpointObject, { conversion }: NonNullable<Checkpoint['status']>): void {
    const { checkpoint = '', step = 0 } = one.spec.convertedFrom ?? {};
    const what = `checkpoint ${checkpoint} of step ${step}`;
    const { convertedAt, failedAt, problem = '', seconds = 0 } = conversion ?? {};
    if (convertedAt !== undefined)
      this.#announce(
        one,
        'CheckpointConverted',
        `A pod converted ${what} to ${one.metadata.name} in ${seconds.toFixed(1)} s.`,
      );
    if (failedAt !== undefined)
      this.#announce(
        one,
        'ConversionFailed',
        `The conversion of ${what} failed: ${problem}. The job goes on without it, if it can.`,
      );
  }

  /** Decides by what the API server holds now: a gang can have begun to use it, or a job to wait for it. */
  async #drop(one: CheckpointObject, at: string): Promise<void> {
    if (!this.#isDue(one)) return;
    const view = await readView(this.#parts.client, one.metadata.namespace ?? '');
    const fresh = view.checkpoints.find(({ metadata }) => metadata.uid === one.metadata.uid) as
      CheckpointObject | undefined;
    if (fresh === undefined) return;
    const [decided] = this.#stepsOf([fresh], view);
    if (decided?.step === 'Drop') await this.#writes.write(fresh, withDropped(fresh, at));
    else this.#delay(one, WAITS_MS);
  }

  /** Deletes the files, and then the object. */
  async #clean(one: CheckpointObject, seen: Seen): Promise<void> {
    const pod = podOf(one, 'clean', seen);
    if (pod !== undefined) return await this.#observeCleaning(one, pod);
    if (!this.#isDue(one) || !hasRoom(one, seen)) return;
    const place = await this.#places.placeOf(one, { access: 'write' });
    if ('waits' in place) return this.#delay(one, WAITS_MS);
    await this.#createPod(one, cleaningPod(one, this.#contextOf(one, place.node)), seen);
  }

  async #observeCleaning(one: CheckpointObject, pod: WorkerPod): Promise<void> {
    const outcome = outcomeOf(pod, this.#parts.clock.now(), (json) => DeletionAnswer.safeParse(json).data);
    if (outcome === 'running') return;
    if ('answer' in outcome && outcome.answer.outcome === 'Deleted') {
      const { name, namespace, uid } = one.metadata;
      await this.#writes.deleteIfPresent(checkpointsPath({ namespace, name }), uid);
      if (uid !== undefined) this.#parts.cache.checkpoints.rememberGone(uid);
    } else {
      const why = 'answer' in outcome ? (outcome.answer.why ?? 'it gives no reason') : outcome.problem;
      this.#delay(one, 60 * WAITS_MS);
      await this.#writes.writeIfNew(one, withHindrance(one, `its files are not deleted: ${why}`));
    }
    await this.#deletePod(pod);
  }

  async #createPod(one: CheckpointObject, pod: Readonly<Record<string, unknown>>, seen: Seen): Promise<void> {
    try {
      await this.#parts.client.create(podsPath({ namespace: one.metadata.namespace }), pod);
      this.#mayHavePods = true;
      count(one, seen);
    } catch (error) {
      if (isAlreadyExists(error)) return this.#delay(one, WAITS_MS);
      if (!isRefusal(error)) throw error;
      this.#delay(one, WAITS_MS);
      await this.#writes.writeIfNew(
        one,
        withHindrance(one, `the cluster rejects its pod: ${(error as Error).message}`),
      );
    }
  }

  #contextOf(one: CheckpointObject, node: string | undefined): WorkerContext {
    const job = this.#jobOf(one);
    const newest = job && this.#parts.cache.placements.ofJob(job).toSorted((a, b) => b.spec.epoch - a.spec.epoch)[0];
    return { ...this.#parts.pods, job, runtime: newest?.spec.runtime, node };
  }

  #sourceOf(one: CheckpointObject): CheckpointObject | undefined {
    return this.#parts.cache.checkpoints.all().find((source) => isConvertedFrom(one, source));
  }

  #jobOf({ spec, metadata: { namespace } }: CheckpointObject): (TrainingJob & KubeObject) | undefined {
    const { jobName = '', jobUid = '' } = spec.convertedFrom ?? {};
    return this.#parts.cache.jobs.get(keyOf({ metadata: { namespace, name: jobName } } as KubeObject), jobUid);
  }

  #announce(one: CheckpointObject, reason: OperatorEvent, note: string): void {
    this.#parts.announce(this.#jobOf(one) ?? one, reason, { about: one.metadata.name, note });
  }

  /** What watches have brought. */
  #cachedView(namespace: string, all: readonly CheckpointObject[]): RetentionView {
    const isHere = ({ metadata }: KubeObject): boolean => (metadata.namespace ?? '') === namespace;
    const jobs = this.#parts.cache.jobs.all().filter(isHere);
    const placements = jobs.flatMap((job) => this.#parts.cache.placements.ofJob(job));
    return { checkpoints: all.filter(isHere), jobs, placements, readByPods: new Set() };
  }

  async #readPods(): Promise<Seen> {
    const selector = { labelSelector: `${LABELS.worker}=${CONVERSION_WORKER}` };
    const { items } = await this.#parts.client.list<WorkerPod>(podsPath(), selector);
    this.#mayHavePods = items.length > 0;
    const active = items.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
    const byNamespace = Map.groupBy(active, ({ metadata }) => metadata.namespace ?? '');
    const running = new Map([...byNamespace].map(([namespace, pods]) => [namespace, pods.length]));
    return { pods: new Map(items.map((pod) => [keyOf(pod), pod])), running };
  }

  async #deletePod({ metadata }: WorkerPod): Promise<void> {
    await this.#writes.deleteIfPresent(podsPath(metadata), metadata.uid);
  }

  #isDue({ metadata: { uid = '' } }: CheckpointObject): boolean {
    return this.#parts.clock.monotonicMs() >= (this.#notBefore.get(uid) ?? 0);
  }

  #delay({ metadata: { uid = '' } }: CheckpointObject, ms: number): void {
    this.#notBefore.set(uid, this.#parts.clock.monotonicMs() + ms);
  }
}

/** The pod of that name, if the Checkpoint owns it. */
function podOf(one: CheckpointObject, task: 'convert' | 'clean', { pods }: Seen): WorkerPod | undefined {
  const { namespace } = one.metadata;
  const pod = pods.get(keyOf({ metadata: { namespace, name: conversionPodName(one, task) } } as KubeObject));
  return pod !== undefined && isOwnedBy(pod, one) ? pod : undefined;
}

function hasRoom({ metadata: { namespace = '' } }: CheckpointObject, { running }: Seen): boolean {
  const all = [...running.values()].reduce((sum, one) => sum + one, 0);
  return all < MOST_IN_ALL && (running.get(namespace) ?? 0) < MOST_IN_NAMESPACE;
}

function count({ metadata: { namespace = '' } }: CheckpointObject, { running }: Seen): void {
  running.set(namespace, (running.get(namespace) ?? 0) + 1);
}
