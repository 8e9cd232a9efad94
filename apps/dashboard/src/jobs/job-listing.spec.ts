import { aJob } from '@coxswain/api-types/testing';
import { addressOf, ALL_JOBS, inOrder, listingOf, queryOf } from './job-listing.ts';

const formOf = (fields: Readonly<Record<string, string>>): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
};

describe('the form above the list of jobs', () => {
  it.each<[string, Readonly<Record<string, string>>, object]>([
    ['asks nothing when nothing was typed', {}, { orderBy: 'createdAt' }],
    [
      'asks what was typed',
      { search: ' llama 70b ', labels: 'team=vision,!old', owner: 'ada', state: 'Running', orderBy: 'name' },
      { q: 'llama 70b', labelSelector: 'team=vision,!old', owner: 'ada', state: 'Running', orderBy: 'name' },
    ],
    ['asks for no order that there is not', { orderBy: 'size' }, { orderBy: 'createdAt' }],
  ])('%s', (_sentence, fields, want) => {
    expect(queryOf(listingOf(formOf(fields)))).toEqual(want);
  });

  it.each<[string, string]>([
    ['nothing', ''],
    [
      'each filter and the order',
      'search=llama+70b&labels=team%3Dvision%2C%21old&owner=ada&state=Running&orderBy=name',
    ],
  ])('is in the address with %s', (_what, address) => {
    expect(addressOf(listingOf(new URLSearchParams(address))).toString()).toBe(address);
  });

  it('asks for every job at first', () => {
    expect(queryOf(ALL_JOBS)).toEqual({ orderBy: 'createdAt' });
  });
});

describe('jobs of several projects', () => {
  const jobs = [
    aJob({ name: 'b', createdAt: '2026-01-02T00:00:00Z', finishedAt: '2026-01-03T00:00:00Z' }),
    aJob({ name: 'a', createdAt: '2026-01-03T00:00:00Z', finishedAt: null }),
    aJob({ name: 'c', createdAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-04T00:00:00Z' }),
  ];
  it.each([
    ['createdAt', 'abc'],
    ['name', 'abc'],
    ['finishedAt', 'cba'],
  ] as const)('stand in one order by %s', (orderBy, want) => {
    expect(
      inOrder(jobs, orderBy)
        .map(({ name }) => name)
        .join(''),
    ).toBe(want);
  });
});
