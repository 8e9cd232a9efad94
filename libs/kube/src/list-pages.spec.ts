import { listPages } from './list-pages.ts';

/** A collection of so many objects, and what was asked for. */
function aCollection(size: number) {
  const asked: object[] = [];
  const list = async (_path: string, options: { readonly limit?: number; readonly continue?: string }) => {
    asked.push(options);
    const start = Number(options.continue ?? 0);
    const end = start + (options.limit ?? size);
    const items = Array.from({ length: Math.min(end, size) - start }, (_, index) => ({ name: `n${start + index}` }));
    return { metadata: end < size ? { continue: String(end) } : { continue: '' }, items };
  };
  return { asked, client: { list } as never as Parameters<typeof listPages>[0] };
}

describe('a collection in pages', () => {
  it.each<[string, number, readonly number[]]>([
    ['is one page where it is empty', 0, [0]],
    ['is one page where it fits', 2, [2]],
    ['goes on to its end', 5, [2, 2, 1]],
  ])('%s', async (_sentence, size, want) => {
    const { client } = aCollection(size);
    const pages: number[] = [];
    for await (const page of listPages(client, '/api/v1/nodes', { pageSize: 2 })) pages.push(page.length);
    expect(pages).toEqual(want);
  });

  it('is not asked further than it is read, and by the same selector all the way', async () => {
    const { client, asked } = aCollection(9);
    let pages = 0;
    for await (const _ of listPages(client, '/api/v1/pods', { pageSize: 2, fieldSelector: 'spec.nodeName!=' })) {
      pages += 1;
      if (pages === 2) break;
    }
    const fieldSelector = 'spec.nodeName!=';
    expect(asked).toEqual([
      { limit: 2, fieldSelector },
      { limit: 2, fieldSelector, continue: '2' },
    ]);
  });
});
