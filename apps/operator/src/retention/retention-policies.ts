import { CheckpointRetention, type TrainingJob } from '@coxswain/api-types';
import { isNotFound, type KubeClient } from '@coxswain/kube';
import { runtimePath } from '../cluster/paths.ts';

/** Age at which a runtime is read again before a decision that deletes nothing. */
const KNOWN_MS = 30_000;

interface Known {
  readonly policy: CheckpointRetention | undefined;
  readonly atMs: number;
}

/** The retention policy of jobs: their own, or else that of their runtime. A policy that cannot be read counts as none. */
export class RetentionPolicies {
  readonly #client: Pick<KubeClient, 'get'>;
  readonly #clock: { monotonicMs(): number };
  /** Of runtimes, by path. */
  readonly #known = new Map<string, Known>();

  constructor(parts: { readonly client: Pick<KubeClient, 'get'>; readonly clock: { monotonicMs(): number } }) {
    this.#client = parts.client;
    this.#clock = parts.clock;
  }

  /** `maxAgeMs`: how old the answer about a runtime may be. Rejects if the runtime cannot be read now. */
  async policyOf(job: TrainingJob, maxAgeMs = KNOWN_MS): Promise<CheckpointRetention | undefined> {
    const { checkpoint, runtimeRef } = (job.spec as Partial<TrainingJob['spec']> | undefined) ?? {};
    if (checkpoint === undefined) return undefined;
    if (checkpoint.retention !== undefined) return parsed(checkpoint.retention);
    if (typeof runtimeRef?.name !== 'string') return undefined;
    const path = runtimePath({ ...runtimeRef, namespace: job.metadata.namespace });
    const known = this.#known.get(path);
    const nowMs = this.#clock.monotonicMs();
    if (known !== undefined && nowMs - known.atMs <= maxAgeMs) return known.policy;
    const policy = await this.#read(path);
    this.#known.set(path, { policy, atMs: nowMs });
    return policy;
  }

  /** Forgets runtimes that no job has asked for lately. */
  expire(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [path, { atMs }] of this.#known) if (nowMs - atMs > 2 * KNOWN_MS) this.#known.delete(path);
  }

  async #read(path: string): Promise<CheckpointRetention | undefined> {
    try {
      const runtime = await this.#client.get<{
        readonly spec?: { readonly checkpoint?: { readonly retention?: unknown } };
      }>(path);
      return parsed(runtime.spec?.checkpoint?.retention);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function parsed(raw: unknown): CheckpointRetention | undefined {
  return CheckpointRetention.safeParse(raw).data;
}
