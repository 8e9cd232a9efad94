import type { RankProcess, RankWatermark } from '@coxswain/api-types';
import { aLayout } from '@coxswain/layout/testing';
import type { TraceHeader } from '../trace/records.ts';
import { verdictOf } from '../verdict/verdict.ts';
import { GangStanding, type Standing } from './gang-standing.ts';

const HEADER: TraceHeader = {
  kind: 'header',
  version: 1,
  layout: aLayout({ dataParallelDegree: 4 }),
  nodes: [
    { node: 'a', ranks: '0-1' },
    { node: 'b', ranks: '2-3' },
  ],
  reportEveryMs: 10_000,
};
const RANKS = [0, 1, 2, 3];

/** What one rank reports; absent: it sleeps in python3, and its hook reports nothing. */
interface Rank {
  readonly step?: number;
  readonly phase?: RankWatermark['phase'];
  readonly completed?: number;
  readonly process?: Partial<RankProcess> | null;
}

/** A gang whose launchers report every 10 s. */
class Story {
  readonly standing = new GangStanding(HEADER);
  readonly news: (Standing | null)[] = [];
  readonly verdicts: (readonly [readonly number[], string])[] = [];
  nowMs = 0;

  /** So many seconds of reports; `of` says what each rank reports then. */
  pass(seconds: number, of: (rank: number, second: number) => Rank): this {
    for (let second = 0; second < seconds; second += 10) {
      const ranks = RANKS.map((rank) => ({ rank, ...of(rank, this.nowMs / 1_000) }));
      this.standing.heartbeat(this.nowMs, {
        ranks: ranks.map(({ rank, step = null }) => ({ rank, step })),
        watermarks: ranks.flatMap((one) => (one.phase === undefined ? [] : markOf({ ...one, phase: one.phase }))),
        processes: ranks.flatMap(({ rank, process = {} }) =>
          process === null ? [] : [processOf(rank, process, this.nowMs)],
        ),
      });
      for (let tick = 0; tick < 10; tick += 1) {
        this.nowMs += 1_000;
        const { standing, verdict } = this.standing.check(this.nowMs);
        if (standing !== undefined) this.news.push(standing);
        if (verdict !== undefined) this.verdicts.push([verdict.ranks, verdict.message]);
      }
    }
    return this;
  }
}

function markOf(one: Rank & { rank: number; phase: RankWatermark['phase'] }): RankWatermark {
  const { rank, step, phase, completed = 0 } = one;
  const done = { enqueued: completed, started: completed, completed };
  const group = { group: '0', operation: 'all_reduce', bytes: 8, ...done, ageMs: 1 };
  return { rank, step: step ?? null, phase, phaseAgeMs: 1, groups: [group] };
}

function processOf(rank: number, changes: Partial<RankProcess>, nowMs: number): RankProcess {
  return { rank, state: 'running', cpuMs: 100, quietMs: nowMs, program: 'python3', ...changes };
}

const trains = (_rank: number, second: number): Rank => ({ step: second, phase: 'training', completed: second });

describe('a gang', () => {
  it('that trains is no news', () => {
    expect(new Story().pass(1_200, trains).news).toEqual([]);
  });

  it('with a rank that finished before its peers names it within 15 s, and is an incident after ten minutes', () => {
    const story = new Story()
      .pass(60, trains)
      .pass(700, (rank) => (rank === 2 ? { process: { state: 'finished' } } : {}));
    expect(story.news).toEqual([
      {
        reason: 'RanksFinished',
        message: 'Rank 2 finished with exit code 0 after step 50; 3 ranks wait for it.',
        isStarting: false,
      },
    ]);
    expect(story.verdicts).toEqual([
      [
        [2],
        'No step, no collective, no CPU time and no output of any rank for 600 s, after step 50. Rank 2 finished with exit code 0 after step 50; 3 ranks wait for it.',
      ],
    ]);
  });

  it('that trains on without the rank that finished is no incident', () => {
    const story = new Story().pass(60, trains);
    story.pass(900, (rank, second) => (rank === 2 ? { process: { state: 'finished' } } : trains(rank, second)));
    expect(story.news.at(-1)?.message).toBe('Rank 2 finished with exit code 0 after step 50; 3 ranks still train.');
    expect(story.verdicts).toEqual([]);
  });

  it('whose ranks finish within seconds of each other is no news', () => {
    const story = new Story().pass(60, trains);
    story.standing.finished(story.nowMs, [0, 1, 2]);
    story.nowMs += 4_000;
    story.standing.finished(story.nowMs, [3]);
    expect(story.standing.check(story.nowMs)).toEqual({});
    expect(story.standing.check(story.nowMs + 700_000)).toEqual({});
  });

  it('with a rank that never joins is before its first step, and the rank that runs another program stands out', () => {
    const sleeps = (rank: number): Rank => (rank === 1 ? { process: { program: 'sleep', cpuMs: 0 } } : {});
    const story = new Story().pass(640, sleeps);
    const outlier = 'Rank 1 stands out: it runs `sleep`, and the others run `python3`.';
    expect(story.news).toMatchObject([
      {
        reason: 'BeforeFirstStep',
        message: `No rank has joined a process group or completed a step, and the ranks are idle. ${outlier}`,
        isStarting: true,
      },
      { reason: 'NotTraining', isStarting: true },
    ]);
    expect(story.verdicts).toEqual([
      [
        [1],
        `No step, no collective, no CPU time and no output of any rank for 600 s, before the first reported step. ${outlier}`,
      ],
    ]);
  });

  it('in which some ranks have joined names those that have not', () => {
    const story = new Story().pass(80, (rank) => (rank < 3 ? { phase: 'starting', process: { cpuMs: 100 } } : {}));
    expect(story.news.at(-1)).toEqual({
      reason: 'BeforeFirstStep',
      message: 'Rank 3 has not joined the process group, and 3 of 4 ranks have; no rank has completed a step.',
      isStarting: true,
    });
  });

  it.each<[string, (second: number) => Rank]>([
    ['uses CPU time', (second) => ({ process: { cpuMs: second * 500 } })],
    ['writes output', () => ({ process: { quietMs: 3_000 } })],
  ])('that %s without reports is not known to stand still, and is not called starting', (_what, of) => {
    const story = new Story().pass(1_200, (_rank, second) => of(second));
    expect(story.news).toMatchObject([{ reason: 'BeforeFirstStep', isStarting: false }]);
    expect(story.verdicts).toEqual([]);
  });

  it('whose launchers report no processes is no incident', () => {
    const story = new Story().pass(60, trains).pass(1_200, () => ({ process: null }));
    expect(story.verdicts).toEqual([]);
  });

  it('whose ranks join one after the other is news twice a minute at most', () => {
    const story = new Story().pass(160, (rank, second) => (second >= 70 + 20 * rank ? { phase: 'training' } : {}));
    expect(story.news.length).toBeLessThanOrEqual(4);
    expect(story.news.map((one) => one?.message)).toContain(
      'Every rank has joined its process group, and no rank has reported a step.',
    );
  });

  it('with a stopped process names it, its state and its node', () => {
    const story = new Story().pass(60, trains);
    story.pass(40, (rank) => (rank === 2 ? { process: { state: 'stopped' } } : {}));
    expect(story.news).toEqual([
      {
        reason: 'ProcessesStopped',
        message:
          'The process of rank 2 on node b is stopped (state T), by SIGSTOP or a debugger, and the other ranks wait; SIGCONT continues it.',
        isStarting: false,
      },
    ]);
    story.pass(20, (rank, second) => trains(rank, second));
    expect(story.news.at(-1)).toBeNull();
  });

  it('with a process that waits in the kernel for a minute names it', () => {
    const story = new Story().pass(60, trains);
    story.pass(90, (rank) => (rank === 3 ? { process: { state: 'waiting' } } : {}));
    expect(story.news.at(-1)?.message).toMatch(/^The process of rank 3 on node b waits in the kernel \(state D\)/);
  });

  it('that evaluates says so after a minute', () => {
    const story = new Story()
      .pass(60, trains)
      .pass(90, (_rank, second) => ({ phase: 'evaluating', completed: second }));
    expect(story.news).toMatchObject([{ reason: 'RanksBusy', message: 'Ranks evaluate, and no step ends meanwhile.' }]);
  });
});

describe('an idle gang', () => {
  const odd = { ranks: [2], why: 'Rank 2 stands out, in read.' };
  const idle = verdictOf(
    { kind: 'notTraining', atMs: 0, ranks: [], message: 'Idle.', evidence: {}, confidence: 0.5, action: 'advise' },
    () => 'a',
  );

  it.each<[string, (story: Story) => Story, readonly number[], RegExp]>([
    ['is named by its stacks', (story) => story, [2], /Rank 2 stands out/],
    [
      'that was active since is not named by stacks of before',
      (story) => story.pass(10, () => ({ process: { cpuMs: 1e9 } })),
      [],
      /No rank stands out/,
    ],
  ])('%s', (_sentence, meanwhile, ranks, standing) => {
    const story = meanwhile(new Story().pass(60, trains).pass(700, () => ({})));
    expect(story.standing.nameOdd(idle, odd).ranks).toEqual(ranks);
    story.pass(700, () => ({}));
    expect(story.news.at(-1)?.message).toMatch(standing);
  });
});

describe('a wait that the hang detector names', () => {
  const wait = verdictOf(
    {
      kind: 'hang',
      atMs: 0,
      ranks: [0],
      message: 'Others wait for rank 0.',
      evidence: { waitedForMs: 60_000 },
      confidence: 1,
      action: 'evict',
    },
    () => 'a',
  );

  it.each<[string, Partial<RankProcess>, readonly unknown[]]>([
    ['is of the rank that finished, and blames no node', { state: 'finished' }, [[2], 'stop', 'finishedEarly']],
    ['is of the rank whose process is stopped', { state: 'stopped' }, [[2], 'evict', 'stopped']],
    ['stays where nothing explains it', { state: 'running' }, [[0], 'evict', undefined]],
  ])('%s', (_sentence, process, want) => {
    const story = new Story().pass(60, trains).pass(30, (rank) => (rank === 2 ? { process } : {}));
    const { ranks, action, evidence } = story.standing.explain(wait);
    expect([ranks, action, evidence['cause']]).toEqual(want);
  });
});
