import type { AdminClient } from '@coxswain/local-cluster';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** Gives a service account these rights, as a chart does: in every namespace unless one is named. */
export async function grant(
  admin: Pick<AdminClient, 'json'>,
  about: {
    readonly name: string;
    readonly rules: unknown;
    readonly to: { readonly namespace: string; readonly serviceAccount: string };
    readonly namespace?: string;
  },
): Promise<void> {
  const { name, rules, to, namespace } = about;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  const root = namespace === undefined ? RBAC : `${RBAC}/namespaces/${namespace}`;
  const metadata = { name };
  const role = { apiVersion, kind, metadata, rules };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name };
  const subjects = [{ kind: 'ServiceAccount', name: to.serviceAccount, namespace: to.namespace }];
  await admin.json({ method: 'POST', path: `${root}/${kind.toLowerCase()}s`, body: role });
  const binding = { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects };
  await admin.json({ method: 'POST', path: `${root}/${kind.toLowerCase()}bindings`, body: binding });
}
