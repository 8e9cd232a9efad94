import { type CostRow, type JobCost, type JobGoodput, OTHER_GPUS, type PriceList } from '@coxswain/api-types';
import type { HeldTime, Period } from './held-within.ts';

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

/** Name under which Coxswain is the provider of every charge. */
const PROVIDER = 'Coxswain';
const UNIT = 'GPU-Hours';

const SECONDS_PER_HOUR = 3600;

/** What an hour of the GPU costs; undefined: the list has no price of it. */
function priceOf(gpuType: string | undefined, { perGpuHour }: PriceList): number | undefined {
  return perGpuHour[gpuType ?? OTHER_GPUS] ?? perGpuHour[OTHER_GPUS];
}

/** What GPU time costs, rounded alike wherever it is shown. */
function chargeOf(gpuSeconds: number, price: number): number {
  return rounded(rounded(gpuSeconds / SECONDS_PER_HOUR) * price);
}

/** What a job cost until its goodput was read. GPUs that lost nodes keep cost nothing, as in {@link costRows}. Null: the list has no price of its GPU. */
export function costSoFar(
  { shares }: Pick<JobGoodput, 'shares'>,
  { gpuType, prices }: { readonly gpuType: string | undefined; readonly prices: PriceList },
): JobCost | null {
  const price = priceOf(gpuType, prices);
  if (price === undefined) return null;
  const seconds = shares.reduce((sum, { category, gpuSeconds }) => sum + (category === 'lostNode' ? 0 : gpuSeconds), 0);
  return { amount: chargeOf(seconds, price), currency: prices.currency };
}

/** One row for each job. Without a price of its GPU, its costs are null. */
export function costRows(
  jobs: readonly HeldJob[],
  { prices, period }: { readonly prices: PriceList; readonly period: Period },
): readonly CostRow[] {
  return jobs.map((job) =>
    rowOf(job, { price: priceOf(job.gpuType, prices) ?? null, currency: prices.currency, period }),
  );
}

interface Charge {
  /** Null: the list has none. */
  readonly price: number | null;
  readonly currency: string;
  readonly period: Period;
}

function rowOf(job: HeldJob, { price, currency, period }: Charge): CostRow {
  const { held, gpuType = OTHER_GPUS } = job;
  const hours = rounded(held.gpuSeconds / SECONDS_PER_HOUR);
  const cost = price === null ? null : chargeOf(held.gpuSeconds, price);
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
    x_ProductiveGpuHours: rounded(held.productiveGpuSeconds / SECONDS_PER_HOUR),
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
