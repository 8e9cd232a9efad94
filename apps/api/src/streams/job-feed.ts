import { type Beside, FrameHistory, type Framed } from './frame-history.ts';
import { type FeedReader, type FeedScope, MOST_EVENTS, MOST_STEPS, type Reading, type Wanted } from './feed-reader.ts';
import { resumeRequest } from '../limits/request-cpu.ts';
import { placeText, type StreamPlace } from './stream-place.ts';
import { frameOf, openFrameOf, placeFrame, type StreamWriter } from './stream-writer.ts';

/** What is known of a job after its first reading. */
interface Known {
  event: number;
  change: number;
  readonly events: FrameHistory;
  readonly steps: FrameHistory;
}

/** How far a reader has got, whose steps are counted from somewhere. */
type SeenPlace = Readonly<Record<keyof StreamPlace, number>>;

/** Events from before those that are kept. */
interface Older {
  readonly history: FrameHistory;
  readonly last: number;
}

/**
 * One job as one scope may see it, for all who watch it: what changed is read once, made into frames once, and the same bytes are given to everybody. Who
 * joins late is served from the newest frames, which are kept.
 */
export class JobFeed {
  readonly scope: FeedScope;
  readonly jobId: string;
  readonly #reader: Pick<FeedReader, 'eventsBetween' | 'stepsBetween'>;
  readonly #mostBytes: () => number;
  readonly #writers = new Set<StreamWriter>();
  /** What is being read of before what is kept. */
  readonly #looksBack = new Map<string, Promise<unknown>>();
  readonly #first = Promise.withResolvers<void>();
  #known: Known | undefined;
  #uid: string | null = null;
  #job: { readonly version: number; readonly frame: Buffer } | undefined;
  #isGone = false;

  constructor(
    of: { readonly scope: FeedScope; readonly jobId: string },
    parts: { readonly reader: Pick<FeedReader, 'eventsBetween' | 'stepsBetween'>; readonly mostBytes: () => number },
  ) {
    this.scope = of.scope;
    this.jobId = of.jobId;
    this.#reader = parts.reader;
    this.#mostBytes = parts.mostBytes;
  }

  /** What is to be read of it. */
  wanted(stepsOnly: boolean): Wanted {
    const known = this.#known === undefined ? undefined : { event: this.#known.event, change: this.#known.change };
    return {
      jobId: this.jobId,
      uid: this.#uid,
      known,
      stepsOnly: stepsOnly && known !== undefined && this.#uid !== null,
    };
  }

  /** Tells everybody what was read. True when there may be more at once. */
  apply(reading: Reading): boolean {
    if (reading.job === null) {
      this.end();
      return false;
    }
    if (reading.job !== undefined) this.#uid = reading.job.uid;
    const isFirst = this.#known === undefined;
    const known = (this.#known ??= this.#begin(reading));
    const news: Buffer[] = [];
    const events = reading.events.map((event): Framed => {
      known.event = event.id;
      return this.#made(news, event.id, openFrameOf('event', event));
    });
    if (reading.job !== undefined && reading.job.version !== this.#job?.version) {
      this.#job = { version: reading.job.version, frame: frameOf('job', reading.job) };
      news.push(this.#job.frame);
    }
    const steps = reading.steps.map(({ change, point }): Framed => {
      known.change = change;
      return this.#made(news, change, openFrameOf('step', point));
    });
    known.events.append(events);
    known.steps.append(steps);
    this.#send(news);
    this.#first.resolve();
    return !isFirst && (events.length >= MOST_EVENTS || steps.length >= MOST_STEPS);
  }

  /** Shows a reader what it missed and the job as it is, and everything from then on. Who has seen no step yet is owed those that come from now on. */
  async join(writer: StreamWriter, place: StreamPlace): Promise<void> {
    await this.#first.promise;
    let event = place.event;
    let change = place.change ?? this.#known?.change ?? 0;
    for (;;) {
      // The reader waited for what others share, too.
      resumeRequest();
      const known = this.#known;
      if (this.#isGone || known === undefined) return writer.end({ isComplete: true });
      if (writer.isOver) return;
      if (!known.events.covers(event)) event = await this.#showOlder(writer, { event, change }, known.events.from);
      else if (known.steps.covers(change)) return this.#welcome(writer, known, { event, change });
      else if (!(await this.#recall(known, change))) {
        change = known.change;
        writer.write(Buffer.concat([openFrameOf('resync', {}), placeFrame(placeText({ event, change }))]));
      }
    }
  }

  leave(writer: StreamWriter): void {
    this.#writers.delete(writer);
  }

  /** Nobody can watch it any more. */
  end(): void {
    this.#isGone = true;
    this.#first.resolve();
    for (const writer of this.#writers) writer.end({ isComplete: true });
    this.#writers.clear();
  }

  #begin({ events, lastChange = 0 }: Reading): Known {
    const hasAll = events.length < MOST_EVENTS;
    return {
      event: 0,
      change: lastChange,
      events: new FrameHistory(hasAll ? 0 : (events[0]?.id ?? 1) - 1, this.#mostBytes),
      steps: new FrameHistory(lastChange, this.#mostBytes),
    };
  }

  /** A frame to be kept; `news` has it with the place that everybody has got to with it. */
  #made(news: Buffer[], place: number, frame: Buffer): Framed {
    if (this.#writers.size > 0 && this.#known !== undefined) news.push(frame, placeFrame(placeText(this.#known)));
    return { place, frame };
  }

  #send(frames: readonly Buffer[]): void {
    if (frames.length === 0 || this.#writers.size === 0) return;
    const chunk = Buffer.concat(frames);
    for (const writer of this.#writers) writer.write(chunk);
  }

  /**
   * Runs without waiting, so that nothing comes between the kept frames and the next one. A frame that a reader missed carries the reader's own
   * position: events come before the steps that it has not seen, whatever other readers were sent between them.
   */
  #welcome(writer: StreamWriter, known: Known, { event, change }: SeenPlace): void {
    writer.write(known.events.after(event, besideChange(change)));
    if (this.#job !== undefined) writer.write(this.#job.frame);
    writer.write(known.steps.after(change, besideEvent(known.event)));
    writer.write(placeFrame(placeText(known)));
    if (!writer.isOver) this.#writers.add(writer);
  }

  /** Events that are not kept are read, once for all who ask for them at a time; gives the id of the last. */
  async #showOlder(writer: StreamWriter, { event, change }: SeenPlace, upTo: number): Promise<number> {
    const range = { after: event, upTo };
    const { history, last } = await this.#readHistory(`events ${event}-${upTo}`, () => this.#readOlder(range));
    writer.write(history.after(event, besideChange(change)));
    return last;
  }

  async #readOlder(range: { readonly after: number; readonly upTo: number }): Promise<Older> {
    const older = await this.#reader.eventsBetween(this.scope, this.jobId, range);
    const history = new FrameHistory(range.after, () => Infinity);
    history.append(older.map((event) => ({ place: event.id, frame: openFrameOf('event', event) })));
    return { history, last: older.length < MOST_EVENTS ? range.upTo : (older.at(-1)?.id ?? range.upTo) };
  }

  /** Reads steps that are not kept in memory, for this reader and others that resume from there. False when there are too many. */
  async #recall(known: Known, from: number): Promise<boolean> {
    const range = { after: from, upTo: known.steps.from };
    const steps = await this.#readHistory(`steps ${from}-${range.upTo}`, () =>
      this.#reader.stepsBetween(this.scope, this.#uid ?? '', range),
    );
    if (steps === undefined) return false;
    known.steps.prepend(
      from,
      steps.map(({ change, point }) => ({ place: change, frame: openFrameOf('step', point) })),
    );
    return known.steps.covers(from);
  }

  /** All who ask for the same at a time are answered by one reading. */
  #readHistory<T>(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.#looksBack.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const reading = read().finally(() => this.#looksBack.delete(key));
    this.#looksBack.set(key, reading);
    return reading;
  }
}

function besideChange(change: number): Beside {
  return { key: `change ${change}`, placeText: (event) => placeText({ event, change }) };
}

function besideEvent(event: number): Beside {
  return { key: `event ${event}`, placeText: (change) => placeText({ event, change }) };
}
