import { z } from 'zod';
import { pageQuery } from '../http/page-query.ts';

const month = z
  .string()
  .regex(/^[0-9]{4}-(0[1-9]|1[0-2])$/, 'must be a month such as 2030-01')
  .optional()
  .describe('In UTC, such as 2030-01. Absent: this month so far.');

/** The month of the rows, and their page. */
export const CostQuery = z.strictObject({ month, ...pageQuery });
export type CostQuery = z.infer<typeof CostQuery>;

/** The month of the file. */
export const CostFileQuery = z.strictObject({ month });
export type CostFileQuery = z.infer<typeof CostFileQuery>;
