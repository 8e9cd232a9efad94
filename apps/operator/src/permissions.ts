import { API_GROUP } from '@coxswain/api-types';
import type { PolicyRule } from '@coxswain/kube';
import { PERMIT_CONFIG_MAP } from './installation/refuse-running-jobs.ts';
import { REPORT_TLS_SECRET } from './ingest/tls-secret-name.ts';

const READ = ['get', 'list', 'watch'] as const;

/**
 * What admission-policy.yaml of the chart asks beside the right to write: of whoever writes Placements, Checkpoints and the status of jobs, on these; of
 * whoever makes pods of a gang or changes their marks, on `trainingjobs`.
 */
const MANAGE = 'manage';

/**
 * Everything that the operator may do in every namespace: what it does, and nothing else. The chart's ClusterRole is compared with it.
 *
 * `trainingjobs/finalizers update` is what the OwnerReferencesPermissionEnforcement plugin asks of whoever sets blockOwnerDeletion.
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
  // Of NVIDIA's DRA driver, where it is installed.
  { apiGroups: ['resource.nvidia.com'], resources: ['computedomains'], verbs: ['get', 'create', 'delete'] },
  // Of cluster-autoscaler, where it serves them; a request names templates.
  { apiGroups: ['autoscaling.x-k8s.io'], resources: ['provisioningrequests'], verbs: ['get', 'create', 'delete'] },
  { apiGroups: [''], resources: ['podtemplates'], verbs: ['create'] },
  // What DRA drivers say of NICs and NVLink domains.
  { apiGroups: ['resource.k8s.io'], resources: ['resourceslices'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods'], verbs: [...READ, 'create', 'patch', 'delete'] },
  // Patch: taint and annotation of a node in quarantine, and labels of what was concluded of the fabric. Not given where the chart turns both off.
  { apiGroups: [''], resources: ['nodes'], verbs: [...READ, 'patch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
];

/** What the chart's hook after an uninstall may do in every namespace. An API server may still know the admission policy for a moment after it was deleted. */
export const LET_GO_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['trainingjobs'], verbs: ['list', 'patch', MANAGE] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'patch'] },
];

/** Besides where the operator labels Nodes (`operator.publishFabricLabels` of the chart): nobody else would take the labels away. */
export const LET_GO_LABEL_RULES: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['list', 'patch'] },
];

/** And in the release's own: it sees whether an operator leads still. */
export const LET_GO_NAMESPACE_RULES = (options: { readonly leaseName: string }): readonly PolicyRule[] => [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'], resourceNames: [options.leaseName] },
];

/** What the chart's hook before an install and an upgrade may do in every namespace. `create` cannot be limited to a name. */
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

/** What the chart's hook before an uninstall may do in every namespace. */
export const RUNNING_JOBS_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['trainingjobs'], verbs: ['list'] },
];

/** And in the release's own: whether somebody allows it all the same. */
export const RUNNING_JOBS_NAMESPACE_RULES: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: [PERMIT_CONFIG_MAP] },
];

/** What it may do in its own namespace alone. `create` cannot be limited to a name: it is not known to the authorizer then. */
export const NAMESPACE_RULES = (options: { readonly leaseName: string }): readonly PolicyRule[] => [
  ...leaseRules(options.leaseName),
  { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'patch'], resourceNames: [REPORT_TLS_SECRET] },
];

function leaseRules(name: string): readonly PolicyRule[] {
  return [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'patch'], resourceNames: [name] },
  ];
}
