import { isKindUnknown, isNotFound, type KubeClient, type KubeObject } from '@coxswain/kube';
import { type JobWorkloads, pickWorkloads, readWorkload, type WorkloadFacts } from '@coxswain/scheduling';
import { kueuePath } from '../cluster/paths.ts';

/** The Workload of a job as it was read, and what it says. */
interface FoundWorkload {
  readonly object: KubeObject | undefined;
  readonly facts: WorkloadFacts | 'absent' | 'notServed' | 'taken';
}

/** All Workloads of a job, two while it grows, beside the one that counts. */
export interface FoundWorkloads extends FoundWorkload {
  readonly workloads: JobWorkloads;
  readonly objects: readonly KubeObject[];
}

/** Where the Workloads of a job are. */
export interface WorkloadsAt {
  readonly namespace: string | undefined;
  /** The one that every job has, and, of a job that may grow, the other one. */
  readonly names: readonly string[];
}

/** Reads the Workloads of the job of that UID from the API server. */
export async function readWorkloads(
  client: Pick<KubeClient, 'get'>,
  { namespace, names }: WorkloadsAt,
  jobUid: string,
): Promise<FoundWorkloads> {
  const read = await Promise.all(names.map((name) => readOne(client, { namespace, name }, jobUid)));
  const own = read.flatMap(({ object, facts }) =>
    typeof facts === 'string' || object === undefined ? [] : { object, facts },
  );
  const workloads = pickWorkloads(own.map(({ facts }) => facts));
  const current = own.find(({ facts }) => facts === workloads.current);
  const objects = own.map(({ object }) => object);
  return { ...(current ?? read[0] ?? { object: undefined, facts: 'absent' }), workloads, objects };
}

async function readOne(
  client: Pick<KubeClient, 'get'>,
  at: { readonly namespace: string | undefined; readonly name: string },
  jobUid: string,
): Promise<FoundWorkload> {
  try {
    const object = await client.get<KubeObject>(kueuePath('workloads', at));
    const facts = readWorkload(object);
    return facts.ownerUid === jobUid ? { object, facts } : { object: undefined, facts: 'taken' };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return { object: undefined, facts: isKindUnknown(error) ? 'notServed' : 'absent' };
  }
}
