import { z } from 'zod';
import type { HeldTime, Period } from './held-within.ts';

/** What an administrator asks for an hour of a GPU. */
export const PriceList = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'three capital letters of ISO 4217, such as USD')
    .describe('Of every price.'),
  perGpuHour: z
    .record(z.string(), z.number().min(0))
    .describe('Price by the planner’s name of the GPU, such as h100; `default` is for all others.'),
});
export type PriceList = z.infer<typeof PriceList>;

/** A job that held GPUs within the period. */
export interface HeldJob {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly project: string;
  readonly owner: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** The planner’s name; undefined: the job was not planned. */
  readonly gpuType: string | undefined;
  readonly held: HeldTime;
}

/** Columns of FOCUS 1.2 (FinOps Open Cost and Usage Specification), in its order by name, and ours, which begin with x_. Null: the column does not apply. */
export type CostRow = Readonly<Record<string, string | number | null>>;

/** Name under which Coxswain is the provider of every charge. */
const PROVIDER = 'Coxswain';
const UNIT = 'GPU-Hours';

/** One row for each job. Throws an error that names every type of GPU without a price. */
export function costRows(
  jobs: readonly HeldJob[],
  { prices, period }: { readonly prices: PriceList; readonly period: Period },
): readonly CostRow[] {
  const priceOf = ({ gpuType }: HeldJob): number | undefined =>
    prices.perGpuHour[gpuType ?? 'default'] ?? prices.perGpuHour['default'];
  const unpriced = [
    ...new Set(jobs.filter((job) => priceOf(job) === undefined).map(({ gpuType }) => gpuType ?? 'default')),
  ];
  if (unpriced.length > 0) {
    throw new Error(
      `perGpuHour has no price of ${unpriced.sort().join(', ')}; add each, or \`default\` for all others`,
    );
  }
  return jobs.map((job) => rowOf(job, { price: priceOf(job) ?? 0, currency: prices.currency, period }));
}

interface Charge {
  readonly price: number;
  readonly currency: string;
  readonly period: Period;
}

function rowOf(job: HeldJob, { price, currency, period }: Charge): CostRow {
  const { held, gpuType = 'default' } = job;
  const hours = rounded(held.gpuSeconds / 3600);
  const cost = rounded(hours * price);
  return {
    BilledCost: cost,
    BillingAccountId: job.cluster,
    BillingAccountName: job.cluster,
    BillingAccountType: 'Cluster',
    BillingCurrency: currency,
    BillingPeriodEnd: timeOf(period.toMs),
    BillingPeriodStart: timeOf(period.fromMs),
    ChargeCategory: 'Usage',
    ChargeClass: null,
    ChargeDescription: `GPUs that the training job ${job.namespace}/${job.name} held`,
    ChargeFrequency: 'Usage-Based',
    ChargePeriodEnd: timeOf(held.toMs),
    ChargePeriodStart: timeOf(held.fromMs),
    ConsumedQuantity: hours,
    ConsumedUnit: UNIT,
    ContractedCost: cost,
    ContractedUnitPrice: price,
    EffectiveCost: cost,
    InvoiceIssuerName: PROVIDER,
    ListCost: cost,
    ListUnitPrice: price,
    PricingCategory: 'Standard',
    PricingQuantity: hours,
    PricingUnit: UNIT,
    ProviderName: PROVIDER,
    PublisherName: PROVIDER,
    ResourceId: job.id,
    ResourceName: job.name,
    ResourceType: 'Training job',
    ServiceCategory: 'AI and Machine Learning',
    ServiceName: 'Training',
    SkuId: gpuType,
    SkuPriceId: gpuType,
    SubAccountId: job.project,
    SubAccountName: job.project,
    SubAccountType: 'Project',
    Tags: JSON.stringify({ ...job.labels, ...(job.owner === null ? {} : { owner: job.owner }) }),
    x_Namespace: job.namespace,
    x_ProductiveGpuHours: rounded(held.productiveGpuSeconds / 3600),
  };
}

/** To a millionth: binary fractions have many digits, and costs of seconds few that count. */
function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Rows as CSV (RFC 4180, with a line feed between lines), below a line of names. Empty without rows. */
export function costCsv(rows: readonly CostRow[]): string {
  const [first] = rows;
  if (first === undefined) return '';
  const lines = [Object.keys(first), ...rows.map((row) => Object.values(row))];
  return lines.map((cells) => cells.map(cellOf).join(',')).join('\n');
}

function cellOf(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
