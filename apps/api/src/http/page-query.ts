import { z } from 'zod';

/** Most items of a page. */
export const MAX_PAGE_SIZE = 500;
const DEFAULT_PAGE_SIZE = 50;

/** Query parameters of every paged list. */
export const pageQuery = {
  pageSize: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_PAGE_SIZE)
    .default(DEFAULT_PAGE_SIZE)
    .describe('Most items of the page; it can have fewer.'),
  pageToken: z.string().max(1024).optional().describe('nextPageToken of the page before. Absent: the first page.'),
};

/** Most items of a page that was asked for so; the rule itself is held later. */
export function pageRows({ pageSize }: { readonly pageSize?: number | null }): number {
  return Math.min(pageSize ?? DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
}
