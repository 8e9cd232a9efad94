import { API_GROUP, DRAIN_REQUESTS, OBSERVE_CONFIG_MAP } from '@coxswain/api-types';
import type { PolicyRule } from '@coxswain/kube';
import { KUEUE_API } from '@coxswain/scheduling';
import { PERMIT_CONFIG_MAP } from './installation/refuse-running-jobs.ts';
import { REPORT_TLS_SECRET } from './ingest/tls-secret-name.ts';

const READ = ['get', 'list', 'watch'] as const;

/**
 * Verb that admission-policy.yaml of the chart requires in addition to write access. Writing Placements, Checkpoints and the status of jobs needs it
 * on these resources. Creating pods of a gang, or changing their marks, needs it on `trainingjobs`.
 */
const MANAGE = 'manage';

/**
 * All rights of the operator in every namespace, exactly those that it uses. A test compares the chart's ClusterRole with them.
 *
 * `trainingjobs/finalizers update` is required by the OwnerReferencesPermissionEnforcement plugin to set blockOwnerDeletion.
 */
export const CLUSTER_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['trainingjobs'], verbs: [...READ, 'patch', MANAGE] },
  { apiGroups: [API_GROUP], resources: ['trainingjobs/status'], verbs: ['update'] },
  { apiGroups: [API_GROUP], resources: ['trainingjobs/finalizers'], verbs: ['update'] },
  { apiGroups: [API_GROUP], resources: ['placements'], verbs: [...READ, 'create', 'delete', MANAGE] },
  { apiGroups: [API_GROUP], resources: ['checkpoints'], verbs: [...READ, 'create', 'delete', MANAGE] },
  { apiGroups: [API_GROUP], resources: ['checkpoints/status'], verbs: ['update'] },
  { apiGroups: [API_GROUP], resources: ['trainingruntimes', 'clustertrainingruntimes'], verbs: ['get'] },
  { apiGroups: [API_GROUP], resources: ['fabrics'], verbs: ['get', 'create'] },
  { apiGroups: [API_GROUP], resources: ['fabrics/status'], verbs: ['update'] },
  // NVIDIA's DRA driver, if it is installed.
  { apiGroups: ['resource.nvidia.com'], resources: ['computedomains'], verbs: ['get', 'create', 'delete'] },
  // cluster-autoscaler, if it serves them; a request names templates.
  {
    apiGroups: ['autoscaling.x-k8s.io'],
    resources: ['provisioningrequests'],
    verbs: ['get', 'list', 'create', 'delete'],
  },
  { apiGroups: [''], resources: ['podtemplates'], verbs: ['get', 'create', 'delete'] },
  // NICs and NVLink domains that DRA drivers publish.
  { apiGroups: ['resource.k8s.io'], resources: ['resourceslices'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods'], verbs: [...READ, 'create', 'patch', 'delete'] },
  // Whether those exist that a job names. Never Secrets.
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'configmaps'], verbs: ['get'] },
  // Whether a quota has room for all pods of a gang.
  { apiGroups: [''], resources: ['resourcequotas'], verbs: ['list'] },
  // What kubelets report about pods that do not start.
  { apiGroups: [''], resources: ['events'], verbs: ['list'] },
  // Patch: taint and annotation of a quarantined node, and inferred fabric labels. Not granted if the chart disables both.
  { apiGroups: [''], resources: ['nodes'], verbs: [...READ, 'patch'] },
  // The priorities of jobs, and the class that their pods carry.
  { apiGroups: ['scheduling.k8s.io'], resources: ['priorityclasses'], verbs: [...READ] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
];

/** What the chart grants to Kueue's manager with `queue.kueue.enabled`: it reads the owner of each pod. */
export const KUEUE_MANAGER_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['trainingjobs'], verbs: [...READ] },
];

/** Kueue's objects. The chart grants them only with `queue.kueue.enabled`. */
export const KUEUE_RULES: readonly PolicyRule[] = [
  { apiGroups: [KUEUE_API.group], resources: ['workloads'], verbs: [...READ, 'create', 'patch', 'delete'] },
  { apiGroups: [KUEUE_API.group], resources: ['workloads/status'], verbs: ['patch'] },
  { apiGroups: [KUEUE_API.group], resources: ['resourceflavors', 'workloadpriorityclasses'], verbs: ['get'] },
  { apiGroups: [KUEUE_API.group], resources: ['localqueues'], verbs: ['get'] },
  { apiGroups: [KUEUE_API.group], resources: ['admissionchecks', 'clusterqueues', 'cohorts'], verbs: ['list'] },
  { apiGroups: [KUEUE_API.group], resources: ['admissionchecks/status'], verbs: ['patch'] },
];

/** DrainRequests of NVSentinel. The chart grants them only with `operator.answerDrainsIn`. */
export const DRAIN_RULES: readonly PolicyRule[] = [
  { apiGroups: [DRAIN_REQUESTS.group], resources: ['drainrequests'], verbs: ['list'] },
  { apiGroups: [DRAIN_REQUESTS.group], resources: ['drainrequests/status'], verbs: ['patch'] },
];

/** Rights of the chart's post-uninstall hook in every namespace. An API server may enforce the admission policy for a moment after its deletion. */
export const LET_GO_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['trainingjobs'], verbs: ['list', 'patch', MANAGE] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'patch'] },
];

/** Additional rights of that hook if the operator labels nodes (`operator.publishFabricLabels` of the chart), to remove the labels. */
export const LET_GO_LABEL_RULES: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'patch'] },
];

/** And in the release's own: it sees whether an operator leads still. */
export const LET_GO_NAMESPACE_RULES = (options: { readonly leaseName: string }): readonly PolicyRule[] => [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'], resourceNames: [options.leaseName] },
];

/** Rights of the chart's pre-install and pre-upgrade hook in every namespace. `create` cannot be limited to a name. */
export const DEFINITIONS_RULES: readonly PolicyRule[] = [
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['create'] },
  {
    apiGroups: ['apiextensions.k8s.io'],
    resources: ['customresourcedefinitions'],
    verbs: ['get', 'patch'],
    resourceNames: [
      'checkpoints',
      'clustertrainingruntimes',
      'fabrics',
      'placements',
      'trainingjobs',
      'trainingruntimes',
    ].map((plural) => `${plural}.${API_GROUP}`),
  },
];

/** And in the release's own: one of them at a time. */
export const DEFINITIONS_NAMESPACE_RULES: readonly PolicyRule[] = leaseRules('coxswain-definitions');

/** Rights of the chart's pre-uninstall hook in every namespace. */
export const RUNNING_JOBS_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['trainingjobs'], verbs: ['list'] },
];

/** Rights of that hook in the release's namespace, to read the ConfigMap that permits the uninstall. */
export const RUNNING_JOBS_NAMESPACE_RULES: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: [PERMIT_CONFIG_MAP] },
];

/** Rights of the operator in its own namespace. `create` cannot be limited to a name, because the authorizer does not know it. */
export const NAMESPACE_RULES = (options: { readonly leaseName: string }): readonly PolicyRule[] => [
  ...leaseRules(options.leaseName),
  { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'patch'], resourceNames: [REPORT_TLS_SECRET] },
];

/** Parameters of the admission policy for observed pods, in the operator's own namespace. The chart grants them only with `observe.enabled`. */
export const OBSERVE_NAMESPACE_RULES: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'patch'], resourceNames: [OBSERVE_CONFIG_MAP] },
];

function leaseRules(name: string): readonly PolicyRule[] {
  return [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'patch'], resourceNames: [name] },
  ];
}
