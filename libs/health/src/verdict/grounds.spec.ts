import type { Verdict } from './verdict.ts';
import { type Grounds, type RankPlace, refutationOf, type RunProgress } from './grounds.ts';

type About = Pick<Verdict, 'kind' | 'ranks' | 'evidence'>;

const HANG: About = { kind: 'hang', ranks: [3], evidence: { cause: 'rankMissing' } };
const SILENT: About = { ...HANG, evidence: { cause: 'noTelemetry' } };
const TWO: About = { ...HANG, ranks: [3, 4] };
const SLOW: About = { kind: 'slowRank', ranks: [3], evidence: {} };
const DESYNC: About = { kind: 'desync', ranks: [], evidence: {} };
const AT = { step: 100, phase: 'training', completed: 7 } as const;
const GROUNDS: Grounds = { step: 100, ranks: [{ rank: 3, at: AT }], judgedAtMs: 0 };
const OF_TWO: Grounds = { ...GROUNDS, ranks: [...GROUNDS.ranks, { rank: 4, at: AT }] };

const now = (changes: Partial<RunProgress> = {}): RunProgress => ({
  step: 100,
  ranks: [{ rank: 3, at: AT, heardAgoMs: 500 }],
  slowRanks: [],
  ...changes,
});
const movedTo = (at: Partial<NonNullable<RankPlace['at']>>): RunProgress =>
  now({ ranks: [{ rank: 3, at: { ...AT, ...at }, heardAgoMs: 500 }] });

describe('a verdict read again', () => {
  it.each<[string, About, Grounds, RunProgress]>([
    ['of a hang holds while nothing moves', HANG, GROUNDS, now()],
    ['holds although one more step ended, which was under way', HANG, GROUNDS, now({ step: 101 })],
    [
      'of a silent rank holds while the rank is silent',
      SILENT,
      GROUNDS,
      now({ ranks: [{ rank: 3, heardAgoMs: 90_000 }] }),
    ],
    ['of a silent rank holds if nothing was ever heard', SILENT, GROUNDS, now({ ranks: [{ rank: 3 }] })],
    [
      'of two ranks holds while one of them stands',
      TWO,
      OF_TWO,
      now({
        ranks: [
          { rank: 3, at: { ...AT, completed: 9 } },
          { rank: 4, at: AT },
        ],
      }),
    ],
    [
      'of a slow rank holds while the rank is slow, however many steps follow',
      SLOW,
      GROUNDS,
      now({ step: 900, slowRanks: [3] }),
    ],
    ['of a program holds while the gang stands', DESYNC, { ...GROUNDS, ranks: [] }, now()],
  ])('%s', (_what, verdict, grounds, progress) => {
    expect(refutationOf(verdict, grounds, progress)).toBeUndefined();
  });

  it.each<[string, About, Grounds, RunProgress, string]>([
    ['if the gang has trained since', HANG, GROUNDS, now({ step: 700 }), 'The gang has completed 600 steps since.'],
    [
      'if the program has trained since',
      DESYNC,
      { ...GROUNDS, ranks: [] },
      now({ step: 102 }),
      'The gang has completed 2 steps since.',
    ],
    [
      'if the rank completed an operation',
      HANG,
      GROUNDS,
      movedTo({ completed: 8 }),
      'Rank 3 is further than at the verdict.',
    ],
    ['if the rank saves now', HANG, GROUNDS, movedTo({ phase: 'saving' }), 'Rank 3 is further than at the verdict.'],
    ['if a silent rank reports again', SILENT, GROUNDS, now(), 'Rank 3 is heard again.'],
    ['if the rank is no longer slow', SLOW, GROUNDS, now(), 'Rank 3 is no longer slow.'],
  ])('is refuted %s', (_when, ...[verdict, grounds, progress, why]) => {
    expect(refutationOf(verdict, grounds, progress)).toBe(why);
  });
});
