import type { FakeAnswer } from '@coxswain/api-client/testing';
import type { Job } from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { type Outcome, type Routes, runCommand } from '../testing/run-command.ts';

const JOBS = '/v1/projects/research/jobs';
const idOf = (name: string): string => `00000000-0000-4000-8000-0000000000${name}`;
const ended = (name: string, finishedAt: string, state: Job['state'] = 'Complete'): Job =>
  aJob({ id: idOf(name), name: `job-${name}`, state, finishedAt, owner: 'ada' });
/** It is the 10th of January. */
const ENDED = [
  ended('01', '2025-11-01T00:00:00.000Z'),
  ended('02', '2025-11-02T00:00:00.000Z', 'Refused'),
  ended('03', '2025-11-03T00:00:00.000Z', 'Deleting'),
  ended('04', '2025-12-10T23:59:59.000Z', 'Failed'),
  ended('05', '2025-12-11T00:00:00.000Z'),
];
const listed: Routes = {
  [`GET ${JOBS}?orderBy=finishedAt&direction=asc&pageSize=100`]: { json: { items: ENDED } },
};
const taken: FakeAnswer = { text: '', status: 202 };
const refusing = (status: number, code: 'RATE_LIMITED' | 'NOT_FOUND' | 'FORBIDDEN' | 'UNAVAILABLE'): FakeAnswer => ({
  problem: { status, code, detail: 'no' },
});
const deletedIn = ({ requests }: Outcome): readonly string[] =>
  requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path.slice(-2));
const remove = (argv: string, first: FakeAnswer | readonly FakeAnswer[] = taken): Promise<Outcome> =>
  runCommand(`delete ${argv}`, {
    ...listed,
    [`DELETE ${JOBS}/${idOf('01')}`]: first,
    [`DELETE ${JOBS}/${idOf('04')}`]: taken,
  });

describe('coxswain delete --ended-before', () => {
  it('deletes those that ended so long ago, the longest ended first, but none that is only a record or is being deleted', async () => {
    const outcome = await remove('--ended-before 30d');
    expect([outcome.code, deletedIn(outcome)]).toEqual([0, ['01', '04']]);
    expect(outcome.out).toBe('Deleting job-01 (1 of 2).\nDeleting job-04 (2 of 2).');
  });

  it('with --dry-run shows them and deletes none', async () => {
    const outcome = await remove('--ended-before 30d --dry-run');
    expect([outcome.code, deletedIn(outcome)]).toEqual([0, []]);
    expect(outcome.out.split('\n')).toEqual([
      'NAME    STATE     OWNER  ENDED',
      expect.stringMatching(/^job-01 {2}Complete {2}ada {4}\S.* ago$/),
      expect.stringMatching(/^job-04 {2}Failed {4}ada {4}\S.* ago$/),
      '2 would be deleted; leave --dry-run out to delete them.',
    ]);
  });

  it('asks for those with labels where a selector is given', async () => {
    const { requests } = await remove('--ended-before 30d --selector team=vision');
    expect(requests.at(-1)?.path).toBe(
      `${JOBS}?orderBy=finishedAt&direction=asc&labelSelector=team%3Dvision&pageSize=100`,
    );
  });

  it.each<[string, FakeAnswer | readonly FakeAnswer[], readonly unknown[]]>([
    ['waits where it asks too often', [refusing(429, 'RATE_LIMITED'), taken], [0, ['01', '01', '04'], '']],
    ['passes over one that was deleted meanwhile', refusing(404, 'NOT_FOUND'), [0, ['01', '04'], '']],
    [
      'goes on behind one that it may not delete, and says so',
      refusing(403, 'FORBIDDEN'),
      [1, ['01', '04'], 'job-01 was not deleted: no (FORBIDDEN)\n1 of 2 jobs were not deleted.'],
    ],
    ['ends where the API cannot', refusing(503, 'UNAVAILABLE'), [1, ['01'], 'no (UNAVAILABLE)']],
  ])('%s', async (_sentence, first, want) => {
    const outcome = await remove('--ended-before 30d', first);
    expect([outcome.code, deletedIn(outcome), outcome.err]).toEqual(want);
  });

  it('says so where there is none', async () => {
    expect((await remove('--ended-before 52w')).out).toBe('No job ended that long ago.');
    expect((await remove('--ended-before 52w --dry-run')).out).toBe('No job ended that long ago.');
  });

  it('deletes none where nothing can have ended so long ago', async () => {
    expect(deletedIn(await remove('--ended-before 999999999d'))).toEqual([]);
  });

  it.each([
    ['', /Name a job, or use --ended-before 30d/],
    ['--dry-run', /Name a job, or use --ended-before 30d/],
    ['tiny-gpt --ended-before 30d', /Give a job or --ended-before, not both/],
    ['--ended-before soon', /"soon" is not a duration such as 12h or 30d/],
    ['--ended-before 30d --selector=', /--selector is empty, which would select every job/],
  ])('"delete %s" deletes nothing', async (argv, err) => {
    const outcome = await remove(argv);
    expect([outcome.code, deletedIn(outcome)]).toEqual([1, []]);
    expect(outcome.err).toMatch(err);
  });
});
