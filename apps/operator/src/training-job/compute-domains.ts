import type { TrainingJob } from '@coxswain/api-types';
import {
  isAlreadyExists,
  isConflict,
  isKindUnknown,
  isNotFound,
  type KubeClient,
  type KubeObject,
} from '@coxswain/kube';
import { computeDomainOf } from '@coxswain/runtime';
import { childLabels } from '../cluster/cluster-cache.ts';
import { computeDomainsPath } from '../cluster/paths.ts';
import { ownedBy } from './owner.ts';
import type { ComputeDomainName } from './training-job-store.ts';

/** The cluster does not serve ComputeDomains. A retry does not help; an administrator must install the driver or change the job. */
export class NoComputeDomainsError extends Error {
  constructor(cause: unknown) {
    super(
      "the cluster has no ComputeDomains, which the job's runtime asks for: install NVIDIA's DRA driver for GPUs, or name a runtime without computeDomain",
      { cause },
    );
    this.name = 'NoComputeDomainsError';
  }
}

/** The ComputeDomains of gangs. They are not watched: few clusters know the kind, and of those that are made here no decision depends. */
export class ComputeDomains {
  readonly #client: Pick<KubeClient, 'get' | 'create' | 'delete'>;

  constructor(client: Pick<KubeClient, 'get' | 'create' | 'delete'>) {
    this.#client = client;
  }

  /** One that is there is success if the job owns it. */
  async create(
    job: TrainingJob,
    domain: ComputeDomainName,
    options: { readonly dryRun?: boolean } = {},
  ): Promise<void> {
    const { namespace } = job.metadata;
    const metadata = { namespace, labels: childLabels(job, domain.epoch), ownerReferences: [ownedBy(job)] };
    try {
      await this.#client.create<KubeObject>(
        computeDomainsPath({ namespace }),
        computeDomainOf(domain.name, metadata),
        options,
      );
    } catch (error) {
      if (isKindUnknown(error)) throw new NoComputeDomainsError(error);
      if (!isAlreadyExists(error)) throw error;
      if (options.dryRun === true || (await this.#find(job, domain.name)) !== undefined) return;
      throw new Error(
        `ComputeDomain ${namespace}/${domain.name} exists and belongs to another owner; it is not changed`,
        {
          cause: error,
        },
      );
    }
  }

  async delete(job: TrainingJob, name: string): Promise<void> {
    try {
      const found = await this.#find(job, name);
      if (found?.metadata.uid === undefined) return;
      const path = computeDomainsPath({ namespace: job.metadata.namespace, name });
      await this.#client.delete(path, { uid: found.metadata.uid, turnOf: job.metadata.uid });
    } catch (error) {
      // Gone, or another one by now; or the kind itself is gone, and all domains with it.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** The one of that name, if it is the job's. */
  async #find(job: TrainingJob, name: string): Promise<KubeObject | undefined> {
    const found = await this.#client.get<KubeObject>(computeDomainsPath({ namespace: job.metadata.namespace, name }));
    return found.metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid) === true ? found : undefined;
  }
}
