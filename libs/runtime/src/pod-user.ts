/**
 * Chooses the user of containers if neither job nor runtime does: an unprivileged user, so that the Pod Security level `restricted`
 * holds. Users write a TrainingRuntime, so none of its containers is root, whatever its image says.
 */
import { CONTAINERS, type RuntimeSnapshot } from '@coxswain/api-types';
import { type Json, list, record } from './json.ts';
import { nodeDemandOf } from './node-demand.ts';
import { templateParts } from './template-parts.ts';

const HOME = { volume: 'coxswain-home', path: '/coxswain/home' } as const;
const OURS: readonly unknown[] = [CONTAINERS.trainer, CONTAINERS.install];

type Runtime = Pick<RuntimeSnapshot, 'kind' | 'template' | 'computeDomain'>;

/** The pod with an unprivileged user wherever its runtime names none. `uid` undefined: an administrator leaves users to the images. */
export function withUnprivilegedUser(pod: Json, runtime: Runtime | undefined, uid: number | undefined): Json {
  if (uid === undefined) return pod;
  const withTrainer = isUserUnset(runtime) ? withPodUser(pod, uid) : pod;
  return runtime?.kind === 'TrainingRuntime' ? withoutRoot(withTrainer, uid) : withTrainer;
}

/**
 * Whether the runtime leaves the user of ranks to Coxswain. A runtime that names a user knows best. With devices, claims, capabilities
 * or parts of the host, drivers can need root: memory for NICs is locked by root only, unless the container runtime of the node is
 * configured otherwise (NVIDIA/nvidia-container-toolkit issue 2037). Only an administrator's runtime gives root for that.
 */
function isUserUnset(runtime: Runtime | undefined): boolean {
  if (runtime === undefined) return true;
  const { spec, trainer } = templateParts(runtime.template);
  if (runtime.kind === 'TrainingRuntime') return !namesUser(trainer, record(spec['securityContext']));
  const contexts = [record(spec['securityContext']), record(trainer['securityContext'])];
  const isSet = contexts.some(({ runAsUser, runAsNonRoot, privileged, capabilities }) => {
    const { add } = record(capabilities);
    return [runAsUser, runAsNonRoot, privileged, add].some(isPresent);
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
function withPodUser(pod: Json, uid: number): Json {
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

/**
 * Containers of a namespace's runtime that name no user, as the template calls them. Earlier releases ran them as the image's user, so
 * people have to know that this changed.
 */
export function containersWithoutUser(runtime: Pick<RuntimeSnapshot, 'kind' | 'template'>): readonly string[] {
  if (runtime.kind !== 'TrainingRuntime') return [];
  const { spec, beside, initContainers } = templateParts(runtime.template);
  const ofPod = record(spec['securityContext']);
  return [...initContainers, ...beside].filter((one) => !namesUser(one, ofPod)).map(({ name }) => String(name));
}

/** Every container that may not be root, with this user where neither it nor the pod names one. */
function withoutRoot(pod: Json, uid: number): Json {
  const spec = record(pod['spec']);
  const ofPod = record(spec['securityContext']);
  const secured = (container: Json): Json => ({
    ...container,
    securityContext: {
      ...record(container['securityContext']),
      ...(namesUser(container, ofPod) ? {} : { runAsUser: uid, runAsGroup: uid }),
      runAsNonRoot: true,
    },
  });
  return {
    ...pod,
    spec: {
      ...spec,
      initContainers: list(spec['initContainers']).map(secured),
      containers: list(spec['containers']).map(secured),
    },
  };
}

/** Whether the container runs as a user that it or its pod names, or as that of an image that says it is not root. */
function namesUser(container: Json, ofPod: Json): boolean {
  const own = record(container['securityContext']);
  return [own['runAsUser'], own['runAsNonRoot'], ofPod['runAsUser'], ofPod['runAsNonRoot']].some(isPresent);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
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
