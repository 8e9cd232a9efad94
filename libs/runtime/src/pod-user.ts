/**
 * Chooses the user of ranks if neither job nor runtime does: an unprivileged user, so that the Pod Security level `restricted`
 * holds.
 */
import { CONTAINERS, type RuntimeSnapshot } from '@coxswain/api-types';
import { type Json, list, record } from './json.ts';
import { nodeDemandOf } from './node-demand.ts';
import { templateParts } from './template-parts.ts';

const HOME = { volume: 'coxswain-home', path: '/coxswain/home' } as const;
const OURS: readonly unknown[] = [CONTAINERS.trainer, CONTAINERS.install];

/**
 * Whether the runtime leaves the user to Coxswain. A runtime that names a user knows best. With devices, claims, capabilities or
 * parts of the host, drivers can need root: memory for NICs is locked by root only, unless the container runtime of the node is
 * configured otherwise (NVIDIA/nvidia-container-toolkit issue 2037).
 */
export function isUserUnset(runtime: Pick<RuntimeSnapshot, 'template' | 'computeDomain'> | undefined): boolean {
  if (runtime === undefined) return true;
  const { spec, trainer } = templateParts(runtime.template);
  const contexts = [record(spec['securityContext']), record(trainer['securityContext'])];
  const isSet = contexts.some(({ runAsUser, runAsNonRoot, privileged, capabilities }) => {
    const { add } = record(capabilities);
    return [runAsUser, runAsNonRoot, privileged, add].some((value) => value !== undefined && value !== null);
  });
  const hasDevices = Object.keys(nodeDemandOf(runtime.template).devices).length > 0;
  const hasClaims = runtime.computeDomain !== undefined || list(spec['resourceClaims']).length > 0;
  const isOnHost = spec['hostNetwork'] === true || list(spec['volumes']).some(({ hostPath }) => hostPath !== undefined);
  return !isSet && !hasDevices && !hasClaims && !isOnHost;
}

/**
 * The pod with trainer and launcher as that user, and with a home directory. The image need not know the user, and caches of
 * compilers and of Hugging Face have a place. Volumes belong to its group if they support groups; files are changed only where
 * they do not belong to it yet.
 */
export function withPodUser(pod: Json, uid: number): Json {
  const spec = record(pod['spec']);
  const context = { runAsUser: uid, runAsGroup: uid, runAsNonRoot: true };
  const secured = (container: Json): Json =>
    OURS.includes(container['name'])
      ? { ...container, securityContext: { ...record(container['securityContext']), ...context } }
      : container;
  return {
    ...pod,
    spec: {
      ...spec,
      securityContext: { fsGroup: uid, fsGroupChangePolicy: 'OnRootMismatch', ...record(spec['securityContext']) },
      initContainers: list(spec['initContainers']).map(secured),
      containers: list(spec['containers']).map((one) =>
        one['name'] === CONTAINERS.trainer ? withHome(secured(one)) : one,
      ),
      volumes: [...list(spec['volumes']), { name: HOME.volume, emptyDir: {} }],
    },
  };
}

function withHome(trainer: Json): Json {
  const env = list(trainer['env']);
  const given = new Set(env.map(({ name }) => name));
  const homeVariables = [
    { name: 'HOME', value: HOME.path },
    // PyTorch’s compiler asks for the user name, which no passwd file gives.
    { name: 'USER', value: CONTAINERS.trainer },
  ];
  return {
    ...trainer,
    env: [...homeVariables.filter(({ name }) => !given.has(name)), ...env],
    volumeMounts: [...list(trainer['volumeMounts']), { name: HOME.volume, mountPath: HOME.path }],
  };
}
