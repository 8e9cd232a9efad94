/** In which namespaces does a quota of pod objects refuse pods, so that ended pods stand in the way? */

/** As the API server words it: `exceeded quota: few, requested: count/pods=1, used: count/pods=8, limited: count/pods=8`. */
const QUOTA_OF_POD_OBJECTS = /exceeded quota: .*requested: [^:]*count\/pods=/s;

/** Whether the refusal of a pod names a quota that counts ended pods too. Quotas of compute and of `pods` do not. */
export function isQuotaOfPodObjects(message: string): boolean {
  return QUOTA_OF_POD_OBJECTS.test(message);
}

/** How many pod objects the quota of a refusal allows, ended ones included; 0 if the refusal does not say so. */
export function limitOfPodObjects(message: string): number {
  return Number(/limited: [^:]*count\/pods=(\d{1,9})\b/.exec(message)?.[1] ?? 0);
}

/** Longer than the time between two reconciliations of any job, so that every job of the namespace removes its ended pods. */
const SHORT_MS = 600_000;

/** Namespaces in which such a quota has refused a pod of a job. Losing this memory is harmless: the next refusal is as good. */
export class PodQuotas {
  readonly #refusedAtMs = new Map<string, number>();

  /** Records the refusal of a pod, with the API server's message. */
  noteRefusal(namespace: string, message: string, nowMs: number): void {
    for (const [name, atMs] of this.#refusedAtMs) if (nowMs - atMs >= SHORT_MS) this.#refusedAtMs.delete(name);
    if (isQuotaOfPodObjects(message)) this.#refusedAtMs.set(namespace, nowMs);
  }

  /** Whether ended pods of the namespace have to go. */
  isShort(namespace: string, nowMs: number): boolean {
    const atMs = this.#refusedAtMs.get(namespace);
    return atMs !== undefined && nowMs - atMs < SHORT_MS;
  }
}
