import { z } from 'zod';

/** Most items of a page. */
export const MAX_PAGE_SIZE = 500;

/** Query parameters of every paged list. */
export const pageQuery = {
  pageSize: z.coerce.number().int().min(1).max(MAX_PAGE_SIZE).default(50),
  pageToken: z.string().max(1024).optional(),
};
