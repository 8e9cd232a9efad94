import { setTimeout as delay } from 'node:timers/promises';
import type { Pod, PodStatus } from '../kube/kube-types.ts';
import { STRATEGIC_MERGE_PATCH, type NodeApi } from '../kube/node-api.ts';

const RETRY_MS = 500;

/**
 * Carries the newest status of one pod to the apiserver: one write at a time, none that changes nothing, again and
 * again until it is taken. Every write carries the UID, so that it never reaches a later pod of the same name.
 */
export class StatusReporter {
  readonly #api: NodeApi;
  readonly #path: string;
  readonly #uid: string;
  readonly #gone: AbortSignal;
  #wanted: string | undefined;
  #taken: string | undefined;
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;

  constructor(api: NodeApi, pod: Pod, gone: AbortSignal) {
    const { namespace, name, uid } = pod.metadata;
    this.#api = api;
    this.#path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    this.#uid = uid;
    this.#gone = gone;
  }

  report(status: PodStatus): void {
    this.#wanted = JSON.stringify({ metadata: { uid: this.#uid }, status: withoutRemains(status) });
    if (!this.#isWorking) {
      this.#isWorking = true;
      this.#work = this.#deliver().finally(() => (this.#isWorking = false));
    }
  }

  /** Resolves when the newest status has been taken, or the pod is gone. */
  settled(): Promise<void> {
    return this.#work;
  }

  /** Removes the object now that nothing of the pod runs any more. */
  async deleteObject(): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: this.#uid },
    };
    await this.#untilTaken({ method: 'DELETE', path: this.#path, body });
  }

  async #deliver(): Promise<void> {
    while (this.#wanted !== this.#taken && !this.#gone.aborted) {
      const wanted = this.#wanted;
      await this.#tryOnce(wanted ?? '{}', () => (this.#taken = wanted));
    }
  }

  async #tryOnce(text: string, taken: () => void): Promise<void> {
    const call = {
      method: 'PATCH',
      path: `${this.#path}/status`,
      body: JSON.parse(text) as unknown,
      contentType: STRATEGIC_MERGE_PATCH,
    } as const;
    const status = await this.#api.request(call).then(
      (answer) => answer.status,
      () => 0,
    );
    if (isFinal(status)) {
      taken();
      return;
    }
    await this.#pause();
  }

  async #untilTaken(call: Parameters<NodeApi['request']>[0]): Promise<void> {
    while (!this.#gone.aborted) {
      const status = await this.#api.request(call).then(
        (answer) => answer.status,
        () => 0,
      );
      if (isFinal(status)) {
        return;
      }
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    await delay(RETRY_MS, undefined, { signal: this.#gone, ref: false }).catch(() => undefined);
  }
}

/** Taken, or no longer wanted: 404 and 409 say that the pod with this UID is gone. */
function isFinal(status: number): boolean {
  return (status >= 200 && status < 300) || status === 404 || status === 409;
}

/** A strategic merge patch keeps the fields of a condition that it does not name, so absent ones are named. */
function withoutRemains(status: PodStatus): object {
  const conditions = (status.conditions ?? []).map((condition) => ({ reason: null, message: null, ...condition }));
  return { ...status, conditions };
}
