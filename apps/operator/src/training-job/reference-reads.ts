/** Do the objects exist that a job's pods need? Read with GET, because claims and ConfigMaps are not watched. */
import type { ObjectReference, ReadReferences, ReferencedKind, ReferenceProblem } from '@coxswain/api-types';
import { isNotFound, resourcePath, type KubeClient, type KubeObject } from '@coxswain/kube';

const PLURALS: Readonly<Record<ReferencedKind, string>> = {
  PersistentVolumeClaim: 'persistentvolumeclaims',
  ConfigMap: 'configmaps',
};

/** Access modes with which pods of several nodes mount a claim. */
const OF_MANY_NODES: ReadonlySet<unknown> = new Set(['ReadWriteMany', 'ReadOnlyMany']);

interface ReadObject extends KubeObject {
  readonly spec?: { readonly accessModes?: unknown };
  readonly status?: { readonly phase?: unknown; readonly accessModes?: unknown };
}

interface Finding {
  readonly problem?: ReferenceProblem;
  readonly isOfOneNode?: boolean;
}

/** What pods can do with the objects. One that cannot be read counts as usable, by pods of any node: they will show what is wrong. */
export async function readReferences(
  client: Pick<KubeClient, 'get'>,
  namespace: string | undefined,
  references: readonly ObjectReference[],
): Promise<ReadReferences> {
  const found = await Promise.all(references.map((reference) => findingOf(client, namespace, reference)));
  return {
    unusable: references.flatMap((reference, index) => {
      const problem = found[index]?.problem;
      return problem === undefined ? [] : [{ ...reference, problem }];
    }),
    ofOneNode: references.filter((_, index) => found[index]?.isOfOneNode === true),
  };
}

async function findingOf(
  client: Pick<KubeClient, 'get'>,
  namespace: string | undefined,
  { kind, name }: ObjectReference,
): Promise<Finding> {
  const place = { name, ...(namespace === undefined ? {} : { namespace }) };
  const path = resourcePath({ group: '', version: 'v1', plural: PLURALS[kind], ...place });
  try {
    const { metadata, spec, status } = await client.get<ReadObject>(path);
    if (metadata.deletionTimestamp !== undefined) return { problem: 'deleting' };
    if (status?.phase === 'Lost') return { problem: 'lost' };
    // Those of the bound volume decide; a claim that waits for its first pod has those that it asks for.
    return { isOfOneNode: kind === 'PersistentVolumeClaim' && isOfOneNode(status?.accessModes ?? spec?.accessModes) };
  } catch (error) {
    return isNotFound(error) ? { problem: 'missing' } : {};
  }
}

function isOfOneNode(accessModes: unknown): boolean {
  return Array.isArray(accessModes) && accessModes.length > 0 && !accessModes.some((mode) => OF_MANY_NODES.has(mode));
}
