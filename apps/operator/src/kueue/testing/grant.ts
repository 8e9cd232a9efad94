import type { AdminClient } from '@coxswain/local-cluster';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** Gives a service account these rights in every namespace, as a chart does. */
export async function grant(
  admin: Pick<AdminClient, 'json'>,
  about: {
    readonly name: string;
    readonly rules: unknown;
    readonly to: { readonly namespace: string; readonly serviceAccount: string };
  },
): Promise<void> {
  const { name, rules, to } = about;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = { name };
  const role = { apiVersion, kind: 'ClusterRole', metadata, rules };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ kind: 'ServiceAccount', name: to.serviceAccount, namespace: to.namespace }];
  await admin.json({ method: 'POST', path: `${RBAC}/clusterroles`, body: role });
  const binding = { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects };
  await admin.json({ method: 'POST', path: `${RBAC}/clusterrolebindings`, body: binding });
}
