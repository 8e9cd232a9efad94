import type { KubeClient } from './kube-client.ts';
import type { KubeList, KubeObject } from './kube-object.ts';

/** Which pages to request. */
export interface PagesAsked {
  /** Objects of a page. */
  readonly pageSize: number;
  readonly fieldSelector?: string;
}

/** Yields a collection page by page, so that a large one is never held as a whole. Throws the API server's error, possibly between two pages. */
export async function* listPages(
  client: Pick<KubeClient, 'list'>,
  path: string,
  { pageSize, fieldSelector }: PagesAsked,
): AsyncGenerator<readonly KubeObject[]> {
  for (let next: string | undefined = ''; next !== undefined;) {
    const page: KubeList<KubeObject> = await client.list(path, {
      limit: pageSize,
      ...(next === '' ? {} : { continue: next }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    });
    yield page.items;
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  }
}
