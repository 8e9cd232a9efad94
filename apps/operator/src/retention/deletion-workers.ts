/** Pods that delete saves: their creation, their answers, and what becomes of the Checkpoint. */
import { ANNOTATIONS, type Checkpoint, DeletionAnswer, DeletionQuestion, LABELS } from '@coxswain/api-types';
import { isAlreadyExists, isRefusal, keyOf, type KubeObject } from '@coxswain/kube';
import { survivorsOf, withAbsence, withDeletionProblem, withDeletionTakenBack } from '@coxswain/lifecycle';
import { checkpointsPath, podsPath } from '../cluster/paths.ts';
import type { CheckpointObject, CheckpointWrites, RetentionParts } from './checkpoint-writes.ts';
import { type ClaimPlace, ClaimPlaces } from '../worker-pods/claim-places.ts';
import { isOwnedBy, outcomeOf, parsed, type WorkerPod } from '../worker-pods/worker-pod.ts';
import { type DeletionContext, DELETION_WORKER, deletionPod, deletionPodName } from './deletion-pod.ts';

/** Pods at once: each deletes from storage that jobs save to. */
const MOST_IN_ALL = 4;
const MOST_IN_NAMESPACE = 1;

/** Pods that run, by namespace. */
export type RunningPods = Map<string, number>;

/** One pod for each checkpoint at most, found by its name. */
export class DeletionWorkers {
  readonly #parts: RetentionParts;
  readonly #writes: CheckpointWrites;
  readonly #places: ClaimPlaces;

  constructor(parts: RetentionParts, writes: CheckpointWrites) {
    this.#parts = parts;
    this.#places = new ClaimPlaces(parts);
    this.#writes = writes;
  }

  /** Observes the pods of deletions that have started, and replaces those that are gone. Returns how many run, by namespace. */
  async continueStarted(started: readonly CheckpointObject[]): Promise<RunningPods> {
    const running = new Map<string, number>();
    if (started.length === 0) return running;
    const selector = { labelSelector: `${LABELS.worker}=${DELETION_WORKER}` };
    const { items } = await this.#parts.client.list<WorkerPod>(podsPath(), selector);
    const pods = new Map(items.map((pod) => [keyOf(pod), pod]));
    const without: CheckpointObject[] = [];
    for (const checkpoint of started) {
      const { namespace } = checkpoint.metadata;
      const pod = pods.get(keyOf({ metadata: { namespace, name: deletionPodName(checkpoint) } } as KubeObject));
      if (pod === undefined || !isOwnedBy(pod, checkpoint)) without.push(checkpoint);
      else
        await this.#writes.attempt(async () => {
          if (!(await this.#observe(checkpoint, pod))) countRunning(running, checkpoint);
        });
    }
    for (const checkpoint of without)
      if (this.#writes.isDue(checkpoint) && hasRoom(checkpoint, running))
        await this.#writes.attempt(async () => {
          if (await this.#restart(checkpoint)) countRunning(running, checkpoint);
        });
    return running;
  }

  /** Returns whether the pod is over: its answer is recorded and it is deleted. */
  async #observe(checkpoint: CheckpointObject, pod: WorkerPod): Promise<boolean> {
    const ended = outcomeOf(pod, this.#parts.clock.now(), (json) => DeletionAnswer.safeParse(json).data);
    if (ended === 'running') return false;
    if ('problem' in ended) await this.#giveUp(checkpoint, ended.problem);
    else await this.#apply(checkpoint, pod, ended.answer);
    // After the status, so that a crash in between repeats the work of the pod and not the deletion of other saves.
    await this.#writes.deleteIfPresent(podsPath(pod.metadata), pod.metadata.uid);
    return true;
  }

  async #apply(checkpoint: CheckpointObject, pod: WorkerPod, answer: DeletionAnswer): Promise<void> {
    if (answer.outcome === 'Deleted') await this.#deleteObject(checkpoint, answer);
    else if (answer.outcome === 'Unfinished') await this.#giveUp(checkpoint, answer.why ?? 'it gives no reason');
    else await this.#takeBack(checkpoint, pod, answer);
  }

  async #deleteObject(checkpoint: CheckpointObject, { files = 0 }: DeletionAnswer): Promise<void> {
    const { name, uid, namespace } = checkpoint.metadata;
    const because = checkpoint.status?.deletion?.because ?? '';
    const note = `Checkpoint ${name} of step ${checkpoint.spec.step} is deleted with ${files} files. ${because}`;
    this.#parts.announce(this.#writes.jobOf(checkpoint) ?? checkpoint, 'CheckpointDeleted', { about: name, note });
    await this.#writes.deleteIfPresent(checkpointsPath({ namespace, name }), uid);
    if (uid !== undefined) this.#parts.cache.checkpoints.rememberGone(uid);
  }

  /** The worker deleted nothing. Saves that it did not find are marked, so that no decision relies on them again. */
  async #takeBack(
    checkpoint: CheckpointObject,
    pod: WorkerPod,
    { absent = [], why = '' }: DeletionAnswer,
  ): Promise<void> {
    const question = questionOf(pod);
    const paths = new Set(absent.flatMap((index) => question?.survivors[index]?.path ?? []));
    const at = this.#parts.clock.now().toISOString();
    for (const other of this.#parts.cache.checkpoints.all())
      if (other.spec.jobUid === checkpoint.spec.jobUid && paths.has(other.spec.path) && other.status !== undefined)
        await this.#writes.write(other, withAbsence(other.status, at));
    const sentence = `Its deletion was taken back: ${why}.${paths.size === 0 ? ' It is decided again in an hour.' : ''}`;
    if (paths.size === 0) this.#writes.delay(checkpoint);
    if (checkpoint.status !== undefined) {
      const back = withDeletionTakenBack(checkpoint.status, sentence);
      const { absent: _found, ...found } = back;
      // A save that was thought to be gone is there.
      await this.#writes.write(checkpoint, question?.isMounted === false && paths.size === 0 ? found : back);
    }
    this.#warn(checkpoint, sentence);
  }

  async #giveUp(checkpoint: CheckpointObject, why: string): Promise<void> {
    this.#writes.delay(checkpoint);
    if (checkpoint.status === undefined) return;
    await this.#writes.writeIfNew(checkpoint, withDeletionProblem(checkpoint.status, why));
    this.#warn(checkpoint, `Its deletion is not complete: ${why}. It is tried again in an hour.`);
  }

  #warn(checkpoint: CheckpointObject, sentence: string): void {
    const { metadata, spec } = checkpoint;
    const note = `Checkpoint ${metadata.name} of step ${spec.step}: ${sentence}`;
    this.#parts.announce(this.#writes.jobOf(checkpoint) ?? checkpoint, 'CheckpointKept', {
      about: metadata.name,
      note,
    });
  }

  /** Where the save can be deleted now. */
  async placeOf(checkpoint: Checkpoint): Promise<ClaimPlace> {
    const place = await this.#places.placeOf(checkpoint, { access: 'write' });
    return 'waits' in place ? { waits: `${place.waits}; the deletion waits until it is free` } : place;
  }

  /** Another pod for a deletion whose pod is gone. */
  async #restart(checkpoint: CheckpointObject): Promise<boolean> {
    const place = await this.placeOf(checkpoint);
    if ('waits' in place) return false;
    const survivors = survivorsOf(checkpoint, this.#parts.cache.checkpoints.all());
    return await this.createPod(checkpoint, survivors, { node: place.node, isAgain: true });
  }

  /** Returns whether the pod was created. */
  async createPod(
    checkpoint: CheckpointObject,
    survivors: readonly Checkpoint[],
    { node, isAgain = false }: { readonly node: string | undefined; readonly isAgain?: boolean },
  ): Promise<boolean> {
    const job = this.#writes.jobOf(checkpoint);
    const newest = job && this.#parts.cache.placements.ofJob(job).toSorted((a, b) => b.spec.epoch - a.spec.epoch)[0];
    const context: DeletionContext = { ...this.#parts.pods, job, runtime: newest?.spec.runtime, node, isAgain };
    try {
      const { namespace } = checkpoint.metadata;
      await this.#parts.client.create(podsPath({ namespace }), deletionPod(checkpoint, survivors, context));
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      if (!isRefusal(error)) throw error;
      await this.#giveUp(checkpoint, `the cluster rejects its pod: ${(error as Error).message}`);
      return false;
    }
  }
}

/** Whether another pod may run in the namespace of the checkpoint. */
export function hasRoom({ metadata: { namespace = '' } }: Checkpoint, running: Readonly<RunningPods>): boolean {
  const all = [...running.values()].reduce((sum, one) => sum + one, 0);
  return all < MOST_IN_ALL && (running.get(namespace) ?? 0) < MOST_IN_NAMESPACE;
}

/** Counts the pod of the checkpoint. */
export function countRunning(running: RunningPods, { metadata: { namespace = '' } }: Checkpoint): void {
  running.set(namespace, (running.get(namespace) ?? 0) + 1);
}

/** What the pod was asked, as the operator wrote it. */
function questionOf({ metadata }: WorkerPod): DeletionQuestion | undefined {
  return parsed(metadata.annotations?.[ANNOTATIONS.deletion], (json) => DeletionQuestion.safeParse(json).data);
}
