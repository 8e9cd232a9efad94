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
};
/** What the scripted thread does when it is told to refuse somebody. */
const told = (why: string) => ({ kind: 'refuse', jobUid: 'job-1', epoch: 1, why }) as const;

interface Desk {
  readonly thread: IngestThread;
  readonly clock: FakeClock;
  readonly deaths: number[];
  /** Resolves with the next thing that the thread says. */
  said(): Promise<string>;
  /** Resolves when the thread has answered, and so has told something just now. */
  answers(): Promise<void>;
  /** Resolves when the thread is dead. */
  dead(): Promise<void>;
}

const running: IngestThread[] = [];
afterEach(() => Promise.all(running.splice(0).map((thread) => thread.stop())));

function aDesk(options: Partial<IngestThreadParts> = {}): Desk {
  const clock = new FakeClock();
  const deaths: number[] = [];
  const said: string[] = [];
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
    take: ({ ended }) => note(() => said.push(...ended)),
    look: () => ({ leadership: { leading: false }, jobs: [] }),
    onDeath: (_reason, againInMs) => note(() => deaths.push(againInMs)),
    ...options,
  });
  running.push(thread);
  const nextSaid = async (): Promise<string> => {
    await until(() => said.length > 0);
    return said.shift() ?? '';
  };
  return {
    thread,
    clock,
    deaths,
    said: nextSaid,
    answers: async () => {
      thread.tell(told('ask'));
      while (!(await nextSaid()).startsWith('answer'));
    },
    dead: async () => {
      const before = deaths.length;
      await until(() => deaths.length > before);
    },
  };
}

describe('the thread of the reports', () => {
  it('is told what it should know as soon as it listens, and again every 200 ms', async () => {
    const desk = aDesk();
    await desk.thread.start();
    expect(desk.thread.port).toBe(4321);
    expect(await desk.said()).toBe('sees 0 jobs');
    await desk.clock.advance(200);
    expect(await desk.said()).toBe('sees 0 jobs');
  });

  it('says so at the start where it cannot listen, and does not try again', async () => {
    const desk = aDesk({ start: () => ({ ...start, listenHost: 'taken' }) });
    await expect(desk.thread.start()).rejects.toThrow('the port is taken');
    expect([desk.deaths, desk.clock.pending]).toEqual([[], 0]);
  });

  it('gets the answers to its questions', async () => {
    const desk = aDesk();
    await desk.thread.start();
    await desk.said();
    desk.thread.tell(told('ask'));
    expect(await desk.said()).toBe('answer 7: {"pod":"unknown"}');
  });

  it.each(['throw', 'exit'])('that dies (%s) hurts nobody and is started again on the same port', async (why) => {
    const desk = aDesk();
    await desk.thread.start();
    await desk.said();
    desk.thread.tell(told(why));
    await desk.dead();
    expect(desk.thread.isListening).toBe(false);
    await desk.clock.advance(500);
    expect(await desk.said()).toBe('sees 0 jobs');
    expect([desk.thread.isListening, desk.thread.port]).toEqual([true, 4321]);
  });

  it('that dies again and again is started more and more rarely', async () => {
    const desk = aDesk({
      start: () => (desk.deaths.length === 0 ? start : { ...start, listenHost: 'taken' }),
    });
    await desk.thread.start();
    await desk.said();
    desk.thread.tell(told('exit'));
    await desk.dead();
    for (const pauseMs of [500, 1_000, 2_000]) {
      const dead = desk.dead();
      await desk.clock.advance(pauseMs);
      await dead;
    }
    expect(desk.deaths).toEqual([500, 1_000, 2_000, 4_000]);
  });

  it('that lives again for less than a minute is started as rarely as before when it dies; after that, soon', async () => {
    const desk = aDesk();
    await desk.thread.start();
    const dies = async (): Promise<void> => {
      desk.thread.tell(told('exit'));
      await desk.dead();
      await desk.clock.advance(desk.deaths.at(-1) ?? 0);
      await desk.answers();
    };
    await dies();
    await dies();
    expect(desk.deaths).toEqual([500, 1_000]);
    for (let check = 0; check < 6; check += 1) {
      await desk.clock.advance(10_000);
      await desk.answers();
    }
    await dies();
    expect(desk.deaths).toEqual([500, 1_000, 500]);
  });

  it('that never comes back is known by how long nothing was told, however often it is started', async () => {
    const desk = aDesk({ start: () => (desk.deaths.length === 0 ? start : { ...start, listenHost: 'taken' }) });
    expect(desk.thread.silentMs).toBe(0);
    await desk.thread.start();
    await desk.answers();
    expect(desk.thread.silentMs).toBe(0);
    desk.thread.tell(told('exit'));
    await desk.dead();
    for (const pauseMs of [500, 1_000, 2_000]) {
      const dead = desk.dead();
      await desk.clock.advance(pauseMs);
      await dead;
    }
    expect(desk.thread.silentMs).toBe(3_500);
  });

  it('is not silent once it is stopped', async () => {
    const desk = aDesk();
    await desk.thread.start();
    await desk.thread.stop();
    await desk.clock.advance(200_000);
    expect(desk.thread.silentMs).toBe(0);
  });

  it('that tells nothing at three checks in a row is ended and started again', async () => {
    const desk = aDesk();
    await desk.thread.start();
    await desk.said();
    desk.thread.tell(told('hang'));
    const dead = desk.dead();
    for (let check = 0; check < 3; check += 1) await desk.clock.advance(10_000);
    await dead;
    await desk.clock.advance(500);
    expect(await desk.said()).toBe('sees 0 jobs');
  });
});
