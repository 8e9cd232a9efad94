import type { OperatorMessage, PodStacks, ThreadStack } from '@coxswain/api-types';
import { FakeClock } from '@coxswain/kube/testing';
import { aLayout } from '@coxswain/layout/testing';
import type { GangRoster } from './health-reports.ts';
import { Rendezvous } from './rendezvous.ts';
import { NO_STACKS } from './stack-findings.ts';
import { StackRequests, type StackAnswer } from './stack-requests.ts';

const main = (...frames: string[]): ThreadStack => ({ thread: 'MainThread', isMain: true, frames });
const NOTHING: Omit<PodStacks, 'request'> = { groups: [], silent: [], leftOut: '' };

/** Two pods of two ranks, and a spare. */
const ROSTER: GangRoster = {
  namespace: 'team',
  epoch: 3,
  layout: aLayout({ dataParallelDegree: 4 }),
  nodes: [
    { node: 'gpu-a', ranks: '0-1' },
    { node: 'gpu-b', ranks: '2-3' },
    { node: 'gpu-c', ranks: '' },
  ],
};

class Setup {
  readonly clock = new FakeClock();
  readonly rendezvous = new Rendezvous();
  /** What launchers were asked. */
  readonly asked: Extract<OperatorMessage, { kind: 'stacksWanted' }>[] = [];
  /** The jobs that were asked, in order. */
  readonly askedJobs: string[] = [];
  roster: GangRoster | undefined = ROSTER;
  kilobytesPerSecond = 2_048;
  readonly requests = new StackRequests({
    rendezvous: this.rendezvous,
    rosterOf: (jobUid) => Promise.resolve(jobUid === 'gone' ? undefined : this.roster),
    clock: this.clock,
    kilobytesPerSecond: () => this.kilobytesPerSecond,
  });

  /** The launcher of that pod comes. */
  connect(podIndex: number, jobUid = 'job-1'): void {
    this.rendezvous.join(
      { jobUid, epoch: 3 },
      {
        podIndex,
        podUid: `pod-${podIndex}`,
        send: (message) => {
          if (message.kind !== 'stacksWanted') return;
          this.asked.push(message);
          this.askedJobs.push(jobUid);
        },
        refuse: () => undefined,
        replace: () => undefined,
      },
    );
  }

  answer(podIndex: number, changes: Partial<PodStacks> = {}, { jobUid = 'job-1', epoch = 3 } = {}): void {
    const request = this.asked.at(-1)?.request ?? 0;
    this.requests.receive({ jobUid, epoch, podIndex }, { request, ...NOTHING, ...changes });
  }

  /** The question has reached the launchers. */
  async ask(
    question: Parameters<StackRequests['take']>[0] = { jobUid: 'job-1' },
  ): Promise<{ readonly answer: Promise<StackAnswer> }> {
    const answer = this.requests.take(question);
    await Promise.resolve();
    await Promise.resolve();
    return { answer };
  }
}

async function stacksOf(answer: Promise<StackAnswer>): Promise<object> {
  const taken = await answer;
  if (taken.kind !== 'taken') throw new Error(`it is ${taken.kind}`);
  const { groups, silent, leftOut, rankCount, epoch } = taken.stacks;
  return {
    groups: groups.map(({ ranks, frames }) => `${ranks}: ${frames.join(' < ')}`),
    silent,
    leftOut,
    rankCount,
    epoch,
  };
}

describe('the stacks of a job', () => {
  it('are of all pods together, and of whom nobody knows anything it is said', async () => {
    const setup = new Setup();
    setup.connect(0);
    setup.connect(1);
    const { answer } = await setup.ask();
    setup.answer(1, { groups: [{ ...main('wait (a.py:1)'), ranks: '3' }], silent: [{ ranks: '2', why: 'stopped' }] });
    setup.answer(0, { groups: [{ ...main('wait (a.py:1)'), ranks: '0' }] });
    expect(await stacksOf(answer)).toEqual({
      groups: ['0,3: wait (a.py:1)'],
      silent: [
        { ranks: '1', why: 'notRunning', node: 'gpu-a' },
        { ranks: '2', why: 'stopped', node: 'gpu-b' },
      ],
      leftOut: '',
      rankCount: 4,
      epoch: 3,
    });
  });

  it('do not wait for launchers that are away, and for others no longer than 8 s', async () => {
    const setup = new Setup();
    setup.connect(0);
    const { answer } = await setup.ask();
    await setup.clock.advance(8_000);
    expect(await stacksOf(answer)).toMatchObject({
      silent: [
        { ranks: '0-1', why: 'launcherSilent', node: 'gpu-a' },
        { ranks: '2-3', why: 'notConnected', node: 'gpu-b' },
      ],
    });
    setup.answer(0, { groups: [{ ...main('late'), ranks: '0-1' }] });
  });

  it('of one rank are asked of its pod alone', async () => {
    const setup = new Setup();
    setup.connect(0);
    setup.connect(1);
    const { answer } = await setup.ask({ jobUid: 'job-1', rank: 2 });
    expect(setup.asked.length).toBe(1);
    setup.answer(1, { groups: [{ ...main('a'), ranks: '2-3' }] });
    expect(await stacksOf(answer)).toMatchObject({ groups: ['2-3: a'], silent: [], rankCount: 2 });
  });

  it.each<[string, Parameters<Setup['answer']>]>([
    ['another epoch', [0, { groups: [{ ...main('x'), ranks: '0' }] }, { epoch: 2 }]],
    ['another job', [0, { groups: [{ ...main('x'), ranks: '0' }] }, { jobUid: 'job-2' }]],
    ['another question', [0, { request: 99, groups: [{ ...main('x'), ranks: '0' }] }]],
    ['a pod that was not asked', [2, { groups: [{ ...main('x'), ranks: '0' }] }]],
  ])('take no answer of %s', async (_sentence, given) => {
    const setup = new Setup();
    setup.connect(0);
    const { answer } = await setup.ask();
    setup.answer(...given);
    setup.answer(0, { groups: [{ ...main('own'), ranks: '0-1' }] });
    setup.answer(0, { groups: [{ ...main('again'), ranks: '0-1' }] });
    expect(await stacksOf(answer)).toMatchObject({ groups: ['0-1: own'] });
  });

  it('of a large gang leave every pod less room', async () => {
    const setup = new Setup();
    const nodes = Array.from({ length: 2_048 }, (_, pod) => ({ node: `n${pod}`, ranks: `${8 * pod}-${8 * pod + 7}` }));
    setup.connect(0);
    await setup.ask();
    setup.roster = { ...ROSTER, nodes };
    setup.connect(0, 'large');
    await setup.ask({ jobUid: 'large' });
    expect(setup.asked.map(({ maxBytes }) => maxBytes)).toEqual([196_608, 12_288]);
  });
});

describe('whoever asks', () => {
  it.each<[string, Parameters<StackRequests['take']>[0], StackAnswer]>([
    ['of a job without a gang is told so', { jobUid: 'gone' }, { kind: 'noGang' }],
    [
      'of a rank that there is not is told how many there are',
      { jobUid: 'job-1', rank: 4 },
      { kind: 'noSuchRank', rankCount: 4 },
    ],
  ])('%s', async (_sentence, question, want) => {
    expect(await new Setup().requests.take(question)).toEqual(want);
  });

  it('the same while it is under way gets the same answer, and something else is to come again', async () => {
    const setup = new Setup();
    setup.connect(0);
    const [first, second, third] = [
      await setup.ask(),
      await setup.ask(),
      await setup.ask({ jobUid: 'job-1', rank: 0 }),
    ];
    setup.answer(0);
    expect(await third.answer).toEqual({ kind: 'later', why: 'busy', againInMs: 1_000 });
    expect(await first.answer).toBe(await second.answer);
    expect(setup.asked.length).toBe(1);
  });

  it('of a job that was asked a moment ago is to come again, later where many pods answer; an incident is not', async () => {
    const setup = new Setup();
    await (
      await setup.ask()
    ).answer;
    await setup.clock.advance(500);
    expect(await (await setup.ask()).answer).toEqual({ kind: 'later', why: 'asked', againInMs: 1_500 });
    expect((await setup.requests.evidenceOf({ jobUid: 'job-1', epoch: 3 }, [1])).evidence).toEqual({
      'stack of ranks 0-1': 'none: the launcher of its pod is not connected',
    });
    await setup.clock.advance(2_000);
    setup.roster = { ...ROSTER, nodes: Array.from({ length: 2_000 }, (_, rank) => ({ node: 'n', ranks: `${rank}` })) };
    await (
      await setup.ask()
    ).answer;
    expect(await (await setup.ask()).answer).toMatchObject({ againInMs: 10_000 });
    setup.requests.forget('job-1');
    expect((await (await setup.ask()).answer).kind).toBe('taken');
  });

  it.each([
    ['soon where few launchers share the thread', 2_048, 0],
    ['in a minute where thousands do: its heartbeats come beside them', 4, 60_000],
  ])('of one rank, whose pod has said much, are taken again %s', async (_sentence, kilobytesPerSecond, leastMs) => {
    const setup = new Setup();
    setup.kilobytesPerSecond = kilobytesPerSecond;
    setup.connect(0);
    const { answer } = await setup.ask({ jobUid: 'job-1', rank: 0 });
    const groups = Array.from({ length: 120 }, (_, at) => ({
      ...main(`${at}`, ...Array.from({ length: 5 }, () => 'f'.repeat(200))),
      ranks: '0-1',
    }));
    setup.answer(0, { groups });
    expect((await answer).kind).toBe('taken');
    await setup.clock.advance(2_000);
    const { answer: later } = await setup.ask({ jobUid: 'job-1', rank: 1 });
    setup.answer(0);
    const again = await later;
    expect(again.kind === 'later' ? again.againInMs : 0).toBeGreaterThanOrEqual(leastMs);
    expect(again.kind).toBe(leastMs === 0 ? 'taken' : 'later');
  });

  it('beyond what a launcher was told that it may send are left out, and its ranks are named', async () => {
    const setup = new Setup();
    setup.connect(0);
    setup.connect(1);
    const { answer } = await setup.ask();
    const frames = Array.from({ length: 60 }, () => 'f'.repeat(250));
    setup.answer(0, { groups: Array.from({ length: 20 }, (_, at) => ({ ...main(`${at}`, ...frames), ranks: '0-1' })) });
    setup.answer(1, { groups: [{ ...main('wait (a.py:1)'), ranks: '2-3' }] });
    expect(await stacksOf(answer)).toMatchObject({ groups: ['2-3: wait (a.py:1)'], leftOut: '0-1', silent: [] });
  });

  it('of a hang are waited for while people ask for one rank of it, and while others of its namespace are asked', async () => {
    const setup = new Setup();
    for (const jobUid of ['job-1', 'job-2', 'job-3', 'job-4']) setup.connect(0, jobUid);
    for (const jobUid of ['job-2', 'job-3']) await setup.ask({ jobUid });
    const byHand = await setup.ask({ jobUid: 'job-1', rank: 0 });
    const evidence = setup.requests.evidenceOf({ jobUid: 'job-1', epoch: 3 }, [1]);
    const ofAnother = setup.requests.evidenceOf({ jobUid: 'job-4', epoch: 3 }, [1]);
    await setup.clock.advance(0);
    expect(setup.asked.length).toBe(4);
    setup.requests.receive(
      { jobUid: 'job-1', epoch: 3, podIndex: 0 },
      { request: setup.asked[2]?.request ?? 0, ...NOTHING, groups: [{ ...main('wait (a.py:1)'), ranks: '0-1' }] },
    );
    await byHand.answer;
    await setup.clock.advance(500);
    expect(setup.asked.length).toBe(5);
    await setup.clock.advance(8_000);
    expect(Object.keys((await evidence).evidence)).toEqual(['stack of ranks 0-1']);
    expect(Object.keys((await ofAnother).evidence).length).toBeGreaterThan(0);
  });

  it('of an epoch that is over gets no evidence of the next', async () => {
    expect(await new Setup().requests.evidenceOf({ jobUid: 'job-1', epoch: 2 }, [1])).toEqual(NO_STACKS);
  });

  it('keeps no other namespace waiting: of one, three jobs are asked at a time', async () => {
    const setup = new Setup();
    const jobs = ['job-1', 'job-2', 'job-3', 'job-4'];
    for (const jobUid of jobs) setup.connect(0, jobUid);
    const answers: Promise<StackAnswer>[] = [];
    for (const jobUid of jobs) answers.push((await setup.ask({ jobUid })).answer);
    await setup.clock.advance(5_000);
    expect(await answers[3]).toMatchObject({ kind: 'later', why: 'busy' });
    setup.roster = { ...ROSTER, namespace: 'others' };
    await setup.ask({ jobUid: 'job-4' });
    expect(setup.asked.length).toBe(4);
  });

  it('waits for its turn where others fill every place, and is served before more of theirs', async () => {
    const setup = new Setup();
    const take = async (namespace: string, jobUid: string): Promise<{ readonly answer: Promise<StackAnswer> }> => {
      setup.roster = { ...ROSTER, namespace };
      setup.connect(0, jobUid);
      return setup.ask({ jobUid });
    };
    for (const namespace of ['a', 'b', 'c', 'd'])
      for (let index = 0; index < 7; index += 1) await take(namespace, `${namespace}${index}`);
    expect(setup.asked).toHaveLength(12);
    const { answer } = await take('modest', 'modest');
    // The first of theirs ends.
    setup.requests.forget('a0');
    await setup.clock.advance(0);
    expect(setup.askedJobs.slice(12)).toEqual(['modest']);
    await setup.clock.advance(8_000);
    expect((await answer).kind).toBe('taken');
  });
});
