import type { AdminClient } from './admin-client.ts';

/** As much of a Kubernetes object as says where it belongs. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const FIELD_MANAGER = 'coxswain-local-cluster';

/**
 * The path of an object in the API. Right for kinds whose resource is their name in the plural as English makes it, which is all that the
 * local cluster makes; a client for any kind would ask the apiserver.
 */
export function pathOf({ apiVersion, kind, metadata }: KubeObject): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const namespace = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${root}${namespace}/${kind.toLowerCase().replace(/y$/, 'ie')}s/${metadata.name}`;
}

/** Makes the objects as they are given, one after the other, by server-side apply. Rejects with the apiserver's words. */
export async function applyObjects(admin: Pick<AdminClient, 'json'>, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await admin.json({
      method: 'PATCH',
      path: `${pathOf(object)}?fieldManager=${FIELD_MANAGER}&force=true`,
      body: object,
      contentType: 'application/apply-patch+yaml', // JSON is valid YAML.
    });
  }
}
