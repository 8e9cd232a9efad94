import { API_GROUP } from '@coxswain/api-types';
import type { PolicyRule } from '@coxswain/kube';
import { PASSWORDS_SECRET, URLS_SECRET } from './installation/secret-names.ts';

const READ = ['get', 'list', 'watch'] as const;

/** What the API may do where jobs run: in every namespace, or in those to which it is confined (`api.namespaces` of the chart). */
export const JOB_NAMESPACE_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['trainingjobs'], verbs: [...READ, 'create', 'patch', 'delete'] },
  { apiGroups: [API_GROUP], resources: ['placements'], verbs: [...READ] },
  // Admission lets it create and delete none but adopted ones, and lets who may `annotate` change two annotations alone: pin and verify.
  { apiGroups: [API_GROUP], resources: ['checkpoints'], verbs: [...READ, 'create', 'patch', 'annotate', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  // Whether a claim exists that a job names which is to be checked.
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get'] },
  // The admission policy asks for it where a job names a class. The API has checked which classes the project of the job may use.
  { apiGroups: ['scheduling.k8s.io'], resources: ['priorityclasses'], verbs: ['use'] },
  // Whether a job that is to be checked can use its runtime, and how much a quota lets its pods have.
  { apiGroups: [API_GROUP], resources: ['trainingruntimes'], verbs: ['get'] },
  { apiGroups: [''], resources: ['resourcequotas'], verbs: ['list'] },
];

/** What the API reads that belongs to no namespace: the fabric. A confined API has no other right in the whole cluster. */
export const CLUSTER_SCOPED_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['fabrics'], verbs: [...READ] },
  { apiGroups: [API_GROUP], resources: ['clustertrainingruntimes'], verbs: ['get'] },
  { apiGroups: [''], resources: ['nodes'], verbs: [...READ] },
  // What DRA drivers say of NICs and NVLink domains.
  { apiGroups: ['resource.k8s.io'], resources: ['resourceslices'], verbs: ['list'] },
];

/** Everything that an API may do in the whole cluster if it is not confined. The chart's ClusterRole is compared with it. */
export const CLUSTER_RULES: readonly PolicyRule[] = [...JOB_NAMESPACE_RULES, ...CLUSTER_SCOPED_RULES];

/** What it may besides where it lets service accounts in (`api.serviceAccounts` of the chart): ask whose a token is. */
export const SERVICE_ACCOUNT_RULES: readonly PolicyRule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
];

/** What the Job of the chart that prepares a database may do in the release's namespace. `create` cannot be limited to a name. */
export const PREPARE_DATABASE_RULES: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: [PASSWORDS_SECRET] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['patch'], resourceNames: [URLS_SECRET] },
];
