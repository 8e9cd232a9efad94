import type { JobGoodput } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Outcome, runCommand } from '../testing/run-command.ts';

const JOBS = 'GET /v1/projects/research/jobs';
/** Two GPUs for ten hours of December; they trained for five of them; the clock of the tests shows 10 January. */
const MONTHS: JobGoodput['months'] = [
  {
    ...{ month: '2025-12', from: '2025-12-05T00:00:00.000Z', to: '2025-12-05T10:00:00.000Z' },
    ...{ gpuSeconds: 72_000, productiveGpuSeconds: 36_000 },
  },
];

let directory: string;
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'coxswain-costs-'))));
afterEach(() => rmSync(directory, { recursive: true }));

function costs(
  options: string,
  {
    prices = 'currency: USD\nperGpuHour: { default: 2 }\n',
    months = MONTHS,
    gpuType,
  }: { readonly prices?: string; readonly months?: JobGoodput['months']; readonly gpuType?: string } = {},
): Promise<Outcome> {
  const file = join(directory, 'prices.yaml');
  writeFileSync(file, prices);
  const createdAt = '2025-12-01T00:00:00Z';
  const made = { chosenBy: 'Planner', gpus: 2, fabric: '8 GPUs', plannerVersion: '1', plannedAt: createdAt } as const;
  const plan = gpuType === undefined ? {} : { plan: { ...made, layout: aLayout(), gpuType } };
  const job = { ...aJob(), createdAt, ...plan };
  const goodput: JobGoodput = {
    asOf: '2026-01-09T12:00:00Z',
    ...{ gpuSeconds: 0, goodput: null, shares: [], heldSeconds: 0, waitingSeconds: 0, suspendedSeconds: 0 },
    spans: [],
    months,
    attemptsLeftOut: 0,
  };
  return runCommand(`costs --prices ${file} ${options}`, {
    [JOBS]: { json: { items: [job] } },
    [`${JOBS}/${job.id}`]: { json: job },
    [`${JOBS}/${job.id}/goodput`]: { json: goodput },
  });
}

describe('coxswain costs', () => {
  it('lists the jobs of the last month that is over, and their sum', async () => {
    const { code, out } = await costs('');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^JOB +GPU +GPU HOURS +PRODUCTIVE +USD\ntiny-gpt +\S+ +20\.0 +50\.0 % +40\.00\nIn all: 40\.00 USD$/,
    );
  });

  it('takes short names of GPUs, as the price list of the administrator does', async () => {
    const prices = 'currency: USD\nperGpuHour: { h100: 3, default: 2 }\n';
    const { out } = await costs('', { prices, gpuType: 'h100-sxm5-80gb' });
    expect(out).toMatch(/In all: 60\.00 USD$/);
  });

  it('names GPUs without a price', async () => {
    const { code, out } = await costs('', { prices: 'currency: USD\nperGpuHour: {}\n' });
    expect(code).toBe(0);
    expect(out).toMatch(/no price\nIn all: 0\.00 USD\nThe sum lacks jobs on \w+: /);
  });

  it('prints rows of FOCUS', async () => {
    const [names, row, ...more] = (await costs('--month 2025-12 --csv')).out.split('\n');
    expect(names).toMatch(/^BilledCost,BillingAccountId,/);
    expect(row).toMatch(/^40,/);
    expect(row).toContain('2025-12-05T10:00:00Z,2025-12-05T00:00:00Z,20,GPU-Hours');
    expect(more).toEqual([]);
  });

  it('has the rows of the API without a file, page by page', async () => {
    const row = { ResourceName: 'a', SkuId: 'h100', ConsumedQuantity: 1, x_ProductiveGpuHours: 1, BilledCost: 2.5 };
    const pages = [
      { json: { currency: 'EUR', items: [row], nextPageToken: 'next' } },
      { json: { currency: 'EUR', items: [{ ...row, ResourceName: 'b' }] } },
    ];
    const { code, out, requests } = await runCommand('costs', { 'GET /v1/projects/research/costs': pages });
    expect(requests.map(({ path }) => path).at(-1)).toContain('pageToken=next');
    expect([code, out]).toEqual([0, expect.stringMatching(/EUR\na [^]*\nb [^]*\nIn all: 5\.00 EUR$/)]);
  });

  it('of a month before the job asks for no ledger', async () => {
    const { out, requests } = await costs('--month 2025-11');
    expect(out).toBe('No job held GPUs in that month.');
    expect(requests.filter(({ path }) => path.endsWith('/goodput'))).toEqual([]);
  });

  it.each<[string, string, string, RegExp]>([
    [
      'a month that does not exist',
      '--month 2025-13',
      'currency: USD\nperGpuHour: {}\n',
      /"2025-13" is not a month; write 2030-01/,
    ],
    [
      'a list with several faults',
      '',
      'perGpuHour: { h100: -1 }\n',
      /is no list of prices:\n {2}currency: is required\n {2}perGpuHour.h100: is -1; it must be at least 0$/,
    ],
    [
      'a GPU that the planner does not know',
      '',
      'currency: USD\nperGpuHour: { h10: 1, default: 2 }\n',
      /is no list of prices:\n {2}perGpuHour\.h10: .*"h10" is not known; nearest: h100/,
    ],
  ])('rejects %s', async (_sentence, options, prices, words) => {
    const { code, err } = await costs(options, { prices });
    expect(code).toBe(1);
    expect(err).toMatch(words);
  });
});
