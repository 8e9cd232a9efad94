import { type JobGoodput, PriceList } from '@coxswain/api-types';
import { parse } from 'csv-parse/sync';
import { costCsv, costRows, costSoFar, type HeldJob } from './cost-rows.ts';
import { heldWithin, monthOf } from './held-within.ts';
import type { Span } from './ledger.ts';

const JANUARY = { fromMs: Date.parse('2026-01-01T00:00:00Z'), toMs: Date.parse('2026-02-01T00:00:00Z') };
type Spent = JobGoodput['spans'][number]['spent'];

function span(from: string, to: string, [spent, gpus]: readonly [Spent, number]): Span {
  return { fromMs: Date.parse(`${from}:00Z`), toMs: Date.parse(`${to}:00Z`), spent, gpus, epoch: null };
}

describe('the GPU time of a job in January', () => {
  const at = (text: string): number => Date.parse(`${text}:00Z`);

  it.each<[string, readonly Span[], object | undefined]>([
    ['is nothing before it held GPUs', [span('2026-01-02T00:00', '2026-01-03T00:00', ['waiting', 0])], undefined],
    [
      'is nothing where it ran in another month',
      [span('2025-12-01T00:00', '2025-12-02T00:00', ['productive', 8])],
      undefined,
    ],
    [
      'counts every GPU, and apart those that trained',
      [
        span('2026-01-02T00:00', '2026-01-02T01:00', ['initialisation', 8]),
        span('2026-01-02T01:00', '2026-01-02T03:00', ['productive', 8]),
      ],
      {
        fromMs: at('2026-01-02T00:00'),
        toMs: at('2026-01-02T03:00'),
        gpuSeconds: 24 * 3600,
        productiveGpuSeconds: 16 * 3600,
      },
    ],
    [
      'ends with the month, and begins with it',
      [span('2025-12-31T23:00', '2026-02-01T01:00', ['productive', 1])],
      { ...JANUARY, gpuSeconds: 31 * 24 * 3600, productiveGpuSeconds: 31 * 24 * 3600 },
    ],
  ])('%s', (_sentence, spans, want) => {
    expect(heldWithin({ spans, standbys: [] }, JANUARY)).toEqual(want);
  });
});

const held = { ...JANUARY, gpuSeconds: 5400, productiveGpuSeconds: 3600 };

function job(changes: Partial<HeldJob> = {}): HeldJob {
  const names = { id: 'b1', name: 'tiny', namespace: 'research', cluster: 'main', project: 'research', owner: 'ada' };
  return { ...names, labels: { team: 'a, "b"' }, gpuType: 'h100', held, ...changes };
}

describe('rows of costs', () => {
  const prices = { currency: 'USD', perGpuHour: { h100: 2.5, default: 1 } };

  it.each<[string, HeldJob, number]>([
    ['the price of its GPU', job(), 3.75],
    ['the default for a GPU that is not listed', job({ gpuType: 'b200' }), 1.5],
    ['the default where its GPU is not known', job({ gpuType: undefined }), 1.5],
  ])('a job costs %s', (_sentence, one, cost) => {
    const [row] = costRows([one], { prices, period: JANUARY });
    expect(row).toMatchObject({
      BilledCost: cost,
      EffectiveCost: cost,
      ListCost: cost,
      ContractedCost: cost,
      ConsumedQuantity: 1.5,
    });
  });

  it('a job without a price has null costs, and the others have theirs', () => {
    const jobs = [job(), job({ gpuType: 'b200' })];
    const rows = costRows(jobs, { prices: { currency: 'USD', perGpuHour: { h100: 2 } }, period: JANUARY });
    expect(rows.map(({ SkuId, BilledCost, ListUnitPrice }) => [SkuId, BilledCost, ListUnitPrice])).toEqual([
      ['h100', 3, 2],
      ['b200', null, null],
    ]);
  });

  it('become CSV that reads back as it was, with the columns that FOCUS 1.2 requires', () => {
    const rows = costRows([job(), job({ name: 'other', owner: null })], { prices, period: JANUARY });
    const read = parse(costCsv(rows), { columns: true }) as Record<string, string>[];
    expect(read).toHaveLength(2);
    expect(read[0]).toMatchObject({
      ...{
        BillingPeriodStart: '2026-01-01T00:00:00Z',
        BillingPeriodEnd: '2026-02-01T00:00:00Z',
        BillingCurrency: 'USD',
      },
      ...{
        ChargeCategory: 'Usage',
        ChargeClass: '',
        ResourceName: 'tiny',
        SubAccountName: 'research',
        x_ProductiveGpuHours: '1',
      },
    });
    expect(JSON.parse(read[0]?.['Tags'] ?? '')).toEqual({ team: 'a, "b"', owner: 'ada' });
    expect(REQUIRED.filter((name) => !(name in (read[0] ?? {})))).toEqual([]);
  });

  it('without jobs are no text', () => {
    expect(costCsv(costRows([], { prices, period: JANUARY }))).toBe('');
  });
});

describe('what a job cost so far', () => {
  const shares: JobGoodput['shares'] = [
    { category: 'productive', gpuSeconds: 5400, share: 0.5 },
    { category: 'initialisation', gpuSeconds: 1800, share: 0.2 },
    { category: 'lostNode', gpuSeconds: 3600, share: 0.3 },
  ];
  const prices = { currency: 'EUR', perGpuHour: { h100: 2.5 } };

  it('is each GPU-hour that it held, but those of lost nodes', () => {
    expect(costSoFar({ shares }, { gpuType: 'h100', prices })).toEqual({ amount: 5, currency: 'EUR' });
  });
  it.each(['b200', undefined])('is not known without a price of %s', (gpuType) => {
    expect(costSoFar({ shares }, { gpuType, prices })).toBeNull();
  });
});

it.each<[string, [number, number] | undefined]>([
  ['2026-01', [JANUARY.fromMs, JANUARY.toMs]],
  ['2025-12', [Date.UTC(2025, 11), Date.UTC(2026, 0)]],
  ['2025-13', undefined],
  ['2025-1', undefined],
])('the month %s', (text, want) => {
  const month = monthOf(text);
  expect(month === undefined ? undefined : [month.fromMs, month.toMs]).toEqual(want);
});

/** "Feature level: Mandatory" of FOCUS 1.2. */
const REQUIRED = [
  ...[
    'BilledCost',
    'BillingAccountId',
    'BillingAccountName',
    'BillingCurrency',
    'BillingPeriodEnd',
    'BillingPeriodStart',
  ],
  ...['ChargeCategory', 'ChargeClass', 'ChargeDescription', 'ChargePeriodEnd', 'ChargePeriodStart', 'ContractedCost'],
  ...[
    'EffectiveCost',
    'InvoiceIssuerName',
    'ListCost',
    'PricingQuantity',
    'PricingUnit',
    'ProviderName',
    'PublisherName',
  ],
  ...['ServiceCategory', 'ServiceName'],
];

it.each<[string, unknown]>([
  ['a currency in words', { currency: 'dollars', perGpuHour: { h100: 1 } }],
  ['a price below zero', { currency: 'USD', perGpuHour: { h100: -1 } }],
  ['a price above a million', { currency: 'USD', perGpuHour: { h100: 1e300 } }],
  ['an unknown field', { currency: 'USD', perGpuHour: {}, perHour: 1 }],
])('a price list with %s is rejected', (_sentence, list) => {
  expect(PriceList.safeParse(list).success).toBe(false);
});
