import { FakeClock } from '@coxswain/kube/testing';
import { IngestThread, type IngestThreadParts } from './ingest-thread.ts';

const worker = new URL('./testing/scripted-ingest-worker.ts', import.meta.url);
const start = {
  listenHost: 'here',
  listenPort: 0,
  ownUrl: 'https://replica:9443',
  serving: { certPem: '', keyPem: '' },
  silenceMs: 1,
  seriesReaders: [],
  healthWindowMs: 60_000,
  idleMs: 600_000,
};
/** What the scripted thread does when it is told to refuse somebody. */
const refuse = (why: string) => ({ kind: 'refuse', jobUid: 'job-1', epoch: 1, why }) as const;

interface Setup {
  readonly thread: IngestThread;
  readonly clock: FakeClock;
  readonly deaths: number[];
  /** Resolves with the next thing that the thread says. */
  reported(): Promise<string>;
  /** Resolves when the thread has answered, and so has told something just now. */
  answers(): Promise<void>;
  /** Resolves when the thread is dead. */
  dead(): Promise<void>;
}

const running: IngestThread[] = [];
afterEach(() => Promise.all(running.splice(0).map((thread) => thread.stop())));

function aSetup(options: Partial<IngestThreadParts> = {}): Setup {
  const clock = new FakeClock();
  const deaths: number[] = [];
  const reported: string[] = [];
  const wake = new Set<() => void>();
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise<void>((resolve) => wake.add(resolve));
  };
  const note = (act: () => void): void => {
    act();
    for (const resolve of wake) resolve();
    wake.clear();
  };
  const thread = new IngestThread({
    worker,
    clock,
    start: () => start,
    answer: async () => ({ pod: 'unknown' }),
    take: ({ ended }) => note(() => reported.push(...ended)),
    view: () => ({ leadership: { leading: false }, jobs: [] }),
    onDeath: (_reason, againInMs) => note(() => deaths.push(againInMs)),
    ...options,
  });
  running.push(thread);
  const nextReported = async (): Promise<string> => {
    await until(() => reported.length > 0);
    return reported.shift() ?? '';
  };
  return {
    thread,
    clock,
    deaths,
    reported: nextReported,
    answers: async () => {
      thread.send(refuse('ask'));
      while (!(await nextReported()).startsWith('answer'));
    },
    dead: async () => {
      const before = deaths.length;
      await until(() => deaths.length > before);
    },
  };
}

describe('evidence of the thread of the reports', () => {
  it('is where the gang and its named ranks are now', async () => {
    const { thread } = aSetup();
    await thread.start();
    expect(await thread.readEvidence('job-1', [3])).toMatchObject({ step: 7, ranks: [{ rank: 3 }] });
  });

  it.each(['unanswered', 'fatal'])('is unknown if the question is %s', async (jobUid) => {
    const { thread, clock, reported, dead } = aSetup();
    expect(await thread.readEvidence('job-1', [3])).toBeUndefined();
    await thread.start();
    const evidence = thread.readEvidence(jobUid, [3]);
    if (jobUid === 'fatal') await dead();
    else while ((await reported()) !== 'asked');
    clock.advance(2_000);
    expect(await evidence).toBeUndefined();
  });
});

describe('the thread of the reports', () => {
  it('is told what it should know as soon as it listens, and again every 200 ms', async () => {
    const setup = aSetup();
    await setup.thread.start();
    expect(setup.thread.port).toBe(4321);
    expect(await setup.reported()).toBe('sees 0 jobs');
    await setup.clock.advance(200);
    expect(await setup.reported()).toBe('sees 0 jobs');
  });

  it('says so at the start where it cannot listen, and does not try again', async () => {
    const setup = aSetup({ start: () => ({ ...start, listenHost: 'taken' }) });
    await expect(setup.thread.start()).rejects.toThrow('the port is taken');
    expect([setup.deaths, setup.clock.pending]).toEqual([[], 0]);
  });

  it('gets the answers to its questions', async () => {
    const setup = aSetup();
    await setup.thread.start();
    await setup.reported();
    setup.thread.send(refuse('ask'));
    expect(await setup.reported()).toBe('answer 7: {"pod":"unknown"}');
  });

  it.each(['throw', 'exit'])('that dies (%s) hurts nobody and is started again on the same port', async (why) => {
    const setup = aSetup();
    await setup.thread.start();
    await setup.reported();
    setup.thread.send(refuse(why));
    await setup.dead();
    expect(setup.thread.isListening).toBe(false);
    await setup.clock.advance(500);
    expect(await setup.reported()).toBe('sees 0 jobs');
    expect([setup.thread.isListening, setup.thread.port]).toEqual([true, 4321]);
  });

  it('that dies again and again is started more and more rarely', async () => {
    const setup = aSetup({
      start: () => (setup.deaths.length === 0 ? start : { ...start, listenHost: 'taken' }),
    });
    await setup.thread.start();
    await setup.reported();
    setup.thread.send(refuse('exit'));
    await setup.dead();
    for (const pauseMs of [500, 1_000, 2_000]) {
      const dead = setup.dead();
      await setup.clock.advance(pauseMs);
      await dead;
    }
    expect(setup.deaths).toEqual([500, 1_000, 2_000, 4_000]);
  });

  it('that lives again for less than a minute is started as rarely as before when it dies; after that, soon', async () => {
    const setup = aSetup();
    await setup.thread.start();
    const dies = async (): Promise<void> => {
      setup.thread.send(refuse('exit'));
      await setup.dead();
      await setup.clock.advance(setup.deaths.at(-1) ?? 0);
      await setup.answers();
    };
    await dies();
    await dies();
    expect(setup.deaths).toEqual([500, 1_000]);
    for (let check = 0; check < 6; check += 1) {
      await setup.clock.advance(10_000);
      await setup.answers();
    }
    await dies();
    expect(setup.deaths).toEqual([500, 1_000, 500]);
  });

  it('that never comes back is known by how long nothing was told, however often it is started', async () => {
    const setup = aSetup({ start: () => (setup.deaths.length === 0 ? start : { ...start, listenHost: 'taken' }) });
    expect(setup.thread.silentMs).toBe(0);
    await setup.thread.start();
    await setup.answers();
    expect(setup.thread.silentMs).toBe(0);
    setup.thread.send(refuse('exit'));
    await setup.dead();
    for (const pauseMs of [500, 1_000, 2_000]) {
      const dead = setup.dead();
      await setup.clock.advance(pauseMs);
      await dead;
    }
    expect(setup.thread.silentMs).toBe(3_500);
  });

  it('is not silent once it is stopped', async () => {
    const setup = aSetup();
    await setup.thread.start();
    await setup.thread.stop();
    await setup.clock.advance(200_000);
    expect(setup.thread.silentMs).toBe(0);
  });

  it('that tells nothing at three checks in a row is ended and started again', async () => {
    const setup = aSetup();
    await setup.thread.start();
    await setup.reported();
    setup.thread.send(refuse('hang'));
    const dead = setup.dead();
    for (let check = 0; check < 3; check += 1) await setup.clock.advance(10_000);
    await dead;
    await setup.clock.advance(500);
    expect(await setup.reported()).toBe('sees 0 jobs');
  });
});
