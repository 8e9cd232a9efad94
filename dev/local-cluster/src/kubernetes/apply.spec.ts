import type { AdminClient, AdminRequest } from './admin-client.ts';
import { applyObjects, pathOf, type KubeObject } from './apply.ts';

const object = (apiVersion: string, kind: string, namespace?: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'x', ...(namespace === undefined ? {} : { namespace }) },
});

describe('the path of an object', () => {
  it.each([
    ['of the core, for the whole cluster', object('v1', 'Namespace'), '/api/v1/namespaces/x'],
    [
      'of the core, in a namespace',
      object('v1', 'PersistentVolumeClaim', 'research'),
      '/api/v1/namespaces/research/persistentvolumeclaims/x',
    ],
    [
      'of a group, for the whole cluster',
      object('rbac.authorization.k8s.io/v1', 'ClusterRole'),
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/x',
    ],
    [
      'of a group, in a namespace',
      object('rbac.authorization.k8s.io/v1', 'RoleBinding', 'coxswain-system'),
      '/apis/rbac.authorization.k8s.io/v1/namespaces/coxswain-system/rolebindings/x',
    ],
  ])('%s', (_, given, path) => {
    expect(pathOf(given)).toBe(path);
  });
});

describe('applying objects', () => {
  const recording = (sent: AdminRequest[], refused?: string): Pick<AdminClient, 'json'> => ({
    json: <T>(message: AdminRequest): Promise<T> => {
      sent.push(message);
      return refused !== undefined && message.path.includes(refused)
        ? Promise.reject(new Error('you may not'))
        : Promise.resolve({} as T);
    },
  });

  it('sends each whole, in order, and takes over what others set', async () => {
    const sent: AdminRequest[] = [];
    await applyObjects(recording(sent), [object('v1', 'Namespace'), object('v1', 'ServiceAccount', 'x')]);

    expect(sent).toEqual(
      ['/api/v1/namespaces/x', '/api/v1/namespaces/x/serviceaccounts/x'].map((path) =>
        expect.objectContaining({
          method: 'PATCH',
          path: `${path}?fieldManager=coxswain-local-cluster&force=true`,
          contentType: 'application/apply-patch+yaml',
        }),
      ),
    );
  });

  it('stops at the first that the apiserver refuses, with its words', async () => {
    const sent: AdminRequest[] = [];
    const applied = applyObjects(recording(sent, 'serviceaccounts'), [
      object('v1', 'ServiceAccount', 'x'),
      object('v1', 'Namespace'),
    ]);

    await expect(applied).rejects.toThrow('you may not');
    expect(sent).toHaveLength(1);
  });
});
