import { KeptLogBounds } from '@coxswain/api-types';
import { boundsOfWriter, filesToRemove } from './log-bounds.ts';
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

describe('files that an attempt removes when it begins', () => {
  const bounds = { rankBytes: MIB, jobBytes: 4 * MIB, projectBytes: 6 * MIB };
  const own = { job: 'a-1', epoch: 5, worldSize: 1 };
  const file = (job: string, epoch: number, startMs: number, bytes = MIB) => ({
    path: `${job}/${segmentPath({ epoch, firstRank: 0, lastRank: 0, incarnation: 1, number: 1, startMs })}`,
    bytes,
  });
  const removed = (files: readonly { path: string; bytes: number }[]): readonly string[] =>
    filesToRemove(files, own, bounds).map((path) => path.replace(/\/rank.*/, ''));

  it.each([
    ['none while they fit', [file('a-1', 3, 3), file('a-1', 4, 4)], []],
    [
      'the oldest of the job',
      [file('a-1', 1, 1), file('a-1', 2, 2), file('a-1', 3, 3), file('a-1', 4, 4)],
      ['a-1/attempt-1'],
    ],
    ['none of this attempt or a later one', [file('a-1', 5, 1, 9 * MIB), file('a-1', 6, 1, 9 * MIB)], []],
    [
      'of other jobs the one that was written to longest ago',
      [file('b-2', 9, 7, 3 * MIB), file('c-3', 1, 8, 3 * MIB)],
      ['b-2/attempt-9'],
    ],
    ['nothing that is no segment', [{ path: 'b-2/attempt-9/rank-0/mine.txt', bytes: 99 * MIB }], []],
    [
      'files without bytes count as well',
      Array.from({ length: 800 }, (_, at) => file('a-1', 1, at, 0)),
      ['a-1/attempt-1'],
    ],
  ])('%s', (_what, files, expected) => {
    expect([...new Set(removed(files))]).toEqual(expected);
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
