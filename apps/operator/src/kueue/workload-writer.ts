import type { TrainingJob } from '@coxswain/api-types';
import { isAlreadyExists, isNotFound, type KubeClient, type KubeObject } from '@coxswain/kube';
import {
  answerPatch,
  changePatch,
  fewerPodsPatch,
  finishPatch,
  holdPatch,
  type GangRequest,
  KUEUE_LABELS,
  podsReadyPatch,
  queueNameOf,
  type QuotaWrite,
  releasePatch,
  sliceManifest,
  WORKLOAD_FINALIZER,
  workloadManifest,
  type WorkloadPriority,
} from '@coxswain/scheduling';
import { kueuePath } from '../cluster/paths.ts';
import { withoutFinalizer } from '../cluster/without-finalizer.ts';

/** The job names a WorkloadPriorityClass that does not exist. */
export class MissingPriorityError extends Error {}

/** A write to the Workload of that name, as it was read. */
interface WorkloadWrite {
  readonly namespace: string | undefined;
  readonly name: string;
  /** undefined: there is none. */
  readonly object: KubeObject | undefined;
  readonly write: QuotaWrite | { readonly kind: 'createSlice' | 'hold' | 'remove' };
  /** Absent: nothing is asked for. */
  readonly asks?: { readonly job: TrainingJob; readonly request: GangRequest };
}

interface WorkloadWriterParts {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'patch' | 'delete'>;
  readonly clock: { now(): Date };
}

/** Performs the writes that `decideQuota` decides. Each carries UID and resourceVersion of what was read, so that it fails if the Workload has changed since. */
export class WorkloadWriter {
  readonly #parts: WorkloadWriterParts;

  constructor(parts: WorkloadWriterParts) {
    this.#parts = parts;
  }

  /** Rejects if the server does, and with MissingPriorityError. */
  async write(about: WorkloadWrite): Promise<void> {
    const { object, write, asks } = about;
    if (write.kind === 'create') return asks === undefined ? undefined : this.#create(about, asks);
    if (object === undefined) return;
    const { client, clock } = this.#parts;
    const path = kueuePath('workloads', about);
    const status = { type: 'merge', subresource: 'status' } as const;
    switch (write.kind) {
      case 'change':
        if (asks !== undefined) await this.#change(path, { metadata: object.metadata }, asks);
        return;
      case 'shrink':
        if (asks !== undefined) await client.patch(path, fewerPodsPatch(object, asks.request), { type: 'merge' });
        return;
      case 'createSlice':
        if (asks !== undefined) await this.#createSlice(about, asks);
        return;
      case 'hold':
        await client.patch(path, holdPatch(object), { type: 'merge' });
        return;
      case 'remove':
        await this.#remove(path, object);
        return;
      case 'release':
        await client.patch(path, releasePatch(object, clock.now()), status);
        return;
      case 'finish':
        await client.patch(path, finishPatch(object, write.outcome, clock.now()), status);
        return;
      case 'podsReady':
        await client.patch(path, podsReadyPatch(object, write.areReady, clock.now()), status);
        return;
      case 'answer':
        await client.patch(path, answerPatch(object, write, clock.now()), status);
        return;
      case 'delete': {
        const { uid = '', resourceVersion = '' } = object.metadata;
        await client.delete(path, { uid, resourceVersion });
        return;
      }
      case 'takeFinalizer':
        await client.patch(path, withoutFinalizer(object, WORKLOAD_FINALIZER), { type: 'json' });
    }
  }

  /** With POST: an apply would merge silently into an object of somebody else. */
  async #create({ namespace }: WorkloadWrite, asks: NonNullable<WorkloadWrite['asks']>): Promise<void> {
    const manifest = workloadManifest(await this.#requestOf(asks));
    try {
      await this.#parts.client.create(kueuePath('workloads', { namespace }), manifest, { fieldValidation: 'Strict' });
    } catch (error) {
      // Created by us with a lost response, or by somebody else: the next read shows it.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async #createSlice({ namespace, name }: WorkloadWrite, asks: NonNullable<WorkloadWrite['asks']>): Promise<void> {
    const manifest = sliceManifest({ ...(await this.#requestOf(asks)), replaces: { name } });
    try {
      await this.#parts.client.create(kueuePath('workloads', { namespace }), manifest, { fieldValidation: 'Strict' });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** One that waits has no finalizer; one whose place was taken holds no quota. */
  async #remove(path: string, object: KubeObject): Promise<void> {
    const { metadata } = object;
    const { uid = '', resourceVersion = '', deletionTimestamp } = metadata;
    const { client } = this.#parts;
    if (deletionTimestamp === undefined) await client.delete(path, { uid, resourceVersion });
    const isHeld = metadata.finalizers?.includes(WORKLOAD_FINALIZER) === true;
    if (isHeld) await client.patch(path, withoutFinalizer(object, WORKLOAD_FINALIZER), { type: 'json' });
  }

  async #change(
    path: string,
    { metadata }: Pick<KubeObject, 'metadata'>,
    asks: NonNullable<WorkloadWrite['asks']>,
  ): Promise<void> {
    const { uid = '', resourceVersion = '' } = metadata;
    const body = changePatch({ uid, resourceVersion }, await this.#requestOf(asks));
    await this.#parts.client.patch(path, body, { type: 'merge' });
  }

  async #requestOf({
    job,
    request,
  }: NonNullable<WorkloadWrite['asks']>): Promise<Parameters<typeof workloadManifest>[0]> {
    return { job, request, queueName: queueNameOf(job) ?? '', priority: await this.#priorityOf(job) };
  }

  async #priorityOf({ metadata, status }: TrainingJob): Promise<WorkloadPriority> {
    const named = metadata.labels?.[KUEUE_LABELS.priorityClass];
    if (named !== undefined && named !== '') return this.#readPriority(named);
    const { className, value = 0 } = status?.priority ?? {};
    return className === undefined ? { value } : { value, class: { kind: 'PriorityClass', name: className } };
  }

  async #readPriority(name: string): Promise<WorkloadPriority> {
    try {
      const found = await this.#parts.client.get<{ value?: unknown }>(kueuePath('workloadpriorityclasses', { name }));
      return {
        value: typeof found.value === 'number' ? found.value : 0,
        class: { kind: 'WorkloadPriorityClass', name },
      };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      throw new MissingPriorityError(
        `WorkloadPriorityClass ${name} (label ${KUEUE_LABELS.priorityClass}) does not exist; create it or name another one.`,
      );
    }
  }
}
