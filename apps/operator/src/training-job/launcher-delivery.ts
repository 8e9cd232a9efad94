import { CONTAINERS, POD_PATHS } from '@coxswain/api-types';

/** How the launcher gets into a training container whose image does not contain it. */
export interface LauncherDelivery {
  readonly initContainers: readonly Record<string, unknown>[];
  readonly volumes: readonly Record<string, unknown>[];
  /** Of the training container. */
  readonly mounts: readonly Record<string, unknown>[];
}

const VOLUME = 'coxswain-bin';
/** Path of the launcher in its own image; it copies itself to the given path. */
const LAUNCHER_IN_ITS_IMAGE = '/usr/local/bin/coxswain-launcher';

/**
 * An init container that copies the launcher into a volume of the pod. This is the only place that knows how the launcher is
 * delivered; clusters with image volumes will mount the image instead.
 */
export function launcherDelivery(options: {
  readonly launcherImage: string;
  readonly securityContext: Record<string, unknown>;
}): LauncherDelivery {
  const mount = { name: VOLUME, mountPath: POD_PATHS.launcherDirectory };
  const resources = { cpu: '250m', memory: '256Mi' };
  return {
    initContainers: [
      {
        name: CONTAINERS.install,
        image: options.launcherImage,
        command: [LAUNCHER_IN_ITS_IMAGE, 'install', POD_PATHS.launcher],
        securityContext: options.securityContext,
        // Limits as well: a namespace with a quota refuses a container without, and would refuse the whole gang.
        resources: { requests: resources, limits: resources },
        terminationMessagePolicy: 'FallbackToLogsOnError',
        volumeMounts: [mount],
      },
    ],
    volumes: [{ name: VOLUME, emptyDir: {} }],
    mounts: [{ ...mount, readOnly: true }],
  };
}
