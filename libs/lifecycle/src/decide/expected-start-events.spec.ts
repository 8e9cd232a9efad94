import type { ExpectedStart } from '@coxswain/api-types';
import type { JobRecord } from '../record/job-record.ts';
import { startExpected } from './expected-start-events.ts';

const HELD: ExpectedStart = {
  at: '2026-01-01T03:00:00Z',
  restsOn: 'Measured',
  nodes: 16,
  promisedAt: '2026-01-01T00:00:00Z',
  firstPromised: '2026-01-01T02:00:00Z',
};
const MOVED = { moved: 'Job "a" runs longer than was predicted.', movedAt: '2026-01-01T01:00:00Z' };

describe('Event StartExpected', () => {
  const eventsOf = (expectedStart?: ExpectedStart) => startExpected({ expectedStart, epoch: 2 } as JobRecord);
  it.each<[string, ExpectedStart | undefined, readonly (readonly [at: string, message: string])[]]>([
    ['does not exist while no nodes are held', undefined, []],
    [
      'reports since when nodes are held, and the expected start',
      HELD,
      [
        [
          '2026-01-01T00:00:00Z',
          'The job is first in line: 16 nodes are held for it, and it is expected to start at 2026-01-01T03:00Z, by the measured steps of the jobs that use them.',
        ],
      ],
    ],
    [
      'reports each later start with its reason',
      { ...HELD, ...MOVED },
      [
        ['2026-01-01T00:00:00Z', expect.not.stringContaining('moved') as string],
        [
          '2026-01-01T01:00:00Z',
          'The job is now expected to start at 2026-01-01T03:00Z. Job "a" runs longer than was predicted.',
        ],
      ],
    ],
  ])('%s', (_sentence, held, want) => {
    expect(eventsOf(held).map(({ at, message }) => [at, message])).toEqual(want);
  });

  it('of a later start has another key, so that it is written once and beside the first', () => {
    const keys = [HELD, { ...HELD, ...MOVED }].flatMap((held) => eventsOf(held).map(({ key }) => key));
    expect([keys[0] === keys[1], new Set(keys).size]).toEqual([true, 2]);
  });
});
