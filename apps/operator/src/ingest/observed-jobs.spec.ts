import type { ObservedJob, ObserverReport } from '@coxswain/api-types';
import { HealthWatch } from './health-watch.ts';
import { ObservedJobs } from './observed-jobs.ts';
import type { ObservedPod } from './observed-pod.ts';
import { StackRequests } from './stack-requests.ts';

const START = Date.UTC(2026, 0, 1);

function aPod(index: number, more: Partial<ObservedPod> = {}): ObservedPod {
  return {
    uid: `u-${index}`,
    namespace: 'research',
    name: `gpt-${index}`,
    node: `n-${index}`,
    phase: 'Running',
    beganAtMs: START - 20_000,
    gpus: 1,
    isOver: false,
    owner: { kind: 'JobSet', name: 'gpt', uid: 'j-1' },
    attempt: 0,
    exitCodes: [],
    ...more,
  };
}

/** What a rank of a pod does. */
interface RankState {
  readonly step?: number | null;
  readonly state?: 'running' | 'stopped';
  readonly alive?: boolean;
  readonly process?: number;
  readonly boot?: string;
  readonly rank?: number;
  /** Enqueued in the group of all ranks; completed are `done`. */
  readonly enqueued?: number;
  readonly done?: number;
  readonly ageMs?: number;
}

const UNKNOWN_VALUES = { loss: null, tokens: null, learningRate: null, gradNorm: null };

/** Two pods with one rank each. */
class Setup {
  nowMs = 0;
  #cpuMs = 0;
  readonly jobs: ObservedJobs;
  readonly health: HealthWatch;
  readonly timers: { readonly atMs: number; readonly fire: () => void }[] = [];

  constructor() {
    const monotonicMs = (): number => this.nowMs;
    const rosterOf = (key: string) => Promise.resolve(this.jobs.rosterOf(key));
    const setTimer = (delayMs: number, fire: () => void): (() => void) => {
      this.timers.push({ atMs: this.nowMs + delayMs, fire });
      return () => undefined;
    };
    const stacks: StackRequests = new StackRequests({
      rendezvous: { membersOf: (gang) => this.jobs.membersOf(gang) },
      rosterOf,
      clock: { now: () => new Date(START + this.nowMs), monotonicMs, setTimer },
      kilobytesPerSecond: () => 1_000,
    });
    this.health = new HealthWatch({
      monotonicMs,
      rosterOf,
      cpuMs: () => 0,
      stacks: (run, ranks) => stacks.evidenceOf(run, ranks),
    });
    this.jobs = new ObservedJobs({
      health: this.health,
      stacks: () => stacks,
      monotonicMs,
      now: () => new Date(START + this.nowMs),
    });
  }

  report(
    index: number,
    rankState: RankState = {},
    more: Partial<ObserverReport> = {},
  ): ReturnType<ObservedJobs['receive']> {
    const {
      rank = index,
      step = 1,
      alive = true,
      process = 100,
      boot = `boot-${index}`,
      state = 'running',
    } = rankState;
    const { enqueued = step ?? 0, done = enqueued, ageMs = 10 } = rankState;
    this.#cpuMs += 500;
    const group = {
      group: '1',
      operation: 'all_reduce',
      bytes: 8,
      enqueued,
      started: enqueued,
      completed: done,
      ageMs,
    };
    return this.jobs.receive(`u-${index}`, {
      version: 1,
      bootId: boot,
      ranks: [{ rank, process, worldSize: 2, alive, step }],
      processes: [{ rank, state, cpuMs: state === 'stopped' ? 1 : this.#cpuMs, quietMs: 0 }],
      watermarks: step === null ? [] : [{ rank, step, phase: 'training', phaseAgeMs: ageMs, groups: [group] }],
      processGroups: [{ group: '1', name: 'default_pg', ranks: '0-1' }],
      steps: step === null ? [] : [{ step, ...UNKNOWN_VALUES, ranks: [{ rank, stepTimeMs: 1_000, timingsMs: {} }] }],
      ...more,
    });
  }

  /** A second passes, with everything that waits for time. */
  async second(): Promise<void> {
    this.nowMs += 1_000;
    for (const timer of this.timers.splice(0)) {
      if (timer.atMs <= this.nowMs) timer.fire();
      else this.timers.push(timer);
    }
    this.jobs.tick();
    this.health.serve();
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  }

  /** Both ranks train, a step a second, and report every five seconds. */
  async train(seconds: number, first = 1): Promise<number> {
    let step = first;
    for (let second = 0; second < seconds; second += 1, step += 1) {
      if (second % 5 === 0) for (const index of [0, 1]) this.report(index, { step });
      await this.second();
    }
    return step - 1;
  }

  get job(): ObservedJob {
    const [job, ...others] = this.jobs.list();
    if (job === undefined || others.length > 0) throw new Error(`${others.length + 1} jobs are observed, not one`);
    return job;
  }
}

async function trained(): Promise<{ setup: Setup; step: number }> {
  const setup = new Setup();
  setup.jobs.replacePods([aPod(0), aPod(1)]);
  const step = await setup.train(60);
  return { setup, step };
}

describe('an observed job', () => {
  it('that trains has ranks, nodes, a step and a ledger, and says what cannot be known', async () => {
    const { setup } = await trained();
    expect(setup.job).toMatchObject({
      kind: 'JobSet',
      name: 'gpt',
      phase: 'Training',
      worldSize: 2,
      gpus: 2,
      step: 56,
      standing: null,
      findings: [],
      pods: [
        { node: 'n-0', ranks: '0', rankPhases: ['training'] },
        { node: 'n-1', ranks: '1' },
      ],
      ledger: { training: 59, starting: 0, notTraining: 0, unknown: 20 },
    });
    expect(setup.job.unknown).toEqual([expect.stringMatching(/^Layout: /), expect.stringMatching(/^Planned stops, /)]);
  });

  it('with a stopped rank names it and its node within 30 s, with the stacks of the others', async () => {
    const { setup, step } = await trained();
    let stacksWanted = 0;
    let namedAfter: number | undefined;
    for (let second = 0; second < 70; second += 1) {
      const ageMs = second * 1_000;
      const waiting = setup.report(0, { step, enqueued: step + 1, done: step, ageMs });
      setup.report(1, { step, enqueued: step, done: step, ageMs, state: 'stopped' });
      if (waiting?.stacksWanted !== undefined) {
        stacksWanted += 1;
        const { request } = waiting.stacksWanted;
        const main = { thread: 'MainThread', isMain: true, frames: ['all_reduce (torch.py:1)'], ranks: '0' };
        setup.report(
          0,
          { step, enqueued: step + 1, done: step, ageMs },
          { stacks: { request, groups: [main], silent: [], leftOut: '' } },
        );
      }
      await setup.second();
      if (setup.job.standing !== null) namedAfter ??= second + 1;
    }
    expect(namedAfter).toBeLessThanOrEqual(30);
    expect(setup.job).toMatchObject({ phase: 'NotTraining', step });
    expect(setup.job.standing).toMatch(/^The process of rank 1 on node n-1 is stopped \(state T\)/);
    expect(stacksWanted).toBe(1);
    expect(setup.job.findings).toEqual([
      expect.objectContaining({
        kind: 'hang',
        ranks: [1],
        nodes: ['n-1'],
        message: expect.stringMatching(/rank 1/) as string,
      }),
    ]);
    expect(JSON.stringify(setup.job.findings[0]?.evidence)).toContain('all_reduce (torch.py:1)');
    expect(setup.job.ledger.notTraining).toBeGreaterThan(10);
    // It goes on: the standing ends with the next step.
    for (const index of [0, 1]) setup.report(index, { step: step + 1 });
    await setup.second();
    await setup.second();
    expect(setup.job).toMatchObject({ phase: 'Training', standing: null });
  });

  it('whose ranks start again in the same pods is another run, from any step', async () => {
    const { setup } = await trained();
    for (const index of [0, 1]) setup.report(index, { step: 3, process: 200 });
    await setup.second();
    expect(setup.job).toMatchObject({ step: 3, attempt: 0, phase: 'Training' });
    expect(setup.jobs.rosterOf('research/gpt/JobSet/j-1')).toMatchObject({
      epoch: 0,
      nodes: [
        { node: 'n-0', ranks: '0' },
        { node: 'n-1', ranks: '1' },
      ],
    });
  });

  it('that its controller restarted has a later attempt, and pods of the earlier one do not count', async () => {
    const { setup } = await trained();
    const next = [0, 1].map((index) => aPod(index + 2, { attempt: 1, beganAtMs: START + setup.nowMs }));
    setup.jobs.replacePods([aPod(0), ...next]);
    for (const index of [2, 3]) setup.report(index, { rank: index - 2, step: 10 });
    expect(setup.report(0, { step: 500 })).toBeUndefined();
    await setup.second();
    expect(setup.job).toMatchObject({ attempt: 1, step: 10 });
  });

  it('whose two pods claim one rank says so, and neither takes the run of the other', async () => {
    const { setup } = await trained();
    setup.jobs.replacePods([aPod(0), aPod(1), aPod(2)]);
    setup.report(2, { rank: 0, step: 900 });
    setup.report(0, { step: 61 });
    expect(setup.job.unknown[0]).toMatch(/^Which process is rank 0: pods of this JobSet claim it/);
    expect(setup.job.step).toBe(61);
  });

  it.each<[string, (setup: Setup) => void, object, RegExp | undefined]>([
    [
      'was not wrapped',
      (setup) => setup.jobs.replacePods([aPod(0, { notWrapped: 'container main has no command' })]),
      { phase: 'Unknown' },
      /^not wrapped: container main has no command$/,
    ],
    [
      'waits for a node',
      (setup) => setup.jobs.replacePods([aPod(0, { phase: 'Pending' })]),
      { phase: 'Pending' },
      undefined,
    ],
    [
      'has not reported',
      (setup) => setup.jobs.replacePods([aPod(0)]),
      { phase: 'Unknown', observedSince: null },
      /has not reported/,
    ],
    [
      'has no rank that reports',
      (setup) => {
        setup.jobs.replacePods([aPod(0)]);
        setup.report(0, {}, { ranks: [], processes: [], watermarks: [] });
      },
      { phase: 'Starting', step: null, worldSize: null },
      /^no rank has reported\. /,
    ],
    [
      'reports no longer',
      (setup) => {
        setup.jobs.replacePods([aPod(0)]);
        setup.report(0);
        setup.nowMs += 60_000;
      },
      { phase: 'Unknown' },
      /reports no longer/,
    ],
    [
      'has ended',
      (setup) => setup.jobs.replacePods([aPod(0, { phase: 'Failed', isOver: true, exitCodes: [7] })]),
      { phase: 'Ended', gpus: 0, pods: [{ exitCodes: [7] }] },
      undefined,
    ],
  ])('that %s is shown as such', (_sentence, act, want, unknown) => {
    const setup = new Setup();
    act(setup);
    expect(setup.job).toMatchObject(want);
    if (unknown === undefined) expect(setup.job.pods[0]?.unknown).toBeUndefined();
    else expect(setup.job.pods[0]?.unknown).toMatch(unknown);
  });

  it('is shown for an hour after its pods are gone, and its name says nothing about a later one', () => {
    const setup = new Setup();
    setup.jobs.replacePods([aPod(0)]);
    setup.jobs.replacePods([]);
    expect(setup.job.phase).toBe('Ended');
    setup.jobs.replacePods([aPod(9, { owner: { kind: 'JobSet', name: 'gpt', uid: 'j-2' } })]);
    expect(setup.jobs.list()).toHaveLength(2);
    setup.nowMs += 3_700_000;
    setup.jobs.replacePods([]);
    expect(setup.jobs.list()).toHaveLength(0);
  });

  const ofPod = (index: number, more: Partial<ObservedPod> = {}): ObservedPod =>
    aPod(index, { owner: { kind: 'Pod', name: `p-${index}`, uid: `p-${index}` }, ...more });
  const many = (count: number, more: Partial<ObservedPod> = {}): readonly ObservedPod[] =>
    Array.from({ length: count }, (_, index) => ofPod(index, more));

  it('is not followed beyond 500 in a namespace, another namespace is, and the others are counted', () => {
    const setup = new Setup();
    setup.jobs.replacePods([...many(600), aPod(601, { namespace: 'vision' })]);
    expect(setup.jobs.list()).toHaveLength(501);
    expect(setup.jobs.refused).toBe(100);
    expect([0, 599, 700].map((index) => setup.jobs.refusalOf(`u-${index}`))).toEqual([undefined, 'full', 'unknown']);
  });

  it('takes the place of the one that ended first if its namespace is full', () => {
    const setup = new Setup();
    setup.jobs.replacePods([ofPod(900)]);
    setup.nowMs += 1_000;
    setup.jobs.replacePods(many(499));
    setup.nowMs += 1_000;
    setup.jobs.replacePods([]);
    setup.jobs.replacePods([ofPod(901)]);
    const names = setup.jobs.list().map(({ name }) => name);
    expect(names).toHaveLength(500);
    expect(names.filter((name) => ['p-900', 'p-901'].includes(name))).toEqual(['p-901']);
  });

  it('that has ended takes no place from another, however often pods are read', () => {
    const setup = new Setup();
    const ended = many(500, { phase: 'Succeeded', isOver: true });
    for (let times = 0; times < 3; times += 1) {
      setup.jobs.replacePods([...ended, ofPod(600, { phase: 'Succeeded', isOver: true }), ofPod(601)]);
      expect(setup.jobs.refusalOf('u-601')).toBeUndefined();
      expect([setup.jobs.list().length, setup.jobs.refused]).toEqual([500, 2]);
    }
  });

  it('goes back to the attempt whose pods run when no pod of a later one does', async () => {
    const { setup } = await trained();
    setup.jobs.replacePods([aPod(0), aPod(1), aPod(2, { attempt: 999_999 })]);
    setup.report(2, { rank: 0, step: 1 });
    expect([setup.report(0), setup.jobs.refusalOf('u-0')]).toEqual([undefined, 'earlierAttempt']);
    setup.jobs.replacePods([aPod(0), aPod(1), aPod(2, { attempt: 999_999, isOver: true })]);
    for (const index of [0, 1]) expect(setup.report(index, { step: 70 })).toEqual({});
    await setup.second();
    expect(setup.job).toMatchObject({ attempt: 0, step: 70, phase: 'Training' });
  });

  it('hears only pods that were read from the API server', () => {
    expect(new Setup().report(0)).toBeUndefined();
  });
});
