import type { Pod } from '../kube/kube-types.ts';
import { refusal, type ApiCall, type NodeApi } from '../kube/node-api.ts';
import type { VolumeSources } from './volumes.ts';

/** What a pod's volumes and environment refer to, fetched from the apiserver with the node's own rights. */
export function podSources(api: NodeApi, pod: Pod): VolumeSources {
  const { namespace, name, uid } = pod.metadata;
  const find = <T>(path: string): Promise<T | undefined> => findObject<T>(api, path);
  return {
    configMap: (configMap) => find(`/api/v1/namespaces/${namespace}/configmaps/${configMap}`),
    secret: (secret) => find(`/api/v1/namespaces/${namespace}/secrets/${secret}`),
    claimFolder: (claim) => claimFolder(api, namespace, claim),
    token: async ({ audience, expirationSeconds }) => {
      const call: ApiCall = {
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/serviceaccounts/${pod.spec.serviceAccountName ?? 'default'}/token`,
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: {
            audiences: audience === undefined ? [] : [audience],
            expirationSeconds,
            boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
          },
        },
      };
      const answer = await api.request(call);
      if (answer.status !== 201) {
        throw refusal(call, answer);
      }
      const { status } = answer.body as { status: { token: string; expirationTimestamp: string } };
      return { token: status.token, expiresAt: new Date(status.expirationTimestamp) };
    },
  };
}

async function findObject<T>(api: NodeApi, path: string): Promise<T | undefined> {
  const call: ApiCall = { method: 'GET', path };
  const answer = await api.request(call);
  if (answer.status === 404) {
    return undefined;
  }
  if (answer.status !== 200) {
    throw refusal(call, answer);
  }
  return answer.body as T;
}

interface Claim {
  readonly spec: { readonly volumeName?: string };
  readonly status?: { readonly phase?: string };
}

interface PersistentVolume {
  readonly spec: {
    readonly hostPath?: { readonly path: string; readonly type?: string };
    readonly local?: { readonly path: string };
  };
}

/** Every local node sees every hostPath volume: they are one machine. */
async function claimFolder(
  api: NodeApi,
  namespace: string,
  name: string,
): Promise<{ readonly folder: string } | { readonly problem: string }> {
  const claim = await findObject<Claim>(api, `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`);
  if (claim === undefined) {
    return { problem: `persistentvolumeclaim "${name}" not found` };
  }
  if (claim.spec.volumeName === undefined || claim.status?.phase !== 'Bound') {
    return { problem: `persistentvolumeclaim "${name}" is not bound to a volume` };
  }
  const volume = await findObject<PersistentVolume>(api, `/api/v1/persistentvolumes/${claim.spec.volumeName}`);
  const folder = volume?.spec.hostPath?.path ?? volume?.spec.local?.path;
  return folder === undefined
    ? {
        problem: `persistentvolume "${claim.spec.volumeName}" is no hostPath or local volume; local nodes know no other`,
      }
    : { folder };
}
