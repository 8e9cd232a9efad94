/** What GPU time costs, by the price list of the administrator. */
import { z } from 'zod';

/** Names the GPUs that have no price of their own, and those of jobs that were not planned. */
export const OTHER_GPUS = 'default';

/** What an administrator asks for an hour of a GPU. */
export const PriceList = z
  .strictObject({
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'three capital letters of ISO 4217, such as USD')
      .describe('Of every price.'),
    perGpuHour: z
      .record(z.string(), z.number().min(0).max(1e6))
      .describe('Price by the planner’s name of the GPU, such as h100; `default` is for all others.'),
  })
  .meta({ id: 'PriceList' });
export type PriceList = z.infer<typeof PriceList>;

/** What a job cost so far. */
export const JobCost = z
  .object({
    amount: z.number().min(0).describe('Held GPU-hours × the price, without those that lost nodes keep.'),
    currency: z.string().describe('Of ISO 4217.'),
  })
  .meta({ id: 'JobCost' });
export type JobCost = z.infer<typeof JobCost>;

/** A row of FOCUS 1.2 (FinOps Open Cost and Usage Specification), in its order by name, and our columns, which begin with x_. Null: the column does not apply. */
export const CostRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
export type CostRow = Readonly<z.infer<typeof CostRow>>;

/** A page of the costs of a month. */
export const CostList = z
  .object({
    currency: z.string().describe('Of the price list of the administrator.'),
    items: z.array(CostRow).describe('A row of FOCUS 1.2 for each job that held GPUs in the month, oldest job first.'),
    nextPageToken: z.string().optional(),
  })
  .meta({ id: 'CostList' });
export type CostList = z.infer<typeof CostList>;
