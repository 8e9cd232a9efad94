import type { KubeObject } from '../kubernetes/apply.ts';

/** A folder of this machine as a volume, and the claim that takes it. */
export function claimObjects(options: {
  readonly namespace: string;
  readonly claim: string;
  readonly path: string;
  readonly volume: string;
}): { readonly volume: KubeObject; readonly claim: KubeObject } {
  const { namespace, claim, path, volume } = options;
  const shared = { accessModes: ['ReadWriteMany'], storageClassName: '' };
  const storage = '1Gi';
  const volumeSpec = {
    ...shared,
    capacity: { storage },
    persistentVolumeReclaimPolicy: 'Retain',
    hostPath: { path },
    claimRef: { namespace, name: claim },
  };
  const claimSpec = { ...shared, volumeName: volume, resources: { requests: { storage } } };
  return {
    volume: objectOf('PersistentVolume', { name: volume }, volumeSpec),
    claim: objectOf('PersistentVolumeClaim', { name: claim, namespace }, claimSpec),
  };
}

function objectOf(
  kind: string,
  metadata: KubeObject['metadata'],
  spec: object,
): KubeObject & { readonly spec: object } {
  return { apiVersion: 'v1', kind, metadata, spec };
}
