/** Reads what the doctor looks at from a cluster. Only this command loads the file, because the client of Kubernetes loads slowly. */
import { API_GROUP, API_VERSION } from '@coxswain/api-types';
import { createKubeClient, KubeApiError, type KubeClient, listPages, resourcePath } from '@coxswain/kube';
import { KUEUE_API } from '@coxswain/scheduling';
import { CliError } from '../cli-error.ts';
import { KUEUE_KINDS, type KueueKind, type KueueObjects } from './kueue-findings.ts';
import type { ReadObject } from './read-object.ts';
import { DOCTOR_KINDS, type DoctorKind, type DoctorObjects } from './doctor-findings.ts';

const PAGE_SIZE = 500;

const OURS = { group: API_GROUP, version: API_VERSION };
const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1' };
const PLACES: Readonly<Record<DoctorKind, Parameters<typeof resourcePath>[0]>> = {
  TrainingJob: { ...OURS, plural: 'trainingjobs' },
  Fabric: { ...OURS, plural: 'fabrics' },
  PriorityClass: { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' },
  ResourceQuota: { group: '', version: 'v1', plural: 'resourcequotas' },
  ValidatingAdmissionPolicy: { ...ADMISSION, plural: 'validatingadmissionpolicies' },
  ValidatingAdmissionPolicyBinding: { ...ADMISSION, plural: 'validatingadmissionpolicybindings' },
};

/** Objects of the cluster that a kubeconfig names. Throws a {@link CliError} if the cluster cannot be reached. */
export async function readDoctorObjects({
  kubeconfig,
  context,
}: {
  readonly kubeconfig?: string;
  readonly context?: string;
}): Promise<DoctorObjects> {
  const client = createKubeClient({
    userAgent: 'coxswain-cli',
    ...(kubeconfig === undefined ? {} : { kubeconfigPath: kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  try {
    const kinds = Object.keys(DOCTOR_KINDS) as DoctorKind[];
    const read = await Promise.all(kinds.map(async (kind) => [kind, await listAll(client, PLACES[kind])] as const));
    return { ...(Object.fromEntries(read) as DoctorObjects), ...(await readKueue(client)) };
  } finally {
    await client.close();
  }
}

const KUEUE_PLURALS: Readonly<Record<KueueKind, string>> = {
  LocalQueue: 'localqueues',
  ClusterQueue: 'clusterqueues',
  ResourceFlavor: 'resourceflavors',
  AdmissionCheck: 'admissionchecks',
};

/** Most clusters have no Kueue, and most callers no right on its kinds: then the API server answers 403 whether it serves them or not. */
async function readKueue(client: KubeClient): Promise<KueueObjects> {
  const lists = await Promise.all(
    KUEUE_KINDS.map(async (kind) => {
      const found = await listAll(client, { ...KUEUE_API, plural: KUEUE_PLURALS[kind] });
      return [kind, typeof found === 'string' ? 'unserved' : found] as const;
    }),
  );
  const kueueConfiguration = await readConfiguration(client);
  return { ...Object.fromEntries(lists), ...(kueueConfiguration === undefined ? {} : { kueueConfiguration }) };
}

/** Where Kueue's manifests and its chart, if its release is called kueue, keep the configuration. */
const CONFIGURATION = { group: '', version: 'v1', plural: 'configmaps', namespace: 'kueue-system' } as const;

async function readConfiguration(client: KubeClient): Promise<string | undefined> {
  try {
    const path = resourcePath({ ...CONFIGURATION, name: 'kueue-manager-config' });
    const { data } = await client.get<{ readonly data?: Readonly<Record<string, string>> }>(path);
    return data?.['controller_manager_config.yaml'];
  } catch (error) {
    if (error instanceof KubeApiError && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  }
}

async function listAll(
  client: KubeClient,
  place: Parameters<typeof resourcePath>[0],
): Promise<DoctorObjects[DoctorKind]> {
  const found: ReadObject[] = [];
  try {
    for await (const page of listPages(client, resourcePath(place), { pageSize: PAGE_SIZE }))
      found.push(...(page as unknown as readonly ReadObject[]));
    return found;
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    if (error.status === 404) return 'unserved';
    if (error.status === 403) return error.message;
    const why = error.message.replace(/[.\s]+$/, '');
    throw new CliError(`Cannot read the cluster: ${why}. Choose another cluster with --kubeconfig or --context.`, 2);
  }
}
