/* More than 400 lines: all tests share one setup of launchers that report. */
import type { RankWatermark } from '@coxswain/api-types';
import { aLayout } from '@coxswain/layout/testing';
import { GangStanding, readHeader, readRecord, watchHealth } from '@coxswain/health';
import { TelemetryBudget } from './telemetry-budget.ts';
import type { GangRoster, HealthReport, RunOfRanks } from './health-reports.ts';
import { HealthWatch, type StacksOfRun } from './health-watch.ts';
import { NO_STACKS, type StackFindings } from './stack-findings.ts';
import type { StandingOf } from './watched-run.ts';

const RUN: RunOfRanks = { jobUid: 'job-1', epoch: 1, incarnation: 1 };
const ROSTER: GangRoster = {
  namespace: 'team',
  epoch: 1,
  layout: aLayout({ dataParallelDegree: 4 }),
  nodes: [
    { node: 'a', ranks: '0-1' },
    { node: 'b', ranks: '2-3' },
  ],
};

/** Four ranks on two nodes whose launchers speak each second. */
class Setup {
  nowMs = 0;
  asked = 0;
  /** Time of the thread that detectors have used. */
  cpuMs = 0;
  roster: GangRoster | undefined = ROSTER;
  step = 0;
  standingOf: StandingOf = (...made) => new GangStanding(...made);
  readonly watch: HealthWatch;

  constructor(
    records?: ConstructorParameters<typeof HealthWatch>[0]['records'],
    stacks?: StacksOfRun,
    budget = new TelemetryBudget(),
    rosterOf: (jobUid: string) => GangRoster | undefined = () => this.roster,
  ) {
    this.watch = new HealthWatch({
      monotonicMs: () => this.nowMs,
      budget,
      cpuMs: () => this.cpuMs,
      rosterOf: (jobUid) => {
        this.asked += 1;
        return Promise.resolve(rosterOf(jobUid));
      },
      ...(records === undefined ? {} : { records }),
      ...(stacks === undefined ? {} : { stacks }),
      standingOf: (...made) => this.standingOf(...made),
    });
  }

  /** Ranks train for that long, a step a second; those in `stuck` are in their own code, and the others wait for them. */
  async train(
    seconds: number,
    stuck: readonly number[] = [],
    run = RUN,
    {
      silent = [],
      pace = () => 1,
      stoodSeconds = 0,
    }: {
      readonly silent?: readonly number[];
      readonly pace?: (rank: number) => number;
      readonly stoodSeconds?: number;
    } = {},
  ): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.nowMs += 1_000;
      if (stuck.length === 0) this.step += 1;
      const ageMs = stuck.length === 0 ? 10 : (stoodSeconds + second + 1) * 1_000;
      const watermarkOf = (rank: number): RankWatermark => {
        const isStuck = stuck.includes(rank);
        const enqueued = this.step + (stuck.length > 0 && !isStuck ? 1 : 0);
        const group = { group: '1', operation: 'all_reduce', bytes: 8, started: enqueued, completed: this.step };
        return {
          rank,
          step: this.step,
          phase: 'training',
          phaseAgeMs: ageMs,
          groups: [{ ...group, enqueued, ageMs }],
        };
      };
      for (const ranks of [
        [0, 1],
        [2, 3],
      ]) {
        const processGroups = [{ group: '1', name: 'data', ranks: '0-3' }];
        const alive = ranks.map((rank) => ({ rank, alive: true, step: this.step }));
        this.watch.heartbeat(run, {
          ranks: alive,
          watermarks: ranks.filter((rank) => !silent.includes(rank)).map(watermarkOf),
          processGroups,
        });
        const timings = ranks.map((rank) => ({
          rank,
          stepTimeMs: 1_000,
          timingsMs: { forward: 400 * pace(rank), communication: 1_000 - 400 * pace(rank) },
        }));
        const report = { step: this.step, loss: 2, tokens: null, learningRate: null, gradNorm: null, ranks: timings };
        if (stuck.length === 0) this.watch.step(run, report);
      }
      this.watch.tick();
      await Promise.resolve();
    }
  }
}

const named = (words: readonly HealthReport[]): readonly unknown[] =>
  words.map(({ verdict: { kind, ranks, node, action } }) => [kind, ranks, node, action]);

describe('the watch over gangs', () => {
  it('names the rank that the others wait for, first as advice, then to be acted on', async () => {
    const setup = new Setup();
    await setup.train(60);
    expect(setup.watch.takeReports()).toEqual([]);
    await setup.train(120, [3]);
    expect(named(setup.watch.takeReports())).toEqual([
      ['hang', [3], 'b', 'advise'],
      ['hang', [3], 'b', 'evict'],
    ]);
    expect(setup.watch.takeReports()).toEqual([]);
  });

  it('tells of a loss that is no number', async () => {
    const setup = new Setup();
    await setup.train(30);
    const report = { step: 31, loss: null, tokens: null, learningRate: null, gradNorm: null, ranks: [] };
    setup.watch.step(RUN, { ...report, notFinite: { loss: 'NaN' } });
    expect(setup.watch.takeReports().map(({ verdict: { kind, message } }) => [kind, message])).toEqual([
      ['badLoss', 'Step 31: loss is NaN, no number. Suspend the job, and resume it from the last checkpoint.'],
    ]);
  });

  it('takes a rank that has spoken and falls silent for unheard, whatever its launcher says of its process', async () => {
    const setup = new Setup();
    await setup.train(60);
    await setup.train(120, [3], RUN, { silent: [3] });
    const found = setup.watch.takeReports().filter(({ verdict }) => verdict.kind === 'hang');
    expect(found.at(-1)?.verdict).toMatchObject({ ranks: [3], action: 'evict', evidence: { cause: 'noTelemetry' } });
  });

  it('blames the rank that finished for the wait of its peers, and no node', async () => {
    const setup = new Setup();
    await setup.train(60);
    const finished = { rank: 3, state: 'finished', cpuMs: 0, quietMs: 0 } as const;
    setup.watch.heartbeat(RUN, { ranks: [{ rank: 3, alive: false, step: 60 }], processes: [finished] });
    await setup.train(120, [3], RUN, { silent: [3] });
    const found = setup.watch.takeReports().filter(({ verdict }) => verdict.kind === 'hang');
    expect(found.at(-1)?.verdict).toMatchObject({
      ranks: [3],
      action: 'stop',
      evidence: { cause: 'finishedEarly' },
      message: 'Rank 3 finished with exit code 0 after step 60; 3 ranks wait for it.',
    });
    const [standing] = setup.watch.takeStandings();
    expect(standing?.standing).toMatchObject({ reason: 'RanksFinished' });
    expect(setup.watch.takeStandings()).toEqual([]);
  });

  it('reports of a gang that trains that it does not stand: a thread that ended may have reported otherwise', async () => {
    const setup = new Setup();
    await setup.train(60);
    expect(setup.watch.takeStandings()).toEqual([{ ...RUN, standing: null }]);
  });

  it.each<[string, string, readonly number[], string]>([
    ['with stacks', 'sleep', [1], 'Rank 1 stands out: it runs `sleep`'],
    [
      'and names the rank whose stack differs if nothing else does',
      'python3',
      [2],
      'Rank 2 stands out, in get < main.',
    ],
  ])('reports a gang that does nothing after its bound, %s', async (_sentence, program, ranksNamed, why) => {
    const asked: (readonly number[])[] = [];
    const odd = { ranks: [2], why: 'Rank 2 stands out, in get < main.' };
    const setup = new Setup(undefined, (_run, ranks) => {
      asked.push(ranks);
      return Promise.resolve({ evidence: { stack: 'main' }, odd });
    });
    const processOf = (rank: number) =>
      ({
        rank,
        state: 'running',
        cpuMs: 10,
        quietMs: setup.nowMs,
        program: rank === 1 ? program : 'python3',
      }) as const;
    for (let second = 0; second < 700; second += 10) {
      setup.nowMs += 10_000;
      const ranks = [0, 1, 2, 3].map((rank) => ({ rank, alive: true, step: null }));
      setup.watch.heartbeat(RUN, { ranks, processes: ranks.map(({ rank }) => processOf(rank)) });
      setup.watch.tick();
      await Promise.resolve();
    }
    const found = setup.watch.takeReports().filter(({ verdict }) => verdict.kind === 'notTraining');
    expect(found.map(({ verdict: { ranks, action, evidence } }) => [ranks, action, evidence['stack']])).toEqual([
      [ranksNamed, 'advise', 'main'],
    ]);
    expect(found[0]?.verdict.message).toContain(why);
    expect(setup.watch.takeStandings().at(-1)?.standing?.message).toContain(why);
    expect(asked).toEqual([ranksNamed[0] === 1 ? [1] : []]);
  });

  it('asks once who is in a gang, and again after a while where nobody knows', async () => {
    const setup = new Setup();
    setup.roster = undefined;
    await setup.train(11);
    expect(setup.asked).toBe(3);
    setup.roster = ROSTER;
    await setup.train(60);
    expect(setup.asked).toBe(4);
  });

  it('reports each broken save once and some of a run, also before it knows the gang', async () => {
    const setup = new Setup();
    setup.roster = undefined;
    const beat = (...steps: readonly number[]): void => {
      const brokenSaves = steps.map((step) => ({ step, directory: `step-${step}`, why: 'File a is cut.' }));
      setup.watch.heartbeat(RUN, { ranks: [{ rank: 0, alive: true, step: 1 }], brokenSaves });
    };
    beat(20);
    beat(20, 40);
    expect(setup.watch.takeReports().map(({ verdict }) => [verdict.kind, verdict.action, verdict.message])).toEqual(
      [20, 40].map((step) => [
        'brokenSave',
        'advise',
        `The save of step ${step} is broken, and no checkpoint was made of it: File a is cut. A restart resumes from the checkpoint before it.`,
      ]),
    );
    for (let step = 60; step < 1_000; step += 20) beat(step);
    expect(setup.watch.takeReports()).toHaveLength(4);
    await Promise.resolve();
  });

  it('begins anew with another run, and hears nothing of an earlier one', async () => {
    const setup = new Setup();
    await setup.train(60);
    await setup.train(30, [3], { ...RUN, incarnation: 2 });
    await setup.train(200, [3], RUN);
    expect(setup.watch.takeReports().every(({ incarnation }) => incarnation === 2)).toBe(true);
  });

  it('judges nobody by the roster of another epoch', async () => {
    const setup = new Setup();
    setup.roster = { ...ROSTER, epoch: 2 };
    await setup.train(60);
    await setup.train(120, [3]);
    expect(setup.watch.takeReports()).toEqual([]);
  });

  it('names a rank whose own work takes longer, and blames nobody where all do', async () => {
    const slow = new Setup();
    await slow.train(400, [], RUN, { pace: (rank) => (rank === 2 ? 1.5 : 1) });
    expect(named(slow.watch.takeReports())).toEqual([
      ['slowRank', [2], 'b', 'advise'],
      ['slowRank', [2], 'b', 'evict'],
    ]);
    const uniform = new Setup();
    await uniform.train(200);
    await uniform.train(400, [], RUN, { pace: () => 1.5 });
    expect(uniform.watch.takeReports().filter(({ verdict }) => verdict.ranks.length > 0)).toEqual([]);
  });

  it('after a change of leader knows nothing of before, and takes a gang that goes on for one that does', async () => {
    const before = new Setup();
    await before.train(300);
    const after = new Setup();
    after.nowMs = 5_000_000;
    after.step = 300;
    // Launchers come back one after the other, and what they told last is minutes old.
    await after.train(1, [], RUN, { silent: [0, 1, 2] });
    after.nowMs += 45_000;
    await after.train(120);
    expect(after.watch.takeReports().filter(({ verdict }) => verdict.kind !== 'blind')).toEqual([]);
  });

  it('writes down what it judged, and that gives the same verdicts again', async () => {
    const lines: string[] = [];
    const setup = new Setup({
      begin: (_run, header) => void lines.push(JSON.stringify(header)),
      add: (_jobUid, record) => void lines.push(JSON.stringify(record)),
      end: () => undefined,
    });
    await setup.train(60);
    await setup.train(120, [3]);
    const reported = setup.watch.takeReports().map(({ verdict }) => verdict);
    const [first = '', ...others] = lines;
    const header = readHeader(first);
    if (header.kind === 'wrong') throw new Error(header.message);
    const replay = watchHealth(header.value);
    const again = others.flatMap((line) => {
      const record = readRecord(line);
      if (record.kind === 'wrong') throw new Error(record.message);
      return replay.observe(record.value);
    });
    expect(reported.length).toBeGreaterThan(1);
    expect(again).toEqual(reported);
  });

  it('asks once in the middle of what the ranks of a gang are that stands still, and tells nothing of it before that is known', async () => {
    const asked: unknown[] = [];
    const known = Promise.withResolvers<StackFindings>();
    const setup = new Setup(undefined, ({ jobUid, epoch }, ranks) => {
      asked.push([jobUid, epoch, ranks]);
      return known.promise;
    });
    await setup.train(60);
    await setup.train(120, [3]);
    expect(setup.watch.takeReports()).toEqual([]);
    known.resolve({ evidence: { 'stack of rank 3': 'next_batch (data.py:3)' }, odd: undefined });
    await known.promise;
    await Promise.resolve();
    const reported = setup.watch.takeReports();
    expect(named(reported)).toEqual([
      ['hang', [3], 'b', 'advise'],
      ['hang', [3], 'b', 'evict'],
    ]);
    const [first, second] = reported.map(({ verdict }) => verdict.evidence);
    expect(first).toMatchObject({ 'stack of rank 3': 'next_batch (data.py:3)', waitedForMs: expect.any(Number) });
    expect(second).not.toHaveProperty('stack of rank 3');
    expect(asked).toEqual([['job-1', 1, [3]]]);
  });

  it('asks no second time when it is told that something is done about the hang', async () => {
    const asked: unknown[] = [];
    const setup = new Setup(undefined, async () => ({ evidence: { asked: String(asked.push(1)) }, odd: undefined }));
    await setup.train(60);
    await setup.train(120, [3]);
    expect(named(setup.watch.takeReports())).toEqual([
      ['hang', [3], 'b', 'advise'],
      ['hang', [3], 'b', 'evict'],
    ]);
    expect(asked.length).toBe(1);
  });

  it('tells nothing of a job that went while its ranks were asked', async () => {
    const known = Promise.withResolvers<StackFindings>();
    const setup = new Setup(undefined, () => known.promise);
    await setup.train(60);
    await setup.train(120, [3]);
    setup.watch.forget('job-1');
    known.resolve(NO_STACKS);
    await known.promise;
    await Promise.resolve();
    expect(setup.watch.takeReports()).toEqual([]);
  });

  it('asks nobody of whom a rank is slow', async () => {
    const asked: unknown[] = [];
    const setup = new Setup(undefined, async () => ({ evidence: { asked: String(asked.push(1)) }, odd: undefined }));
    await setup.train(400, [], RUN, { pace: (rank) => (rank === 2 ? 1.5 : 1) });
    expect([setup.watch.takeReports().length > 0, asked]).toEqual([true, []]);
  });

  it('forgets a job that is gone', async () => {
    const setup = new Setup();
    await setup.train(60);
    setup.watch.forget('job-1');
    setup.watch.tick();
    await setup.train(1);
    expect(setup.asked).toBe(2);
  });
});

/** A job of one rank whose launcher declares 256 process groups with each heartbeat, all of them different. */
async function declareGroups(watch: HealthWatch, jobUid: string, count: number, from = 0): Promise<void> {
  const run = { jobUid, epoch: 1, incarnation: 1 };
  for (let first = from; first < from + count; first += 256) {
    const processGroups = Array.from({ length: 256 }, (_, index) => ({
      group: `group-${first + index}`.padEnd(64, '-'),
      name: `name-${first + index}`.padEnd(64, '-'),
      ranks: '0-16383',
    }));
    watch.heartbeat(run, { ranks: [{ rank: 0, alive: true, step: null }], processGroups });
    if (first === from) await Promise.resolve();
  }
}

describe('jobs whose reports take too much', () => {
  const ONE: GangRoster = { ...ROSTER, namespace: 'greedy', layout: aLayout({}), nodes: [{ node: 'c', ranks: '0' }] };

  it('lose their own detectors, and the verdicts of others still come: two dozen of one GPU with 131,072 groups each', async () => {
    const budget = new TelemetryBudget();
    let most = 0;
    const setup = new Setup(undefined, undefined, budget, (jobUid) => (jobUid === RUN.jobUid ? ROSTER : ONE));
    await setup.train(60);
    for (let job = 0; job < 24; job += 1) {
      await declareGroups(setup.watch, `greedy-${job}`, 256);
      await declareGroups(setup.watch, `greedy-${job}`, 131_072, 256);
      most = Math.max(most, budget.bytes);
    }
    const lost = setup.watch.takeReports();
    expect(lost.map(({ jobUid, verdict: { kind, evidence } }) => [jobUid, kind, evidence['bound']])).toEqual(
      Array.from({ length: 24 }, (_, job) => [`greedy-${job}`, 'blind', 'job']),
    );
    expect(lost[0]?.verdict.message).toMatch(/finds no hung or slow rank.*hold 1\.\d MiB, more than the 1\.0 MiB/);
    expect(most).toBeLessThan(2 * 1_048_576);
    expect(setup.watch.takeLosses()).toEqual({ job: 24 });
    await setup.train(120, [3]);
    expect(named(setup.watch.takeReports())).toEqual([
      ['hang', [3], 'b', 'advise'],
      ['hang', [3], 'b', 'evict'],
    ]);
  });

  it('use no more than their share of the thread: verdicts of another namespace come in the pass in which they are due', async () => {
    // Each record of a greedy job takes 50 ms of the thread, and no other record takes any.
    let records = 0;
    const setup: Setup = new Setup(
      {
        begin: () => undefined,
        end: () => undefined,
        add: (jobUid) => {
          if (!jobUid.startsWith('greedy')) return;
          records += 1;
          setup.cpuMs += 50;
        },
      },
      undefined,
      new TelemetryBudget(),
      (jobUid) => (jobUid === RUN.jobUid ? ROSTER : ONE),
    );
    const greedy = Array.from({ length: 12 }, (_, job) => ({ jobUid: `greedy-${job}`, epoch: 1, incarnation: 1 }));
    const mark = { rank: 0, step: 1, phase: 'training' as const, phaseAgeMs: 1, groups: [] };
    const perPass: number[] = [];
    const pass = async (stuck: readonly number[], second: number): Promise<void> => {
      const before = records;
      for (const run of greedy) setup.watch.heartbeat(run, { ranks: [], watermarks: [mark] });
      await setup.train(1, stuck, RUN, { stoodSeconds: second });
      setup.watch.serve();
      perPass.push(records - before);
    };
    for (let second = 0; second < 60; second += 1) await pass([], 0);
    const dueAt: number[] = [];
    for (let second = 0; second < 120; second += 1) {
      await pass([3], second);
      dueAt.push(
        ...setup.watch
          .takeReports()
          .filter(({ jobUid }) => jobUid === RUN.jobUid)
          .map(() => second),
      );
    }
    const alone = new Setup();
    await alone.train(60);
    const dueAlone: number[] = [];
    for (let second = 0; second < 120; second += 1) {
      await alone.train(1, [3], RUN, { stoodSeconds: second });
      dueAlone.push(...alone.watch.takeReports().map(() => second));
    }
    expect(dueAlone).toHaveLength(2);
    expect(dueAt).toEqual(dueAlone);
    expect(Math.max(...perPass.slice(2))).toBeLessThanOrEqual(12);
    expect(setup.watch.evidenceOf('greedy-0', [0])).not.toHaveProperty('isLost');
  });

  /** A minute in which eight gangs of a greedy namespace do not train, beside one gang of another namespace. Costs are milliseconds of the thread. */
  async function minuteBeside(costMs: { readonly check: number; readonly report: number }): Promise<{
    readonly checks: number;
    readonly standings: readonly string[];
  }> {
    let checks = 0;
    class Huge extends GangStanding {
      override check(nowMs: number): ReturnType<GangStanding['check']> {
        checks += 1;
        setup.cpuMs += costMs.check;
        return super.check(nowMs);
      }

      override heartbeat(...reported: Parameters<GangStanding['heartbeat']>): void {
        setup.cpuMs += costMs.report;
        super.heartbeat(...reported);
      }
    }
    const rosterOf = (jobUid: string): GangRoster => (jobUid === RUN.jobUid ? ROSTER : ONE);
    const standingOf: StandingOf = (header, ...more) =>
      header.nodes.length === 1 ? new Huge(header, ...more) : new GangStanding(header, ...more);
    const setup: Setup = new Setup(undefined, undefined, new TelemetryBudget(), rosterOf);
    setup.standingOf = standingOf;
    const greedy = Array.from({ length: 8 }, (_, job) => ({ jobUid: `greedy-${job}`, epoch: 1, incarnation: 1 }));
    const standings: string[] = [];
    for (let second = 0; second < 60; second += 1) {
      for (const run of greedy) setup.watch.heartbeat(run, { ranks: [{ rank: 0, alive: true, step: null }] });
      await setup.train(1);
      setup.watch.serve();
      standings.push(...setup.watch.takeStandings().map(({ jobUid }) => jobUid));
    }
    return { checks, standings };
  }

  it.each<[string, { readonly check: number; readonly report: number }, number]>([
    ['a check of a huge gang waits for its turn', { check: 200, report: 0 }, 62],
    ['reports of a huge gang use the turns of its checks', { check: 1, report: 100 }, 8],
  ])('use no more than their share for where a gang stands: %s', async (_sentence, costMs, most) => {
    const { checks, standings } = await minuteBeside(costMs);
    expect(checks).toBeLessThanOrEqual(most);
    expect(standings).toContain(RUN.jobUid);
    expect(new Set(standings).size).toBe(9);
  });

  it('give no evidence of their ranks after that, or before they are watched', async () => {
    const setup = new Setup(undefined, undefined, new TelemetryBudget(), (jobUid) =>
      jobUid === 'other' ? undefined : ONE,
    );
    await declareGroups(setup.watch, 'other', 256);
    expect(setup.watch.evidenceOf('other', [0])).toBeUndefined();
    await declareGroups(setup.watch, 'greedy', 256);
    expect(setup.watch.evidenceOf('greedy', [0])).toMatchObject({ ranks: [{ rank: 0 }] });
    expect(setup.watch.evidenceOf('greedy', [0])).not.toHaveProperty('isLost');
    setup.watch.takeStandings();
    await declareGroups(setup.watch, 'greedy', 131_072, 256);
    expect(setup.watch.evidenceOf('greedy', [0])).toMatchObject({ isLost: true, ranks: [], slowRanks: [] });
    expect(setup.watch.takeStandings()).toMatchObject([{ jobUid: 'greedy', standing: null }]);
  });

  it('are watched again from their next start on', async () => {
    const setup = new Setup(undefined, undefined, new TelemetryBudget(), () => ONE);
    await declareGroups(setup.watch, 'greedy', 256);
    await declareGroups(setup.watch, 'greedy', 131_072, 256);
    setup.nowMs += 60_000;
    await declareGroups(setup.watch, 'greedy', 256);
    expect([setup.asked, setup.watch.takeReports().length]).toEqual([1, 1]);
    setup.watch.heartbeat({ jobUid: 'greedy', epoch: 1, incarnation: 2 }, { ranks: [] });
    await Promise.resolve();
    setup.watch.heartbeat({ jobUid: 'greedy', epoch: 1, incarnation: 2 }, { ranks: [] });
    expect([setup.asked, setup.watch.takeReports().length]).toEqual([2, 0]);
  });
});

describe('detectors that fail', () => {
  it('end alone, with a warning of their job; those of others go on', async () => {
    const broken = { ...ROSTER, layout: { ...ROSTER.layout, dataParallelDegree: -1 } };
    const setup = new Setup(undefined, undefined, undefined, (jobUid) => (jobUid === 'broken' ? broken : ROSTER));
    const other = { jobUid: 'broken', epoch: 1, incarnation: 1 };
    setup.watch.heartbeat(other, { ranks: [{ rank: 0, alive: true, step: 1 }] });
    await setup.train(60);
    const marks = { rank: 2, step: 1, phase: 'training', phaseAgeMs: 1, groups: null } as unknown as RankWatermark;
    const third = { ...RUN, jobUid: 'third' };
    await setup.train(5, [], third);
    setup.watch.heartbeat(third, { ranks: [], watermarks: [marks] });
    expect(setup.watch.takeReports().map(({ jobUid, verdict }) => [jobUid, verdict.evidence])).toEqual([
      ['broken', { cause: 'detectorFailed' }],
      ['third', { cause: 'detectorFailed' }],
    ]);
    expect(setup.watch.takeLosses()).toEqual({ failed: 2 });
    await setup.train(120, [3]);
    expect(named(setup.watch.takeReports())).toEqual([
      ['hang', [3], 'b', 'advise'],
      ['hang', [3], 'b', 'evict'],
    ]);
  });
});

describe('an attempt that is over', () => {
  it('is forgotten with all its memory, and a stall whose stack traces are awaited is still reported', async () => {
    const known = Promise.withResolvers<StackFindings>();
    const budget = new TelemetryBudget();
    const setup = new Setup(undefined, () => known.promise, budget);
    await setup.train(60);
    await setup.train(120, [3]);
    setup.watch.end('job-1', 1);
    expect([setup.watch.size, budget.size, budget.bytes]).toEqual([1, 0, 0]);
    known.resolve({ evidence: { 'stack of rank 3': 'next_batch (data.py:3)' }, odd: undefined });
    await known.promise;
    await Promise.resolve();
    expect(named(setup.watch.takeReports())).toEqual([
      ['hang', [3], 'b', 'advise'],
      ['hang', [3], 'b', 'evict'],
    ]);
    expect(setup.watch.size).toBe(0);
  });
});
