import type { RankWatermark } from '@coxswain/api-types';
import { walk } from './walk.ts';

type GroupMark = readonly [group: string, operation: string, started: number, completed: number, bytes?: number];

/** Ranks 0 to 3: tensor groups a = 0,1 and b = 2,3, data groups c = 0,2 and d = 1,3, all in w. */
const NAMES: Readonly<Record<string, string>> = { a: 'tensor', b: 'tensor', c: 'data', d: 'data', w: 'world' };
const GROUPS = new Map(
  Object.entries({ a: [0, 1], b: [2, 3], c: [0, 2], d: [1, 3], w: [0, 1, 2, 3] }).map(([group, ranks]) => [
    group,
    { group, name: NAMES[group] ?? group, ranks },
  ]),
);

/** As programs make them that call their groups nothing. */
const UNNAMED = new Map([...GROUPS].map(([group, { ranks }]) => [group, { group, name: group, ranks }]));

function standing(...marks: readonly (readonly GroupMark[] | undefined)[]) {
  const watermarks = marks.map((groups, rank): RankWatermark | undefined =>
    groups === undefined
      ? undefined
      : {
          rank,
          step: 1,
          phase: 'training',
          phaseAgeMs: 1,
          groups: groups.map(([group, operation, started, completed, bytes = 8]) => ({
            group,
            operation,
            bytes,
            enqueued: started,
            started,
            completed,
            ageMs: 1,
          })),
        },
  );
  return { groups: GROUPS, watermarkOf: (rank: number) => watermarks[rank] };
}

/** Rank 3 did not wait for rank 2, which waits for it. */
const A_PAIR_APART = standing(
  [
    ['w', 'all_reduce', 10, 9],
    ['a', 'all_reduce', 5, 5],
  ],
  [
    ['w', 'all_reduce', 10, 9],
    ['a', 'all_reduce', 5, 5],
  ],
  [
    ['w', 'all_reduce', 9, 9],
    ['b', 'all_reduce', 5, 4],
  ],
  [
    ['w', 'all_reduce', 10, 9],
    ['b', 'all_reduce', 4, 4],
  ],
);
const FORGETFUL = { kind: 'skipped', missing: [{ rank: 3, group: 'b' }] };

describe('from a rank that waits', () => {
  it.each<[string, ReturnType<typeof standing>, object]>([
    [
      'to one that is missing and waits nowhere',
      standing([['a', 'all_reduce', 5, 4]], [['a', 'all_reduce', 4, 4]], [], []),
      { kind: 'sinks', missing: [{ rank: 1, group: 'a' }] },
    ],
    [
      'by one that waits for another itself',
      standing(
        [['a', 'all_reduce', 5, 4]],
        [
          ['a', 'all_reduce', 4, 4],
          ['d', 'all_reduce', 2, 1],
        ],
        [],
        [['d', 'all_reduce', 1, 1]],
      ),
      { kind: 'sinks', missing: [{ rank: 3, group: 'd' }] },
    ],
    [
      'to one of which nothing is known',
      standing([['a', 'all_reduce', 5, 4]], undefined, [], []),
      { kind: 'sinks', missing: [{ rank: 1, group: 'a' }] },
    ],
    [
      'to one whose operation is called, and never began on its device',
      standing([['a', 'all_reduce', 5, 4]], [['a', 'all_reduce', 4, 4]], [], []),
      { kind: 'sinks', missing: [{ rank: 1, group: 'a' }] },
    ],
    [
      'to one that only has a send outstanding',
      standing(
        [['a', 'all_reduce', 5, 4]],
        [
          ['a', 'all_reduce', 4, 4],
          ['d', 'send', 2, 1],
        ],
        [['w', 'all_reduce', 3, 2]],
        [
          ['d', 'recv', 1, 1],
          ['w', 'all_reduce', 3, 2],
        ],
      ),
      { kind: 'sinks', missing: [{ rank: 1, group: 'a' }] },
    ],
    [
      'round a circle, to the one that left a call out',
      standing(
        [['a', 'all_reduce', 5, 4]],
        [
          ['a', 'all_reduce', 4, 4],
          ['w', 'all_reduce', 3, 2],
        ],
        [['w', 'all_reduce', 3, 2]],
        [['w', 'all_reduce', 3, 2]],
      ),
      { kind: 'skipped', missing: [{ rank: 1, group: 'a' }] },
    ],
    ['round a circle of groups of two, to the one that has done less than those beside it', A_PAIR_APART, FORGETFUL],
    ['the same way where nobody named a group', { ...A_PAIR_APART, groups: UNNAMED }, FORGETFUL],
    [
      'to a group of which all have begun',
      standing([['a', 'all_reduce', 5, 4]], [['a', 'all_reduce', 5, 4]], [], []),
      { kind: 'nobodyMissing', group: 'a' },
    ],
    [
      'on from a group of which all have called, to one that a host ran ahead of',
      standing(
        [['c', 'all_reduce', 5, 4]],
        [['d', 'all_reduce', 4, 4]],
        [
          ['c', 'all_reduce', 5, 4],
          ['b', 'all_reduce', 6, 5],
        ],
        [['b', 'all_reduce', 5, 5]],
      ),
      { kind: 'sinks', missing: [{ rank: 3, group: 'b' }] },
    ],
    [
      'to the group of which all have called, where all of them have called all that they wait in',
      standing(
        [['c', 'all_reduce', 5, 4]],
        [],
        [
          ['c', 'all_reduce', 5, 4],
          ['b', 'all_reduce', 6, 5],
        ],
        [['b', 'all_reduce', 6, 5]],
      ),
      { kind: 'nobodyMissing', group: 'c' },
    ],
    [
      'from a group of which all have called, to the one that came there with a call less than the others of its group',
      {
        ...standing(
          ...[5, 5, 4].map((calls): GroupMark[] => [
            ['w', 'all_reduce', 10, 9],
            ['t', 'all_reduce', calls, 4],
          ]),
          [['w', 'all_reduce', 10, 9]],
        ),
        groups: new Map([...GROUPS, ['t', { group: 't', name: 'tensor', ranks: [0, 1, 2] }]]),
      },
      { kind: 'calledLess', missing: [{ rank: 2, group: 't' }] },
    ],
    [
      'to no end where one that is missing waits in a group of which nobody told who is in it',
      standing(
        [['a', 'all_reduce', 6, 5]],
        [
          ['a', 'all_reduce', 5, 5],
          ['not declared', 'recv', 1, 0],
        ],
        [],
        [],
      ),
      { kind: 'unknown' },
    ],
    [
      'to members with unlike operations at one place',
      standing(
        [['w', 'all_reduce', 3, 2]],
        [['w', 'broadcast', 3, 2]],
        [['w', 'all_reduce', 3, 2]],
        [['w', 'all_reduce', 3, 2]],
      ),
      { kind: 'unlike', group: 'w', odd: [1], calls: ['all_reduce of 8 B', 'broadcast of 8 B'] },
    ],
    [
      'to members with unlike sizes, where sizes must be one',
      standing([['a', 'all_reduce', 3, 2, 8]], [['a', 'all_reduce', 3, 2, 16]], [], []),
      { kind: 'unlike', group: 'a', odd: [0, 1], calls: ['all_reduce of 8 B', 'all_reduce of 16 B'] },
    ],
    [
      'and takes the two ends of a transfer, and uneven shares of all-to-all, for one',
      standing([['a', 'send', 3, 2, 8]], [['a', 'recv', 3, 2, 16]], [], []),
      { kind: 'nobodyMissing', group: 'a' },
    ],
  ])('the walk goes %s', (_, standings, outcome) => {
    const from = standings.watermarkOf(0)?.groups[0]?.group ?? '';
    expect(walk({ rank: 0, group: from }, standings)).toEqual(outcome);
  });

  it('the walk goes round a circle to the one that all wait for, though a stage has done less than another in groups of one name', () => {
    const groups = new Map([
      ['w', { group: 'w', name: 'world', ranks: [0, 1, 2, 3, 4, 5, 6, 7] }],
      ['x', { group: 'x', name: 'data', ranks: [0, 1, 2, 3] }],
      ['y', { group: 'y', name: 'data', ranks: [4, 5, 6, 7] }],
    ]);
    const waits = (data: 'x' | 'y', calls: number): GroupMark[] => [
      ['w', 'all_reduce', 10, 9],
      [data, 'all_reduce', calls, calls],
    ];
    const ahead: GroupMark[] = [
      ['w', 'all_reduce', 9, 9],
      ['y', 'all_reduce', 11, 10],
    ];
    const first = [0, 1, 2, 3].map(() => waits('x', 20));
    const second = [5, 6, 7].map(() => waits('y', 10));
    const standings = { ...standing(...first, ahead, ...second), groups };
    expect(walk({ rank: 0, group: 'w' }, standings)).toEqual({ kind: 'skipped', missing: [{ rank: 4, group: 'w' }] });
  });
});
