import { startControlPlane, waitFor, type ControlPlane, type ControlPlaneOptions } from '@coxswain/local-cluster';
import { startFaultProxy, type FaultProxy } from '@coxswain/test-harness';

import type { KubeClient, KubeClientOptions } from '../kube-client.ts';
import { createKubeClient } from '../client.ts';
import type { KubeObject } from '../kube-object.ts';
import { keyOf } from '../kube-object.ts';
import { resourcePath } from '../paths.ts';
import type { ObjectCache } from '../object-cache.ts';

/** A real apiserver with a fault proxy before it, for integration tests of the runtime. */
export interface World {
  readonly plane: ControlPlane;
  readonly proxy: FaultProxy;
  /** Speaks through the proxy as a service account that may do everything. */
  readonly kubeconfigPath: string;
  client(options?: Partial<KubeClientOptions>): KubeClient;
  /** Never passes the proxy. */
  readonly direct: KubeClient;
  stop(): Promise<void>;
}

/** Starts etcd, apiserver and proxy. */
export async function startWorld(options: ControlPlaneOptions = {}): Promise<World> {
  const plane = await startControlPlane({ scheduler: false, controllerManager: false, ...options });
  const certificate = await plane.issueCertificate({ commonName: 'proxy', hosts: ['127.0.0.1'] });
  const proxy = await startFaultProxy({ upstream: plane, certificate, caPem: plane.caPem });
  const account = { namespace: 'default', serviceAccount: 'runtime' };
  const kubeconfigPath = await plane.kubeconfigFor({ ...account, apiserverUrl: proxy.url });
  const opened: KubeClient[] = [];
  const open = (choice: Partial<KubeClientOptions>): KubeClient => {
    const client = createKubeClient({
      kubeconfigPath,
      userAgent: 'runtime-test',
      fieldManager: 'runtime-test',
      ...choice,
    });
    opened.push(client);
    return client;
  };
  const direct = open({ kubeconfigPath: plane.adminKubeconfigPath, userAgent: 'direct' });
  await direct.create(
    resourcePath({ group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterrolebindings' }),
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'runtime-test' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: account.serviceAccount, namespace: account.namespace }],
    },
  );
  return {
    plane,
    proxy,
    kubeconfigPath,
    direct,
    client: (choice = {}) => open(choice),
    stop: async () => {
      await Promise.all(opened.map((client) => client.close()));
      await proxy.close();
      await plane.stop();
    },
  };
}

/** A ConfigMap: the plainest object there is. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The collection of ConfigMaps of a namespace, or one of them. */
export function configMaps(namespace: string, name?: string): string {
  return resourcePath({
    group: '',
    version: 'v1',
    plural: 'configmaps',
    namespace,
    ...(name === undefined ? {} : { name }),
  });
}

/** The body of a ConfigMap. */
export function aConfigMap(name: string, data: Readonly<Record<string, string>> = {}): Record<string, unknown> {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

/** Waits until a cache holds what the server holds, version for version. */
export async function cacheEqualsServer(
  cache: ObjectCache<ConfigMap>,
  world: { readonly direct: KubeClient; readonly collectionPath: string },
): Promise<void> {
  await waitFor(
    async () => {
      const { items } = await world.direct.list<ConfigMap>(world.collectionPath);
      return picture(items) === picture(cache.list());
    },
    { what: `the cache to equal ${world.collectionPath}` },
  );
}

function picture(objects: readonly KubeObject[]): string {
  return objects
    .map((object) => `${keyOf(object)} ${object.metadata.uid} ${object.metadata.resourceVersion}`)
    .sort()
    .join('\n');
}
