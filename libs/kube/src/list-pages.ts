import type { KubeClient } from './kube-client.ts';
import type { KubeList, KubeObject } from './kube-object.ts';

export interface PagesAsked {
  /** Objects of a page. */
  readonly pageSize: number;
  readonly fieldSelector?: string;
}

/** A collection page by page, so that of a large one no more is held than is kept. Throws what the API server says, also in the middle. */
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
