/** Verifies checkpoints in pods of their own, on request, in doubt and in the background, and records what they find. */
import {
  isFinished,
  ANNOTATIONS,
  type Checkpoint,
  type CheckpointVerification,
  LABELS,
  type TrainingJob,
  WorkerAnswer,
} from '@coxswain/api-types';
import { isFoundBroken } from '@coxswain/checkpoint';
import { isAlreadyExists, isConflict, isNotFound, isRefusal, sleep, type Clock, type KubeClient } from '@coxswain/kube';
import type { KubeObject } from '@coxswain/kube';
import {
  backgroundLevel,
  backgroundVerifications,
  doesClear,
  isFoundAgain,
  verificationsInTurn,
  type WantedVerification,
  wantedVerifications,
  withUndone,
  withVerdict,
} from '@coxswain/lifecycle';
import { safeText } from '@coxswain/safe-text';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { checkpointsPath, podsPath } from '../cluster/paths.ts';
import { type ClaimPlace, ClaimPlaces } from '../worker-pods/claim-places.ts';
import type { WorkerContext } from '../worker-pods/worker-context.ts';
import { isOwnedBy, nodeOf, outcomeOf, type WorkerPod } from '../worker-pods/worker-pod.ts';
import { workerPod, workerPodName } from './verification-pod.ts';

/** Parts of the controller. `client` must reject writes while this process does not lead. */
export interface VerificationControllerParts {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'create' | 'delete' | 'replace'>;
  readonly cache: Pick<ClusterCache, 'checkpoints' | 'jobs' | 'placements' | 'pods'>;
  readonly clock: Clock;
  readonly pods: Pick<WorkerContext, 'launcherImage' | 'user' | 'workers'>;
  /** Bytes that workers may read in an hour before none is started in the background; 0: none is. */
  readonly backgroundBytesPerHour: number;
  /** Called when the only node that found other content finds all bytes right. */
  readonly onCleared: (job: TrainingJob, note: string) => void;
  readonly onError: (error: unknown) => void;
}

const INTERVAL_MS = 10_000;
/** Between two tries of the same checkpoint that came to nothing. */
const AGAIN_MS = 3_600_000;
/** The same if no user waits for it: in the background, and on the node that found the checkpoint broken. */
const AGAIN_RARELY_MS = 86_400_000;
/** Between two looks at a claim that is mounted elsewhere, or at a pod of another program that has the name. */
const WAITS_MS = 60_000;
const WAITS_IN_BACKGROUND_MS = 600_000;
const MOST_REASON_CHARACTERS = 512;

type CheckpointObject = Checkpoint & KubeObject;

/** One pod for each checkpoint at most, found by its name. No state is kept but when to try again, so that another leader goes on. */
export class VerificationController {
  readonly #parts: VerificationControllerParts;
  /** By {@link tryKey}, and by {@link backgroundKey}, in monotonic milliseconds. */
  readonly #notBefore = new Map<string, number>();
  /** By namespace: a number that grows. */
  readonly #lastTurns = new Map<string, number>();
  readonly #places: ClaimPlaces;
  /** Pods can be there: after a change of leader, and as long as the last list had some. */
  #mayHavePods = true;

  constructor(parts: VerificationControllerParts) {
    this.#parts = parts;
    this.#places = new ClaimPlaces(parts);
  }

  /** Reconciles at intervals until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#attempt(() => this.reconcile());
      await sleep(this.#parts.clock, INTERVAL_MS, signal);
    }
  }

  /** Records what pods found, and starts those that are wanted. A failure affects its own checkpoint alone. */
  async reconcile(): Promise<void> {
    const { client, cache } = this.#parts;
    const checkpoints = cache.checkpoints.all();
    // A quiet cluster is asked nothing.
    if (!this.#mayHavePods && this.#wanted(checkpoints).length === 0) return;
    const { items } = await client.list<WorkerPod>(podsPath(), { labelSelector: `${LABELS.worker}=verify` });
    const nowMs = this.#parts.clock.monotonicMs();
    for (const [key, atMs] of this.#notBefore) if (atMs < nowMs) this.#notBefore.delete(key);
    const pods = new Map(items.map((pod) => [keyOf(pod.metadata), pod]));
    this.#mayHavePods = items.length > 0;
    const running = new Map<string, WantedVerification['why'][]>();
    for (const checkpoint of checkpoints) {
      const pod = pods.get(podKey(checkpoint));
      if (pod === undefined || !isOwnedBy(pod, checkpoint)) continue;
      await this.#attempt(async () => {
        if (await this.#observe(checkpoint, pod)) return;
        const wanted = this.#wantedOf(checkpoint);
        if (await this.#givesWay(wanted, pod)) return;
        const { namespace = '' } = checkpoint.metadata;
        running.set(namespace, [...(running.get(namespace) ?? []), wanted.why]);
      });
    }
    const waiting = this.#wanted(checkpoints).filter(({ checkpoint }) => !pods.has(podKey(checkpoint)));
    await this.#startInTurn(waiting, running);
  }

  #wanted(checkpoints: readonly CheckpointObject[]): readonly WantedVerification[] {
    const wanted = wantedVerifications(checkpoints, this.#nowMs());
    const asked = new Set(wanted.map(({ checkpoint }) => checkpoint));
    const background = backgroundVerifications(checkpoints, {
      bytesPerHour: this.#parts.backgroundBytesPerHour,
      nowMs: this.#nowMs(),
      hasJob: (checkpoint) => this.#livingJobOf(checkpoint) !== undefined,
    });
    return [...wanted, ...background.filter(({ checkpoint }) => !asked.has(checkpoint as CheckpointObject))].filter(
      (one) => this.#isDue(one),
    );
  }

  /** Why a checkpoint has a pod. What no user asked for, and is not in doubt, is read in the background. */
  #wantedOf(checkpoint: CheckpointObject): WantedVerification {
    // A conversion that failed is another Checkpoint, and casts doubt on this one.
    const wanted = wantedVerifications(this.#parts.cache.checkpoints.all(), this.#nowMs()).find(
      (one) => one.checkpoint.metadata.uid === checkpoint.metadata.uid,
    );
    if (wanted !== undefined) return { ...wanted, checkpoint };
    return { checkpoint, level: backgroundLevel(checkpoint), why: 'Background', otherThan: [] };
  }

  #nowMs(): number {
    return this.#parts.clock.now().getTime();
  }

  #isDue(wanted: WantedVerification): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    const keys = wanted.why === 'Background' ? [tryKey(wanted), backgroundKey(wanted)] : [tryKey(wanted)];
    return keys.every((key) => nowMs >= (this.#notBefore.get(key) ?? 0));
  }

  async #startInTurn(
    waiting: readonly WantedVerification[],
    running: ReadonlyMap<string, WantedVerification['why'][]>,
  ): Promise<void> {
    const turns = verificationsInTurn(waiting, {
      running,
      lastTurns: this.#lastTurns,
      isWaitedFor: ({ checkpoint }) => {
        const job = this.#livingJobOf(checkpoint);
        return job !== undefined && !isFinished(job);
      },
    });
    for (let turn = turns.next(); turn.done !== true;) {
      const wanted = turn.value;
      let isStarted = false;
      await this.#attempt(async () => {
        isStarted = this.#isDue(wanted) && (await this.#start(wanted));
      });
      if (isStarted) this.#takeTurn(wanted);
      turn = turns.next(isStarted);
    }
  }

  #takeTurn({ checkpoint }: WantedVerification): void {
    this.#lastTurns.set(checkpoint.metadata.namespace ?? '', 1 + Math.max(0, ...this.#lastTurns.values()));
  }

  /** Returns whether the pod is over: its answer is recorded and it is deleted. */
  async #observe(checkpoint: CheckpointObject, pod: WorkerPod): Promise<boolean> {
    const outcome = outcomeOf(pod, this.#parts.clock.now(), (json) => WorkerAnswer.safeParse(json).data);
    if (outcome === 'running') return false;
    if ('answer' in outcome && isRecorded(checkpoint, pod)) {
      await this.#delete(pod);
      return true;
    }
    // Before it is recorded: what is wanted after that, such as the view of another node, is another try.
    this.#retryLater(this.#wantedOf(checkpoint));
    if ('problem' in outcome) await this.#giveUp(checkpoint, outcome.problem);
    else await this.#record(checkpoint, pod, outcome.answer);
    // After the status, so that a crash in between repeats the reading and not the verification.
    await this.#delete(pod);
    return true;
  }

  async #record(checkpoint: CheckpointObject, pod: WorkerPod, answer: WorkerAnswer): Promise<void> {
    const { verification, contents, files, unread } = answer;
    if (verification === undefined)
      return await this.#giveUp(checkpoint, safeText(unread ?? 'the worker says nothing', MOST_REASON_CHARACTERS));
    const node = nodeOf(pod);
    const seen = {
      ...verification,
      by: 'Worker' as const,
      at: this.#parts.clock.now().toISOString(),
      ...(node === undefined ? {} : { node }),
      findings: verification.findings.map(({ kind, message }) => ({ kind, message: safeText(message) })),
    };
    const epoch = Math.max(checkpoint.spec.epoch, this.#jobOf(checkpoint)?.status?.epoch ?? 0);
    await this.#write(checkpoint, withVerdict(checkpoint, { verification: seen, contents, files, epoch }));
    this.#reportCleared(checkpoint, seen);
  }

  /** An Event of the job for what the verification takes back. */
  #reportCleared(checkpoint: CheckpointObject, seen: CheckpointVerification): void {
    const job = this.#livingJobOf(checkpoint);
    const { metadata, status } = checkpoint;
    if (job === undefined || status === undefined) return;
    if (doesClear(status, seen))
      this.#parts.onCleared(
        job,
        `Node ${seen.node ?? ''} found other content in ${metadata.name}. It has read all bytes again, at least an hour later, and they are right. The checkpoint is no longer suspect.`,
      );
    if (isFoundAgain(status, seen))
      this.#parts.onCleared(
        job,
        `The files of ${metadata.name}, which a pod did not find before, are there: a verification at ${seen.level} finds them sound. The checkpoint counts again.`,
      );
  }

  async #giveUp(checkpoint: CheckpointObject, why: string, kind: 'Unread' | 'Rejected' = 'Unread'): Promise<void> {
    const wanted = this.#wantedOf(checkpoint);
    const isBackground = wanted.why === 'Background';
    if (isBackground) this.#notBefore.set(backgroundKey(wanted), this.#parts.clock.monotonicMs() + AGAIN_MS);
    // Of what no user asked for, only what a pod could not read is reported.
    if (isBackground && kind === 'Rejected') return;
    const status = withUndone(checkpoint, `${why}. It is tried again in ${isBackground ? 'a day' : 'an hour'}.`);
    if (status !== undefined) await this.#write(checkpoint, status);
  }

  #retryLater(wanted: WantedVerification): void {
    // It ends only when the same node finds it sound, and each try reads all bytes.
    const isRepeated = wanted.why === 'Suspected' && wanted.otherThan.length === 0 && isFoundBroken(wanted.checkpoint);
    const afterMs = wanted.why === 'Background' || isRepeated ? AGAIN_RARELY_MS : AGAIN_MS;
    this.#notBefore.set(tryKey(wanted), this.#parts.clock.monotonicMs() + afterMs);
  }

  /** Returns whether the pod was created. */
  async #start(wanted: WantedVerification): Promise<boolean> {
    const { checkpoint } = wanted;
    const { namespace } = checkpoint.metadata;
    const place = await this.#placeOf(wanted);
    if ('waits' in place) {
      await this.#wait(wanted, place.waits);
      return false;
    }
    const job = this.#jobOf(checkpoint);
    const newest = job && this.#parts.cache.placements.ofJob(job).toSorted((a, b) => b.spec.epoch - a.spec.epoch)[0];
    const context: WorkerContext = { ...this.#parts.pods, job, runtime: newest?.spec.runtime, node: place.node };
    try {
      await this.#parts.client.create(podsPath({ namespace }), workerPod(wanted, context));
      this.#mayHavePods = true;
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) {
        // Another program's pod can keep the name for ever.
        this.#notBefore.set(tryKey(wanted), this.#parts.clock.monotonicMs() + WAITS_MS);
        return false;
      }
      if (!isRefusal(error)) throw error;
      this.#retryLater(wanted);
      await this.#giveUp(checkpoint, `the cluster rejects its pod: ${(error as Error).message}`, 'Rejected');
      return false;
    }
  }

  /** A save of a claim that a job has begun to use is read later. Returns whether its pod is deleted. */
  async #givesWay(wanted: WantedVerification, pod: WorkerPod): Promise<boolean> {
    if (wanted.why !== 'Background') return false;
    const place = await this.#placeOf(wanted);
    if (!('waits' in place)) return false;
    await this.#wait(wanted, place.waits);
    await this.#delete(pod);
    return true;
  }

  #placeOf({ checkpoint, otherThan, why }: WantedVerification): Promise<ClaimPlace> {
    // A pod that holds a claim on one node keeps the pods of a job from another.
    return this.#places.placeOf(checkpoint, { access: 'read', otherThan, yieldsToJobs: why === 'Background' });
  }

  async #wait(wanted: WantedVerification, why: string): Promise<void> {
    const nowMs = this.#parts.clock.monotonicMs();
    if (wanted.why === 'Background') {
      this.#notBefore.set(backgroundKey(wanted), nowMs + WAITS_IN_BACKGROUND_MS);
      return;
    }
    this.#notBefore.set(tryKey(wanted), nowMs + WAITS_MS);
    const status = withUndone(wanted.checkpoint, `${why}; the verification waits until it is free.`);
    if (status !== undefined) await this.#write(wanted.checkpoint, status);
  }

  /** The job that saved the checkpoint, unless it is gone or being deleted. */
  #livingJobOf(checkpoint: Checkpoint): TrainingJob | undefined {
    const job = this.#jobOf(checkpoint);
    return job?.metadata.deletionTimestamp === undefined ? job : undefined;
  }

  #jobOf({ spec, metadata }: CheckpointObject | Checkpoint): (TrainingJob & KubeObject) | undefined {
    const key = keyOf({ name: spec.jobName, namespace: metadata.namespace });
    return this.#parts.cache.jobs.get(key, spec.jobUid);
  }

  async #write(checkpoint: Checkpoint, status: NonNullable<Checkpoint['status']>): Promise<void> {
    const { name, namespace, uid, resourceVersion = '' } = checkpoint.metadata;
    const metadata = { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) };
    const written = await this.#parts.client.replace(
      checkpointsPath({ namespace, name }),
      { ...checkpoint, metadata, status },
      { subresource: 'status' },
    );
    this.#parts.cache.checkpoints.remember(checkpoint.spec.jobUid, written as unknown as CheckpointObject);
  }

  async #delete({ metadata }: WorkerPod): Promise<void> {
    const { name, namespace, uid = '' } = metadata;
    try {
      await this.#parts.client.delete(podsPath({ namespace, name }), { uid });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The object has changed meanwhile; the next reconcile reads it again.
      if (!isConflict(error)) this.#parts.onError(error);
    }
  }
}

function keyOf({ namespace, name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${namespace ?? ''}/${name}`;
}

/** A verification that is tried once an hour; one that is asked for anew, or of another node, is another. */
function tryKey({ checkpoint, level, otherThan }: WantedVerification): string {
  const { uid, annotations } = checkpoint.metadata;
  return [uid, level, annotations?.[ANNOTATIONS.verify] ?? '', ...otherThan].join(' ');
}

/** In the background, all saves of a claim wait after one that came to nothing: the quota or the storage is the likely reason. */
function backgroundKey({ checkpoint }: WantedVerification): string {
  return `background ${checkpoint.metadata.namespace ?? ''} ${checkpoint.spec.claimName}`;
}

function podKey(checkpoint: Checkpoint): string {
  return keyOf({ ...checkpoint.metadata, name: workerPodName(checkpoint) });
}

/** Whether an operator that ended before it deleted the pod has written its verdict: a second one would count as another verification. */
function isRecorded({ status }: Checkpoint, pod: WorkerPod): boolean {
  const { verification } = status ?? {};
  if (verification?.by !== 'Worker' || verification.node !== nodeOf(pod)) return false;
  return Date.parse(verification.at) >= Date.parse(pod.metadata.creationTimestamp ?? '');
}
