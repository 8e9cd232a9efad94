import { layOutShards, shardAt, type ShardCell } from './shard-geometry.ts';
import { aTensorGroup } from './testing/a-tensor-group.ts';
import type { TensorGroup } from '@coxswain/api-types';

type Box = readonly [x: number, y: number, widthPx: number, heightPx: number];
const boxOf = ({ x, y, widthPx, heightPx }: ShardCell): Box => [x, y, widthPx, heightPx];
const boxes = (changes: Partial<TensorGroup>, widthPx = 600): readonly Box[] =>
  layOutShards([aTensorGroup(changes)], widthPx).cells.map(boxOf);

/** Below the line of the kind and the three lines of the group. */
const TOP = 24 + 50;
/** Height of a vector with its lines, and the gap below. */
const VECTOR = 50 + 20 + 18;

describe('the chunks of a group', () => {
  it.each<[sentence: string, group: Partial<TensorGroup>, want: readonly Box[]]>([
    ['are one box if it is saved whole', { grid: [1, 1] }, [[0, TOP, 220, 110]]],
    [
      'of rows lie below each other',
      {},
      [
        [0, TOP, 220, 55],
        [0, TOP + 55, 220, 55],
      ],
    ],
    [
      'of columns lie side by side',
      { grid: [1, 2] },
      [
        [0, TOP, 110, 110],
        [110, TOP, 110, 110],
      ],
    ],
    [
      'of a vector lie in a strip',
      { shape: [8], grid: [2] },
      [
        [0, TOP, 110, 20],
        [110, TOP, 110, 20],
      ],
    ],
    [
      'are as long as what they hold',
      { shape: [4], grid: [3] },
      [
        [0, TOP, 55, 20],
        [55, TOP, 55, 20],
        [110, TOP, 110, 20],
      ],
    ],
    [
      'of experts lie below each other',
      { shape: [2, 1, 2], grid: [2, 1, 1] },
      [
        [0, TOP, 220, 55],
        [0, TOP + 55, 220, 55],
      ],
    ],
    ['of a single number are one box', { shape: [], grid: [] }, [[0, TOP, 220, 20]]],
    ['of nothing are one box', { shape: [0], grid: [1] }, [[0, TOP, 220, 20]]],
    ['that cannot be told apart are one box', { shape: [9000], grid: [100] }, [[0, TOP, 220, 20]]],
    ['without number are one box', { shape: [1e9, 1], grid: [1e9, 1] }, [[0, TOP, 220, 220]]],
  ])('%s', (_sentence, group, want) => {
    expect(boxes(group)).toEqual(want);
  });

  it.each<[sentence: string, group: Partial<TensorGroup>, want: readonly (number | undefined)[]]>([
    ['count in the order of the memory', { grid: [2, 2] }, [0, 1, 2, 3]],
    ['have no number if they are too many', { shape: [9000], grid: [100] }, [undefined]],
  ])('%s', (_sentence, group, want) => {
    expect(layOutShards([aTensorGroup(group)], 600).cells.map(({ chunk }) => chunk)).toEqual(want);
  });
});

describe('groups', () => {
  const whole = (changes: Partial<TensorGroup>) => aTensorGroup({ shape: [4], grid: [1], ...changes });

  it.each<[sentence: string, widthPx: number, want: readonly Box[]]>([
    [
      'lie side by side where there is room',
      600,
      [
        [0, TOP, 220, 20],
        [238, TOP, 220, 20],
        [0, TOP + VECTOR, 220, 20],
      ],
    ],
    [
      'lie below each other on a phone',
      300,
      [
        [0, TOP, 300, 20],
        [0, TOP + VECTOR, 300, 20],
        [0, TOP + 2 * VECTOR, 300, 20],
      ],
    ],
  ])('%s', (_sentence, widthPx, want) => {
    expect(layOutShards([whole({}), whole({}), whole({})], widthPx).cells.map(boxOf)).toEqual(want);
  });

  it('lie below the name of their kind, in an order of kinds; an unknown kind is another one', () => {
    const groups = [whole({ kind: 'quantum' as 'other' }), whole({ kind: 'moment' }), whole({})];
    const { labels, heightPx } = layOutShards(groups, 600);
    expect(labels.filter(({ kind }) => kind === 'kind').map(({ text, y }) => [text, y])).toEqual([
      ['Parameters', 2],
      ['Moments of the optimizer', 24 + VECTOR + 2],
      ['Other tensors', 2 * (24 + VECTOR) + 2],
    ]);
    expect(heightPx).toBe(3 * (24 + VECTOR) - 18);
  });

  it('have their names and facts above them', () => {
    const { labels } = layOutShards([aTensorGroup()], 600);
    expect(labels.slice(1).map(({ text }) => text)).toEqual(['w.{0..3}', '8 × 4 bfloat16', '4 tensors · 2 chunks']);
  });

  it('are higher if they have many rows of chunks', () => {
    const { cells } = layOutShards([aTensorGroup({ shape: [50, 1], grid: [50, 1] })], 600);
    expect(cells.map(({ heightPx }) => Math.round(heightPx))).toEqual(Array.from({ length: 50 }, () => 4));
  });

  it('do not draw the tensors that have no group of their own', () => {
    expect(layOutShards([aTensorGroup({ name: '*', shape: [], grid: [] })], 600).cells).toEqual([]);
  });

  it('are nothing without groups', () => {
    expect(layOutShards([], 600)).toEqual({ heightPx: 0, cells: [], labels: [] });
  });
});

describe('under a point', () => {
  it.each<[sentence: string, x: number, y: number, want: number | undefined]>([
    ['is the chunk there', 5, TOP + 60, 1],
    ['is nothing beside chunks', 300, TOP + 5, undefined],
    ['is nothing on the names', 5, 5, undefined],
  ])('%s', (_sentence, x, y, want) => {
    expect(shardAt(layOutShards([aTensorGroup()], 600), x, y)?.chunk).toBe(want);
  });
});
