import { KeptLogBounds } from '@coxswain/api-types';
import { attemptsToRemove, boundsOfWriter, type KeptAttempt, keptAttempt } from './log-bounds.ts';
import { parseSegmentPath, segmentPath } from './log-segments.ts';

const MIB = 1_048_576;

describe('the share of a writer', () => {
  it.each([
    [
      '8 ranks: the bound of a rank',
      { worldSize: 8, ranks: 1, isRemote: false },
      { bytes: 16 * MIB, segmentBytes: 4 * MIB },
    ],
    [
      '8,192 ranks: half of the job’s bound for all',
      { worldSize: 8_192, ranks: 1, isRemote: false },
      { bytes: MIB / 2, segmentBytes: MIB / 8 },
    ],
    [
      '8 ranks of one program together',
      { worldSize: 8, ranks: 8, isRemote: false },
      { bytes: 128 * MIB, segmentBytes: 4 * MIB },
    ],
    ['a bucket: small objects', { worldSize: 8, ranks: 1, isRemote: true }, { bytes: 16 * MIB, segmentBytes: MIB }],
    ['so many ranks that nothing is left', { worldSize: 1_000_000, ranks: 1, isRemote: false }, undefined],
  ])('%s', (_what, { worldSize, ...writer }, expected) => {
    expect(boundsOfWriter(KeptLogBounds.parse({}), worldSize, writer)).toEqual(expected);
  });

  it('is zero if no logs are to be kept', () => {
    expect(boundsOfWriter(KeptLogBounds.parse({ rankBytes: 0 }), 8, { ranks: 1, isRemote: false })).toBeUndefined();
  });
});

describe('attempts that are removed when one begins', () => {
  const bounds = { rankBytes: MIB, jobBytes: 4 * MIB, projectBytes: 6 * MIB };
  const own = { job: 'a-1', epoch: 5, worldSize: 1 };
  const HOUR_MS = 3_600_000;
  const nowMs = 100 * HOUR_MS;
  const attempt = (job: string, epoch: number, newestMs: number, bytes = MIB): KeptAttempt => ({
    job,
    epoch,
    newestMs,
    bytes,
  });

  it.each<[string, KeptAttempt[], string[]]>([
    ['none while they fit', [attempt('a-1', 3, 3), attempt('a-1', 4, 4)], []],
    ['the oldest of the job', [1, 2, 3, 4].map((epoch) => attempt('a-1', epoch, epoch)), ['a-1/1']],
    ['of the job also if it was just written to', [1, 2, 3, 4].map((at) => attempt('a-1', at, nowMs)), ['a-1/1']],
    ['none of this attempt or a later one', [attempt('a-1', 5, 1, 9 * MIB), attempt('a-1', 6, 1, 9 * MIB)], []],
    [
      'of other jobs the one that was written to longest ago',
      [attempt('b-2', 9, 8, 3 * MIB), attempt('c-3', 1, 7, 3 * MIB)],
      ['c-3/1'],
    ],
    [
      'none of another job that was written to within an hour, but one beside it',
      [attempt('b-2', 9, nowMs - HOUR_MS / 2, 9 * MIB), attempt('c-3', 1, nowMs - 2 * HOUR_MS, MIB)],
      ['c-3/1'],
    ],
  ])('%s', (_what, attempts, expected) => {
    const removed = attemptsToRemove(attempts, own, { bounds, nowMs });
    expect(removed.map(({ job, epoch }) => `${job}/${epoch}`)).toEqual(expected);
  });

  it('have the time of their last write, and files without bytes count as well', () => {
    const files = [
      { startMs: 5, writtenMs: 9, bytes: 0 },
      { startMs: 7, bytes: 5_000 },
    ];
    expect(keptAttempt({ job: 'a-1', epoch: 1 }, files)).toEqual(attempt('a-1', 1, 9, 9_096));
  });
});

describe('the path of a segment', () => {
  const segment = { epoch: 12, firstRank: 8, lastRank: 15, incarnation: 2, number: 7, startMs: 1_764_444_139_123 };

  it('is read as it is written', () => {
    expect(segmentPath(segment)).toBe('attempt-12/rank-8-15/0002-000007-1764444139123.log');
    expect(parseSegmentPath(segmentPath(segment))).toEqual(segment);
    expect(parseSegmentPath(segmentPath({ ...segment, lastRank: 8 }))).toEqual({ ...segment, lastRank: 8 });
  });

  it.each([
    'attempt-1/rank-0/../../x.log',
    '../attempt-1/rank-0/0001-000001-1764444139123.log',
    'attempt-1/rank-0/notes.txt',
  ])('is not %s', (path) => {
    expect(parseSegmentPath(path)).toBeUndefined();
  });
});
