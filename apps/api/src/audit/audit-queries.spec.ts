import { AuditQuery } from './audit-queries.ts';

describe('a time of a question to the audit', () => {
  it.each([
    ['2030-01-31T00:00:00Z', '2030-01-31T00:00:00.000Z'],
    ['2030-01-31T00:00:00.123456+02:00', '2030-01-30T22:00:00.123Z'],
    ['2030-01-31T00:00:00+23:59', '2030-01-30T00:01:00.000Z'],
  ])('%s is understood', (since, want) => {
    expect(AuditQuery.parse({ since })).toMatchObject({ since: want });
  });

  it.each([
    'yesterday',
    '2030-01-31',
    '2030-01-31T00:00:00',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-23:59',
    '2030-02-30T00:00:00Z',
    '',
  ])('%j is refused once, with what to write', (since) => {
    const message = 'must be a time with its zone such as 2030-01-31T00:00:00Z';
    expect(AuditQuery.safeParse({ since }).error?.issues).toEqual([
      expect.objectContaining({ path: ['since'], message }),
    ]);
  });
});
