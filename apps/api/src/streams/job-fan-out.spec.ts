import { aJob, aJobEvent, aStepPoint } from '@coxswain/api-types/testing';
import { DomainError } from '@coxswain/domain-error';
import { createLogger } from '@coxswain/telemetry';
import { type FeedReader, type FeedScope, MOST_EVENTS, type Reading, type Wanted } from './feed-reader.ts';
import { JobFanOut } from './job-fan-out.ts';
import type { JobNews } from './live-jobs.ts';
import { lastEventIdIn, ReaderOfStream, sentIn } from './testing/a-reader-of-streams.ts';
import { placeOf } from './stream-place.ts';
import { StreamWriter } from './stream-writer.ts';

const RESEARCH: FeedScope = { kind: 'project', id: 'research' };
const CLUSTER: FeedScope = { kind: 'cluster' };

/** Jobs as rows have them: changes of steps are numbered from 1. */
class World implements Pick<FeedReader, 'read' | 'eventsBetween' | 'stepsBetween'> {
  job = aJob({ version: 1, uid: 'uid' });
  readonly events: number[] = [];
  readonly steps: number[] = [];
  isGone = false;
  readonly readings: (readonly [FeedScope, readonly Wanted[]])[] = [];
  readonly looksBack: string[] = [];

  read(scope: FeedScope, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, Reading>> {
    this.readings.push([scope, wanted]);
    return Promise.resolve(new Map(wanted.map((one) => [one.jobId, this.#reading(one)])));
  }

  eventsBetween(_scope: FeedScope, _jobId: string, { after, upTo }: { after: number; upTo: number }) {
    this.looksBack.push('events');
    return Promise.resolve(
      this.events
        .filter((id) => id > after && id <= upTo)
        .slice(0, MOST_EVENTS)
        .map((id) => aJobEvent({ id })),
    );
  }

  stepsBetween(_scope: FeedScope, _uid: string, { after, upTo }: { after: number; upTo: number }) {
    this.looksBack.push('steps');
    if (upTo - after > 1_000) return Promise.resolve(undefined);
    return Promise.resolve(this.#changes(after).filter(({ change }) => change <= upTo));
  }

  #changes(after: number): readonly { change: number; point: ReturnType<typeof aStepPoint> }[] {
    return this.steps.map((step, index) => ({ change: index + 1, point: aStepPoint({ step }) })).slice(after);
  }

  #newEvents(after: number | undefined): readonly number[] {
    if (after === undefined) return this.events.slice(-MOST_EVENTS);
    return this.events.filter((id) => id > after).slice(0, MOST_EVENTS);
  }

  #reading({ known, stepsOnly }: Wanted): Reading {
    const isKnown = known !== undefined;
    return {
      job: stepsOnly ? undefined : this.isGone ? null : this.job,
      events: stepsOnly ? [] : this.#newEvents(known?.event).map((id) => aJobEvent({ id })),
      steps: isKnown ? this.#changes(known.change) : [],
      lastChange: isKnown ? undefined : this.steps.length,
    };
  }
}

describe('the stream of a job', () => {
  let world: World;
  let notify: (news: JobNews) => void;
  let fanOut: JobFanOut;
  let check: () => Promise<(scope: FeedScope) => boolean>;

  beforeEach(() => {
    world = new World();
    check = () => Promise.resolve(() => true);
    fanOut = new JobFanOut({
      reader: world,
      live: {
        isListening: true,
        listen: (hearer) => {
          notify = hearer;
          return () => undefined;
        },
      },
      logger: createLogger({ program: 'test', level: 'silent' }),
    });
  });
  afterEach(() => fanOut.close());

  const watch = (
    place: { event: number; change?: number | undefined } = { event: 0 },
    {
      scope = RESEARCH,
      credential = 'Bearer x',
      jobId = world.job.id,
    }: { scope?: FeedScope; credential?: string; jobId?: string } = {},
  ): ReaderOfStream => {
    const reader = new ReaderOfStream();
    const writer = new StreamWriter(reader.response, 1_048_576, () => fanOut.leave(writer));
    void fanOut.watch({
      scope,
      credential,
      writer,
      jobId,
      place: { event: place.event, change: place.change },
      check: () => check(),
    });
    return reader;
  };
  const changed = (stepsOnly = false): void => notify({ jobId: world.job.id, stepsOnly });

  it('begins with every event, and the job as it is now', async () => {
    world.events.push(1, 2);
    world.steps.push(1);
    expect(await watch().until(3)).toEqual(['event 1', 'event 2', 'job']);
  });

  it('sends what comes: events, steps, and the job when its version is another', async () => {
    const reader = watch();
    await reader.until(1);
    world.events.push(1);
    world.steps.push(10);
    changed();
    await reader.until(3);
    world.job = { ...world.job, version: 2 };
    changed();
    expect(await reader.until(4)).toEqual(['job', 'event 1', 'step 10', 'job']);
  });

  it('goes on after the place that was seen last, with the steps that came meanwhile', async () => {
    const first = watch();
    await first.until(1);
    world.events.push(1);
    world.steps.push(10, 11);
    changed();
    await first.until(4);
    const place = { event: 1, change: 1 };
    expect(first.lastEventId).toBe('1-2');
    expect(await watch(place).until(2)).toEqual(['job', 'step 11']);
    expect(world.looksBack).toEqual([]);
  });

  it.each<[string, { event: number; change?: number }]>([
    ['the first time', { event: 0 }],
    ['a break, with the steps kept', { event: 1, change: 2 }],
    ['a break so long that events and steps are read again', { event: 0, change: 0 }],
  ])('cut off anywhere in what it is shown after %s, goes on without losing or repeating', async (_what, place) => {
    world.events.push(1, 2);
    world.steps.push(10, 11);
    const other = watch();
    await other.until(3);
    world.events.push(3, 4);
    world.steps.push(12, 13);
    changed();
    await other.until(7);
    const whole = watch(place);
    const all = await whole.until(place.change === undefined ? 5 : place.change === 2 ? 6 : 9);
    expect(world.looksBack).toEqual(place.change === 0 ? ['steps'] : []);
    const withoutJob = (sent: readonly string[]): readonly string[] => sent.filter((one) => one !== 'job');
    for (let cut = 0; cut <= whole.text.length; cut += 7) {
      const first = whole.text.slice(0, cut);
      const seen = placeOf(lastEventIdIn(first)) ?? place;
      const second = watch({ event: seen.event, change: seen.change });
      await second.until(1);
      await new Promise(setImmediate);
      expect([...withoutJob(sentIn(first)), ...withoutJob(second.sent)]).toEqual(withoutJob(all));
    }
  });

  it('is owed every step from when it was opened, though it was cut off before one was sent', async () => {
    world.events.push(1, 2);
    world.steps.push(10);
    const first = watch();
    await first.until(3);
    const cutAfterOneEvent = first.text.slice(0, first.text.indexOf('\n\n') + 2);
    world.steps.push(11);
    changed(true);
    await first.until(4);
    const seen = placeOf(lastEventIdIn(cutAfterOneEvent));
    expect(await watch({ event: seen?.event ?? 0, change: seen?.change }).until(3)).toEqual([
      'event 2',
      'job',
      'step 11',
    ]);
  });

  it('costs two thousand who join the memory of one', async () => {
    world.events.push(...Array.from({ length: 900 }, (_, index) => index + 1));
    const readers = Array.from({ length: 2_000 }, () => watch());
    await readers[1_999]?.until(901);
    const memory = new Set(
      readers.flatMap(({ chunks }) => chunks.filter(({ length }) => length > 100)).map((chunk) => chunk.buffer),
    );
    // Events, and the job.
    expect(memory.size).toBeLessThanOrEqual(2);
  });

  it('reads events that are not kept once for all who join together', async () => {
    world.events.push(...Array.from({ length: 2_500 }, (_, index) => index + 1));
    const readers = Array.from({ length: 50 }, () => watch());
    const sent = await readers[49]?.until(2_501);
    expect(sent?.slice(0, 2)).toEqual(['event 1', 'event 2']);
    expect(new Set(sent).size).toBe(2_501);
    expect(world.looksBack).toEqual(['events', 'events']);
  });

  it('reads steps of before the process began once, for all who come back from there', async () => {
    world.steps.push(...Array.from({ length: 20 }, (_, index) => index));
    const readers = [watch({ event: 0, change: 15 }), watch({ event: 0, change: 15 }), watch({ event: 0, change: 17 })];
    expect((await readers[0]?.until(6))?.slice(1)).toEqual(['step 15', 'step 16', 'step 17', 'step 18', 'step 19']);
    expect((await readers[2]?.until(4))?.slice(1)).toEqual(['step 17', 'step 18', 'step 19']);
    world.looksBack.length = 0;
    expect(await watch({ event: 0, change: 15 }).until(6)).toHaveLength(6);
    expect(world.looksBack).toEqual([]);
  });

  it('says resync where too many steps came meanwhile, and goes on', async () => {
    world.steps.push(...Array.from({ length: 3_000 }, (_, index) => index));
    const reader = watch({ event: 0, change: 5 });
    expect(await reader.until(2)).toEqual(['resync', 'job']);
    world.steps.push(9_999);
    changed(true);
    expect((await reader.until(3)).at(-1)).toBe('step 9999');
    expect(reader.lastEventId).toBe('0-3001');
  });

  it('reads the job no more when only steps have come', async () => {
    const reader = watch();
    await reader.until(1);
    world.steps.push(10);
    changed(true);
    await reader.until(2);
    expect(world.readings.map(([, wanted]) => wanted[0]?.stepsOnly)).toEqual([false, true]);
  });

  it('is read once for everybody: two thousand cost what one costs', async () => {
    const readers = Array.from({ length: 2_000 }, () => watch());
    await Promise.all(readers.map((reader) => reader.until(1)));
    world.events.push(1);
    changed();
    await Promise.all(readers.map((reader) => reader.until(2)));
    expect(world.readings).toHaveLength(2);
    expect(world.looksBack).toEqual([]);
  });

  it('shows a change that was heard while a reading of its steps failed', async () => {
    const reader = watch();
    await reader.until(1);
    const read = world.read.bind(world);
    world.read = () => {
      world.read = read;
      world.events.push(1);
      changed();
      return Promise.reject(new Error('the database is away'));
    };
    changed(true);
    expect(await reader.until(2)).toEqual(['job', 'event 1']);
  });

  it('of a job that cannot be read keeps no other back', async () => {
    const read = world.read.bind(world);
    world.read = (scope, wanted) =>
      wanted.some(({ jobId }) => jobId === 'poison')
        ? Promise.reject(new Error('a row that nobody understands'))
        : read(scope, wanted);
    watch({ event: 0 }, { jobId: 'poison' });
    expect(await watch().until(1)).toEqual(['job']);
  });

  it('is read for each scope apart', async () => {
    await watch().until(1);
    await watch({ event: 0 }, { scope: CLUSTER }).until(1);
    expect(world.readings.map(([scope]) => scope)).toEqual([RESEARCH, CLUSTER]);
    expect(fanOut.feeds).toBe(2);
  });

  it.each<[string, (reader: ReaderOfStream) => void]>([
    ['the job is gone', () => ((world.isGone = true), changed())],
    ['the reader leaves', (reader) => reader.emit('close')],
    ['the process stops', () => fanOut.close()],
  ])('ends when %s, and is read no more', async (_what, happens) => {
    const reader = watch();
    await reader.until(1);
    const ended = new Promise((resolve) => reader.once('close', resolve));
    happens(reader);
    await ended;
    await new Promise(setImmediate);
    expect(fanOut.feeds).toBe(0);
  });

  it('of who has gone before it began is closed all the same', async () => {
    const reader = new ReaderOfStream();
    reader.destroyed = true;
    await new Promise<void>((resolve) => new StreamWriter(reader.response, 1_048_576, resolve));
  });

  it('ends with resync for a reader who leaves too much unread, and goes on for the others', async () => {
    const [slow, quick] = [watch(), watch()];
    await Promise.all([slow.until(1), quick.until(1)]);
    slow.writableLength = 2_000_000;
    world.events.push(1);
    changed();
    expect(await slow.until(2)).toEqual(['job', 'resync']);
    expect(slow.isEnded).toBe(true);
    expect(await quick.until(2)).toEqual(['job', 'event 1']);
  });

  it('ends for those whose token is revoked or whose role is gone, who are asked about once', async () => {
    const readers = [watch(), watch(), watch({ event: 0 }, { credential: 'Bearer good' })];
    await Promise.all(readers.map((reader) => reader.until(1)));
    let asked = 0;
    check = () => {
      asked += 1;
      return asked === 1 ? Promise.reject(new DomainError('UNAUTHENTICATED', 'revoked')) : Promise.resolve(() => true);
    };
    await fanOut.recheck();
    expect(asked).toBe(2);
    expect(readers.map(({ isEnded }) => isEnded)).toEqual([true, true, false]);
    check = () => Promise.resolve(() => false);
    await fanOut.recheck();
    expect(readers[2]?.isEnded).toBe(true);
  });

  it('bears with whoever cannot be asked about for a moment', async () => {
    const reader = watch();
    await reader.until(1);
    check = () => Promise.reject(new DomainError('UNAVAILABLE', 'later'));
    await fanOut.recheck();
    expect(reader.isEnded).toBe(false);
  });
});
