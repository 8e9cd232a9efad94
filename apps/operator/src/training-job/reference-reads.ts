/** Do the objects exist that a job's pods need? Read with GET, because claims and ConfigMaps are not watched. */
import type { ObjectReference, ReferencedKind, ReferenceProblem, UnusableReference } from '@coxswain/api-types';
import { isNotFound, resourcePath, type KubeClient, type KubeObject } from '@coxswain/kube';

const PLURALS: Readonly<Record<ReferencedKind, string>> = {
  PersistentVolumeClaim: 'persistentvolumeclaims',
  ConfigMap: 'configmaps',
};

/** The objects that pods cannot use. One that cannot be read counts as usable: its pods will show what is wrong. */
export async function readReferences(
  client: Pick<KubeClient, 'get'>,
  namespace: string | undefined,
  references: readonly ObjectReference[],
): Promise<readonly UnusableReference[]> {
  const read = references.map(async (reference): Promise<readonly UnusableReference[]> => {
    const problem = await problemOf(client, namespace, reference);
    return problem === undefined ? [] : [{ ...reference, problem }];
  });
  return (await Promise.all(read)).flat();
}

async function problemOf(
  client: Pick<KubeClient, 'get'>,
  namespace: string | undefined,
  { kind, name }: ObjectReference,
): Promise<ReferenceProblem | undefined> {
  const place = { name, ...(namespace === undefined ? {} : { namespace }) };
  const path = resourcePath({ group: '', version: 'v1', plural: PLURALS[kind], ...place });
  try {
    const { metadata, status } = await client.get<KubeObject & { readonly status?: { readonly phase?: unknown } }>(
      path,
    );
    if (metadata.deletionTimestamp !== undefined) return 'deleting';
    return status?.phase === 'Lost' ? 'lost' : undefined;
  } catch (error) {
    return isNotFound(error) ? 'missing' : undefined;
  }
}
