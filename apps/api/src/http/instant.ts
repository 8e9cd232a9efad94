import { z } from 'zod';

const HOW = 'must be a time with its zone such as 2030-01-31T00:00:00Z';
const YEAR_10000_MS = Date.UTC(10_000, 0);
/** In UTC, in a year of four digits: a parser takes for times what PostgreSQL does not, such as the zone +23:59 or the year 0. */
export const instant = z.iso
  .datetime({ offset: true, error: HOW, abort: true })
  .refine((text) => Date.parse(text) >= 0 && Date.parse(text) < YEAR_10000_MS, HOW)
  .transform((text) => new Date(text).toISOString());
