/** On which node can the claim of a checkpoint be mounted now? */
import { type Checkpoint, isFinished, type TrainingJob } from '@coxswain/api-types';
import { isNotFound, type KubeClient, type KubeObject } from '@coxswain/kube';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import { BY_JOB } from '../cluster/indexes.ts';
import { claimsPath } from '../cluster/paths.ts';

/** What a pod needs of the claim. */
export interface ClaimUse {
  readonly access: 'read' | 'write';
  /** Nodes where it may not run. */
  readonly otherThan?: readonly string[];
  /** Whether it waits until no job uses the claim. */
  readonly yieldsToJobs?: boolean;
}

/** What the claim has: a checkpoint, or logs of a job. */
export interface ClaimUser {
  readonly metadata: Pick<Checkpoint['metadata'], 'namespace'>;
  readonly spec: Pick<Checkpoint['spec'], 'claimName' | 'bucket' | 'jobUid'>;
}

const SHARED_MODES: Readonly<Record<ClaimUse['access'], readonly string[]>> = {
  read: ['ReadWriteMany', 'ReadOnlyMany'],
  write: ['ReadWriteMany'],
};

/** Any node, one node, or none now, and a clause on why. */
export type ClaimPlace = { readonly node: string | undefined } | { readonly waits: string };

/** A claim of one node is mounted where the pods of its job are. */
export class ClaimPlaces {
  readonly #client: Pick<KubeClient, 'get'>;
  readonly #cache: Pick<ClusterCache, 'jobs' | 'pods'>;

  constructor(parts: {
    readonly client: Pick<KubeClient, 'get'>;
    readonly cache: Pick<ClusterCache, 'jobs' | 'pods'>;
  }) {
    this.#client = parts.client;
    this.#cache = parts.cache;
  }

  async placeOf(checkpoint: ClaimUser, use: ClaimUse): Promise<ClaimPlace> {
    const { access, otherThan = [], yieldsToJobs = false } = use;
    const { claimName: name, bucket, jobUid } = checkpoint.spec;
    if (bucket !== undefined) return { node: undefined };
    const { namespace } = checkpoint.metadata;
    const modes = modesOf(await this.#getOrUndefined(claimsPath({ namespace, name })));
    if (modes.length === 0 || modes.some((mode) => SHARED_MODES[access].includes(mode))) return { node: undefined };
    if (yieldsToJobs && this.#hasUser(name, namespace)) return { waits: `a job uses claim ${name}` };
    const mounted = this.#cache.pods.cached
      .byIndex(BY_JOB, jobUid)
      .find(({ terminal, nodeName }) => !terminal && nodeName !== undefined);
    if (mounted?.nodeName === undefined) return { node: undefined };
    if (modes.every((mode) => mode === 'ReadWriteOncePod') || otherThan.includes(mounted.nodeName))
      return { waits: `claim ${name} is mounted on ${mounted.nodeName}` };
    return { node: mounted.nodeName };
  }

  /** Whether a job that has not ended may mount the claim, or still has pods that do. */
  #hasUser(claimName: string, namespace: string | undefined): boolean {
    return this.#cache.jobs
      .all()
      .filter(({ metadata, spec }) => metadata.namespace === namespace && spec.checkpoint?.claimName === claimName)
      .some((job) => !isFinished(job) || this.#hasPods(job));
  }

  #hasPods({ metadata }: TrainingJob & KubeObject): boolean {
    return this.#cache.pods.cached.byIndex(BY_JOB, metadata.uid).some(({ terminal }) => !terminal);
  }

  async #getOrUndefined(path: string): Promise<unknown> {
    try {
      return await this.#client.get(path);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function modesOf(claim: unknown): readonly string[] {
  const modes = field(field(claim, 'spec'), 'accessModes');
  return Array.isArray(modes) ? modes.filter((mode) => typeof mode === 'string') : [];
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
