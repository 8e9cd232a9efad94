import type { CostList, CostRow, PriceList } from '@coxswain/api-types';
import { costCsv, costRows, type HeldJob, heldInMonth, monthOf, type Period } from '@coxswain/goodput';
import { NamedPrices } from '@coxswain/job-planning';
import { brokenSchemaRule } from '@coxswain/layout';
import { type Command, InvalidArgumentError } from 'commander';
import { CliError } from '../cli-error.ts';
import { readDocument } from '../files/read-document.ts';
import { columns } from '../output/output.ts';
import type { ProjectJobs } from '../session/project-jobs.ts';
import type { Session } from '../session/session.ts';

interface CostsOptions {
  readonly month?: string;
  readonly prices?: string;
  readonly csv?: true;
}

/** `coxswain costs` */
export function addCostsCommand(program: Command, session: Session): void {
  program
    .command('costs')
    .description('list what the GPU time of the jobs of a project cost in a month')
    .option('--month <month>', 'month in UTC, such as 2030-01 (default: the last one that is over)', monthText)
    .option('--prices <file>', 'prices per GPU and hour, in YAML or JSON (default: those of the administrator)')
    .option('--csv', 'print rows of FOCUS 1.2, for programs that compare costs of clouds')
    .addHelpText('after', EXAMPLES)
    .action(async ({ month = lastMonth(session.now()), prices, csv }: CostsOptions) => {
      const { items, currency } = await costsOf(session, month, prices);
      if (csv === true) session.print(costCsv(items));
      else session.show(items, (shown) => costText(shown, currency));
    });
}

const EXAMPLES = `
A file of prices; names of GPUs are those of \`coxswain presets gpus\`:
  currency: USD
  perGpuHour: { h100: 2.5, default: 2 }

Example:
  coxswain costs --month 2030-01 --prices prices.yaml --csv > 2030-01.csv`;

function monthText(text: string): string {
  if (monthOf(text) === undefined) throw new InvalidArgumentError(`"${text}" is not a month; write 2030-01.`);
  return text;
}

function lastMonth(now: Date): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
}

/** By the list of the file; without one, the API prices the jobs. */
async function costsOf(session: Session, month: string, file: string | undefined): Promise<CostList> {
  if (file === undefined) {
    const { api, project } = await session.open();
    return api.costs(project, month);
  }
  const prices = readPrices(file);
  const period = monthOf(month) ?? { fromMs: 0, toMs: 0 };
  const jobs = await heldJobs(await session.open(), period);
  return { currency: prices.currency, items: [...costRows(jobs, { prices, period })] };
}

function readPrices(path: string): PriceList {
  const read = NamedPrices.safeParse(readDocument(path), { reportInput: true });
  if (read.success) return read.data;
  const problems = read.error.issues.map(
    (issue) => `  ${issue.path.join('.') || 'the file'}: ${brokenSchemaRule(issue)}`,
  );
  throw new CliError(`${path} is no list of prices:\n${problems.join('\n')}`);
}

/** Jobs that were made after the month held nothing in it. */
async function heldJobs({ api, project }: ProjectJobs, month: Period): Promise<readonly HeldJob[]> {
  const found: HeldJob[] = [];
  for await (const { id, createdAt } of api.jobs(project)) {
    if (Date.parse(createdAt) >= month.toMs) continue;
    const { months } = await api.goodput({ project, id });
    if (months === undefined)
      throw new CliError(
        'the API is of an earlier release, which reports no months: upgrade it, or leave out --prices.',
      );
    const held = heldInMonth(months, new Date(month.fromMs).toISOString().slice(0, 7));
    if (held === undefined) continue;
    const { name, namespace, cluster, owner, labels, plan } = await api.job({ project, id });
    found.push({ id, name, namespace, cluster, project, owner, labels, gpuType: plan?.gpuType, held });
  }
  return found;
}

function costText(rows: readonly CostRow[], currency: string): string {
  if (rows.length === 0) return 'No job held GPUs in that month.';
  const lines = rows.map((row) => [
    String(row['ResourceName']),
    String(row['SkuId']),
    Number(row['ConsumedQuantity']).toFixed(1),
    share(row).padStart(10),
    isPriced(row) ? Number(row['BilledCost']).toFixed(2) : 'no price',
  ]);
  const unpriced = new Set(rows.filter((row) => !isPriced(row)).map((row) => String(row['SkuId'])));
  const total = rows.reduce((sum, row) => sum + Number(row['BilledCost']), 0);
  return [
    columns([['JOB', 'GPU', 'GPU HOURS', 'PRODUCTIVE', currency], ...lines]),
    `In all: ${total.toFixed(2)} ${currency}`,
    ...(unpriced.size === 0
      ? []
      : [
          `The sum lacks jobs on ${[...unpriced].join(', ')}: the list of prices has none of these GPUs, and no \`default\`.`,
        ]),
  ].join('\n');
}

function isPriced(row: CostRow): boolean {
  return row['BilledCost'] !== null;
}

function share(row: CostRow): string {
  const hours = Number(row['ConsumedQuantity']);
  return `${hours === 0 ? '0.0' : ((100 * Number(row['x_ProductiveGpuHours'])) / hours).toFixed(1)} %`;
}
