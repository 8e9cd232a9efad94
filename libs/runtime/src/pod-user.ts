/** As whom do ranks run, where neither job nor runtime says it? As nobody whom the node knows, so that the Pod Security level `restricted` holds. */
import { CONTAINERS, type RuntimeSnapshot } from '@coxswain/api-types';
import { type Json, list, record } from './json.ts';
import { nodeDemandOf } from './node-demand.ts';
import { partsOf } from './template-parts.ts';

const HOME = { volume: 'coxswain-home', path: '/coxswain/home' } as const;
const OURS: readonly unknown[] = [CONTAINERS.trainer, CONTAINERS.install];

/**
 * Whether the runtime leaves it open. Where it names a user itself, it knows; where pods have devices, claims, capabilities or something of the host, drivers may
 * want root: memory is locked for NICs by root alone unless the node's container runtime is told otherwise (NVIDIA/nvidia-container-toolkit issue 2037).
 */
export function leavesUserOpen(runtime: Pick<RuntimeSnapshot, 'template' | 'computeDomain'> | undefined): boolean {
  if (runtime === undefined) return true;
  const { spec, trainer } = partsOf(runtime.template);
  const contexts = [record(spec['securityContext']), record(trainer['securityContext'])];
  const isSaid = contexts.some(({ runAsUser, runAsNonRoot, privileged, capabilities }) => {
    const { add } = record(capabilities);
    return [runAsUser, runAsNonRoot, privileged, add].some((value) => value !== undefined && value !== null);
  });
  const hasDevices = Object.keys(nodeDemandOf(runtime.template).devices).length > 0;
  const hasClaims = runtime.computeDomain !== undefined || list(spec['resourceClaims']).length > 0;
  const isOnHost = spec['hostNetwork'] === true || list(spec['volumes']).some(({ hostPath }) => hostPath !== undefined);
  return !isSaid && !hasDevices && !hasClaims && !isOnHost;
}

/**
 * The pod with trainer and launcher as that user, and a home for it: the image need not know the user, and what engines write beside checkpoints (caches of
 * compilers and of Hugging Face) has a place. Volumes belong to its group, as far as they know groups; what they hold is gone through only where they do not yet.
 */
export function asUser(pod: Json, uid: number): Json {
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
  const said = new Set(env.map(({ name }) => name));
  const homely = [
    { name: 'HOME', value: HOME.path },
    // Asked for by whoever looks for the user's name, which no passwd file tells: PyTorch's compiler does.
    { name: 'USER', value: CONTAINERS.trainer },
  ];
  return {
    ...trainer,
    env: [...homely.filter(({ name }) => !said.has(name)), ...env],
    volumeMounts: [...list(trainer['volumeMounts']), { name: HOME.volume, mountPath: HOME.path }],
  };
}
