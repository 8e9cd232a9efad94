import { FrameHistory, type Framed } from './frame-history.ts';
import { type FeedReader, type FeedScope, MOST_EVENTS, MOST_STEPS, type Reading, type Wanted } from './feed-reader.ts';
import { placeText, type StreamPlace } from './stream-place.ts';
import { frameOf, placeFrame, type StreamWriter } from './stream-writer.ts';

/** What is known of a job after its first reading. */
interface Known {
  event: number;
  change: number;
  readonly events: FrameHistory;
  readonly steps: FrameHistory;
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
    const events = reading.events.map((event): Framed => {
      known.event = event.id;
      return { place: event.id, frame: frameOf('event', event, placeText(known)) };
    });
    const frames = events.map(({ frame }) => frame);
    if (reading.job !== undefined && reading.job.version !== this.#job?.version) {
      this.#job = { version: reading.job.version, frame: frameOf('job', reading.job) };
      frames.push(this.#job.frame);
    }
    const steps = reading.steps.map(({ change, point }): Framed => {
      known.change = change;
      return { place: change, frame: frameOf('step', point, placeText(known)) };
    });
    known.events.append(events);
    known.steps.append(steps);
    this.#tell([...frames, ...steps.map(({ frame }) => frame)]);
    this.#first.resolve();
    return !isFirst && (events.length >= MOST_EVENTS || steps.length >= MOST_STEPS);
  }

  /** Shows a reader what it missed and the job as it is, and everything from then on. */
  async join(writer: StreamWriter, place: StreamPlace): Promise<void> {
    await this.#first.promise;
    let { event, change } = place;
    for (;;) {
      const known = this.#known;
      if (this.#isGone || known === undefined) return writer.end({ isComplete: true });
      if (writer.isOver) return;
      if (!known.events.covers(event)) event = await this.#showOlder(writer, { after: event, upTo: known.events.from });
      else if (change === undefined || known.steps.covers(change))
        return this.#welcome(writer, known, { event, change });
      else if (!(await this.#recall(known, change))) {
        change = undefined;
        writer.write(frameOf('resync', {}, placeText({ event: place.event, change })));
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

  #tell(frames: readonly Buffer[]): void {
    if (frames.length === 0 || this.#writers.size === 0) return;
    const chunk = Buffer.concat(frames);
    for (const writer of this.#writers) writer.write(chunk);
  }

  /** In one go, without waiting: nothing comes between what is kept and what is told next. */
  #welcome(writer: StreamWriter, known: Known, { event, change }: StreamPlace): void {
    const frames = [
      ...known.events.after(event),
      ...(this.#job === undefined ? [] : [this.#job.frame]),
      ...(change === undefined ? [] : known.steps.after(change)),
      placeFrame(placeText(known)),
    ];
    writer.write(Buffer.concat(frames));
    if (!writer.isOver) this.#writers.add(writer);
  }

  /** Events that are not kept are read for who asks for them; gives the id of the last. */
  async #showOlder(writer: StreamWriter, range: { readonly after: number; readonly upTo: number }): Promise<number> {
    const older = await this.#reader.eventsBetween(this.scope, this.jobId, range);
    const frames = older.map((event) => frameOf('event', event, placeText({ event: event.id, change: undefined })));
    if (frames.length > 0) writer.write(Buffer.concat(frames));
    return older.length < MOST_EVENTS ? range.upTo : (older.at(-1)?.id ?? range.upTo);
  }

  /** Reads steps that are not kept, for this reader and whoever comes back from there as well. False when there are too many. */
  async #recall(known: Known, from: number): Promise<boolean> {
    const { from: upTo } = known.steps;
    const steps = await this.#reader.stepsBetween(this.scope, this.#uid ?? '', { after: from, upTo });
    if (steps === undefined) return false;
    const { event } = known;
    known.steps.prepend(
      from,
      steps.map(({ change, point }) => ({
        place: change,
        frame: frameOf('step', point, placeText({ event, change })),
      })),
    );
    return known.steps.covers(from);
  }
}
