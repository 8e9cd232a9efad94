import type { HostFolder } from './engine-python.ts';
import { volumeFolder } from './engine-python.ts';

/** Namespace of the campaign's job. */
export const NAMESPACE = 'research';
/** Name of the runtime that mounts this machine's Python. */
export const RUNTIME = 'restricted-with-python';

interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

/** A namespace that refuses every pod that is not restricted. */
export function restrictedNamespace(name: string): KubeObject {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** A folder of this machine as a volume and a claim. Restricted pods may not have hostPath volumes, but claims on them. */
export function claimOf(
  name: string,
  path: string,
  namespace = NAMESPACE,
): readonly (KubeObject & { readonly spec: object })[] {
  const shared = { accessModes: ['ReadWriteMany'], storageClassName: '' };
  const storage = '1Gi';
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `${namespace}-${name}` },
      spec: {
        ...shared,
        capacity: { storage },
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path, type: 'Directory' },
        claimRef: { namespace, name },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace },
      spec: { ...shared, volumeName: `${namespace}-${name}`, resources: { requests: { storage } } },
    },
  ];
}

/** Names of the claims of the engine's Python, in the order of its folders. */
export function pythonClaims(folders: readonly HostFolder[]): readonly string[] {
  return folders.map((_, index) => `python-${index}`);
}

/** A PersistentVolume and a claim for each folder. */
export function pythonClaimObjects(folders: readonly HostFolder[]): readonly KubeObject[] {
  const names = pythonClaims(folders);
  return folders.flatMap((folder, index) => claimOf(names[index] ?? '', volumeFolder(folder)));
}

interface Runtime {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly [
          { readonly env: readonly object[]; readonly volumeMounts: readonly object[] },
          ...unknown[],
        ];
        readonly volumes: readonly object[];
      };
    };
  };
}

/** The runtime that is shipped for restricted namespaces, and the engine's Python with it. */
export function runtimeWithPython(shipped: unknown, folders: readonly HostFolder[], path: string): KubeObject {
  const runtime = shipped as KubeObject & Runtime;
  const { spec } = runtime.spec.template;
  const [trainer] = spec.containers;
  const names = pythonClaims(folders);
  const mounts = folders.map(({ path: at, file }, index) => ({
    name: names[index],
    readOnly: true,
    ...(file === undefined ? { mountPath: at } : { mountPath: `${at}/${file}`, subPath: file }),
  }));
  const volumes = names.map((name) => ({ name, persistentVolumeClaim: { claimName: name, readOnly: true } }));
  const container = {
    ...trainer,
    env: [...trainer.env, { name: 'PATH', value: path }, { name: 'OMP_NUM_THREADS', value: '1' }],
    volumeMounts: [...trainer.volumeMounts, ...mounts],
  };
  const template = { spec: { ...spec, containers: [container], volumes: [...spec.volumes, ...volumes] } };
  return { ...runtime, metadata: { name: RUNTIME }, spec: { ...runtime.spec, template } } as KubeObject;
}
