import type { KubeObject } from '@coxswain/kube';

/** A JSON patch that takes that finalizer from the object, and does nothing to another one of its name or where the finalizer has moved. */
export function withoutFinalizer({ metadata }: KubeObject, finalizer: string): readonly Record<string, unknown>[] {
  const entry = `/metadata/finalizers/${(metadata.finalizers ?? []).indexOf(finalizer)}`;
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path: entry, value: finalizer },
    { op: 'remove', path: entry },
  ];
}
