import type { PolicyRule } from '@coxswain/kube';
import { SYSTEM_NAMESPACE } from '@coxswain/local-cluster';
import { parseAllDocuments } from 'yaml';
import { CLUSTER_SCOPED_RULES, JOB_NAMESPACE_RULES, SERVICE_ACCOUNT_RULES } from '../../apps/api/src/permissions.ts';
import { renderChart } from './render.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly PolicyRule[];
  readonly roleRef?: object;
  readonly subjects?: readonly object[];
}

const CONFINED = ['api.namespaces={research,vision}', 'api.serviceAccounts.enabled=true'];

/** Objects of the chart that are named for the API. */
async function objectsOfApi(values: readonly string[]): Promise<readonly Manifest[]> {
  const objects = parseAllDocuments(await renderChart({ values })).map((document) => document.toJS() as Manifest);
  return objects.filter(({ metadata }) => metadata.name === 'coxswain-api');
}

/** One line per verb on a resource. */
function rights(rules: readonly PolicyRule[] = []): readonly string[] {
  const each = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
  );
  return each.sort();
}

describe('an API that the chart confines to namespaces', () => {
  it('has in the whole cluster only rights to what belongs to no namespace', async () => {
    const role = (await objectsOfApi(CONFINED)).find(({ kind }) => kind === 'ClusterRole');
    expect(rights(role?.rules)).toEqual(rights([...CLUSTER_SCOPED_RULES, ...SERVICE_ACCOUNT_RULES]));
  });

  it.each(['research', 'vision'])(
    'has in %s the rights that its code declares, and its account is bound to them',
    async (namespace) => {
      const found = (await objectsOfApi(CONFINED)).filter(({ metadata }) => metadata.namespace === namespace);
      expect(found.map(({ kind }) => kind)).toEqual(['Role', 'RoleBinding']);
      const [role, binding] = found;
      expect(rights(role?.rules)).toEqual(rights(JOB_NAMESPACE_RULES));
      expect(binding).toMatchObject({
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'coxswain-api' },
        subjects: [{ kind: 'ServiceAccount', name: 'coxswain-api', namespace: SYSTEM_NAMESPACE }],
      });
    },
  );

  it('reads the list from its environment, which is not set by default', async () => {
    expect(await renderChart({ values: CONFINED })).toMatch(/COXSWAIN_API_NAMESPACES\n\s+value: "research,vision"/);
    expect(await renderChart()).not.toContain('COXSWAIN_API_NAMESPACES');
  });

  it.each([
    ['no name of a namespace', 'api.namespaces={My_Team}'],
    ['listed twice', 'api.namespaces={research,research}'],
  ])('is refused a namespace that is %s', async (_what, value) => {
    await expect(renderChart({ values: [value] })).rejects.toThrow('namespaces');
  });
});
