import { API_GROUP, API_VERSION, type RuntimeRef } from '@coxswain/api-types';
import { resourcePath } from '@coxswain/kube';
import { COMPUTE_DOMAINS } from '@coxswain/runtime';
import { KUEUE_API } from '@coxswain/scheduling';

/** Where our resources and their children are; without namespace it is the collection of all namespaces. */
type Place = { readonly namespace?: string | undefined; readonly name?: string };

const custom =
  (plural: string) =>
  (place: Place = {}): string =>
    resourcePath({ group: API_GROUP, version: API_VERSION, plural, ...present(place) });

/** API path of a TrainingJob or of all TrainingJobs. */
export const trainingJobsPath = custom('trainingjobs');
/** API path of a Placement or of all Placements. */
export const placementsPath = custom('placements');
/** API path of a Checkpoint or of all Checkpoints. */
export const checkpointsPath = custom('checkpoints');

/** Of the one Fabric, or of their collection. */
export const fabricsPath = (place: { readonly name?: string } = {}): string => custom('fabrics')(place);

/** A runtime of the cluster, or of that namespace. */
export function runtimePath({
  kind,
  name,
  namespace,
}: RuntimeRef & { readonly namespace: string | undefined }): string {
  return kind === 'TrainingRuntime'
    ? custom('trainingruntimes')({ namespace, name })
    : custom('clustertrainingruntimes')({ name });
}

/** API path of one or all ComputeDomains. */
export function computeDomainsPath(place: Place = {}): string {
  return resourcePath({ ...COMPUTE_DOMAINS, ...present(place) });
}

/** Of cluster-autoscaler, where it serves them. */
export function provisioningRequestsPath(place: Place = {}): string {
  const kind = { group: 'autoscaling.x-k8s.io', version: 'v1', plural: 'provisioningrequests' };
  return resourcePath({ ...kind, ...present(place) });
}

/** API path of one or all PodTemplates. */
export function podTemplatesPath(place: Place = {}): string {
  return resourcePath({ group: '', version: 'v1', plural: 'podtemplates', ...present(place) });
}

/** API path of one or all pods. */
export function podsPath(place: Place = {}): string {
  return resourcePath({ group: '', version: 'v1', plural: 'pods', ...present(place) });
}

/** API path of one or all PersistentVolumeClaims. */
export function claimsPath(place: Place = {}): string {
  return resourcePath({ group: '', version: 'v1', plural: 'persistentvolumeclaims', ...present(place) });
}

/** API path of one or all nodes. */
export function nodesPath(name?: string): string {
  return resourcePath({ group: '', version: 'v1', plural: 'nodes', ...(name === undefined ? {} : { name }) });
}

/** API path of one or all PriorityClasses. */
export function priorityClassesPath(name?: string): string {
  const kind = { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' };
  return resourcePath({ ...kind, ...(name === undefined ? {} : { name }) });
}

/** A kind of Kueue, where it is installed. */
export function kueuePath(plural: string, place: Place = {}): string {
  return resourcePath({ ...KUEUE_API, plural, ...present(place) });
}

function present({ namespace, name }: Place): { namespace?: string; name?: string } {
  return { ...(namespace === undefined ? {} : { namespace }), ...(name === undefined ? {} : { name }) };
}
