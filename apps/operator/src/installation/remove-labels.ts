import { labelChange, publishedOf } from '@coxswain/fabric';
import { isConflict, isNotFound, KubeApiError, type KubeClient, type KubeObject, listPages } from '@coxswain/kube';
import { nodesPath } from '../cluster/paths.ts';

/** A whole node is 20 kB and more. */
const NODES_PER_PAGE = 100;
const CALLS_AT_ONCE = 16;

/** Removes the inferred fabric labels from nodes, for an uninstall. Resolves with the number of nodes. Without the right to read nodes none were written. */
export async function removeLabels({
  client,
}: {
  readonly client: Pick<KubeClient, 'list' | 'patch'>;
}): Promise<number> {
  let labelled = 0;
  try {
    for await (const page of listPages(client, nodesPath(), { pageSize: NODES_PER_PAGE })) {
      const ours = page.flatMap((node) => {
        const labels = labelChange(publishedOf(node.metadata.labels ?? {}), {});
        return labels === undefined ? [] : [{ node, labels }];
      });
      for (let start = 0; start < ours.length; start += CALLS_AT_ONCE)
        await Promise.all(ours.slice(start, start + CALLS_AT_ONCE).map((one) => take(client, one)));
      labelled += ours.length;
    }
  } catch (error) {
    if (!(error instanceof KubeApiError && error.status === 403)) throw error;
  }
  return labelled;
}

async function take(
  client: Pick<KubeClient, 'patch'>,
  { node, labels }: { readonly node: KubeObject; readonly labels: object },
): Promise<void> {
  const { name, uid } = node.metadata;
  try {
    await client.patch(nodesPath(name), { metadata: { uid, labels } }, { type: 'merge' });
  } catch (error) {
    // The node was deleted or replaced; a new node has none of our labels.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
