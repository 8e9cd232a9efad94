import { API_GROUP } from '@coxswain/api-types';
import type { PolicyRule } from '@coxswain/kube';
import { PASSWORDS_SECRET, URLS_SECRET } from './installation/secret-names.ts';

const READ = ['get', 'list', 'watch'] as const;

/** Everything that the API may do in every namespace. The chart's ClusterRole is compared with it. */
export const CLUSTER_RULES: readonly PolicyRule[] = [
  { apiGroups: [API_GROUP], resources: ['trainingjobs'], verbs: [...READ, 'create', 'patch', 'delete'] },
  { apiGroups: [API_GROUP], resources: ['checkpoints', 'placements', 'fabrics'], verbs: [...READ] },
  { apiGroups: [''], resources: ['nodes'], verbs: [...READ] },
  // What DRA drivers say of NICs and NVLink domains.
  { apiGroups: ['resource.k8s.io'], resources: ['resourceslices'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
];

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
