/** Reads what the doctor looks at from a cluster. Only this command loads the file, because the client of Kubernetes loads slowly. */
import { API_GROUP, API_VERSION } from '@coxswain/api-types';
import { createKubeClient, KubeApiError, type KubeClient, listPages, resourcePath } from '@coxswain/kube';
import { CliError } from '../cli-error.ts';
import { DOCTOR_KINDS, type DoctorKind, type DoctorObjects, type ReadObject } from './doctor-findings.ts';

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
    const read = await Promise.all(kinds.map(async (kind) => [kind, await listAll(client, kind)] as const));
    return Object.fromEntries(read) as DoctorObjects;
  } finally {
    await client.close();
  }
}

async function listAll(client: KubeClient, kind: DoctorKind): Promise<DoctorObjects[DoctorKind]> {
  const found: ReadObject[] = [];
  try {
    for await (const page of listPages(client, resourcePath(PLACES[kind]), { pageSize: PAGE_SIZE }))
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
