import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { SERIES_PATH, SeriesFrame, type StepFrame } from '@coxswain/api-types';
import { isUnavailable } from '@coxswain/persistence';
import type { Logger, Metrics } from '@coxswain/telemetry';
import { refusalOf, requestOperator } from '../cluster/operator-endpoint.ts';
import type { Config } from '../config/config.ts';
import type { SeriesStore } from './series-store.ts';
import { type Gap, StreamPosition } from './stream-position.ts';

/** Frames are written at most so late. */
const FLUSH_MS = 250;
/** The operator sends a sign of life every 10 s. */
const SILENCE_MS = 30_000;
const CONNECT_MS = 5_000;
const MAX_RETRY_MS = 5_000;
/** While the database is away so many frames wait; more are dropped and recorded as a gap. */
const MAX_BUFFERED = 20_000;

/** What the subscriber needs. */
export interface SubscriberParts {
  readonly operator: Config['operator'];
  readonly store: SeriesStore;
  readonly logger: Logger;
  readonly metrics: SeriesMetrics;
}

/** What is counted. */
export interface SeriesMetrics {
  readonly frames: { inc(labels: { outcome: string }, by?: number): void };
}

/** Makes the counter once per process: duties come and go. */
export function seriesMetrics(metrics: Metrics): SeriesMetrics {
  const help = 'Frames of the operator’s series stream, by outcome.';
  return { frames: metrics.counter({ name: 'coxswain_api_series_frames_total', help, labelNames: ['outcome'] }) };
}

/**
 * Reads the leading operator's stream of steps and stores it. Best effort by design: a frame that was dropped on the way shows as a jump of
 * the sequence and is recorded as a gap. It tries each address in turn and follows the leader that a follower names.
 */
export class SeriesSubscriber {
  readonly #parts: SubscriberParts;
  readonly #position = new StreamPosition();
  #frames: StepFrame[] = [];
  #gaps: Gap[] = [];
  #dropped = 0;

  constructor(parts: SubscriberParts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { seriesUrls } = this.#parts.operator;
    if (seriesUrls.length === 0) return waitForAbort(signal);
    await Promise.all([this.#read(signal), this.#flushRegularly(signal)]);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { seriesUrls } = this.#parts.operator;
    let leaderUrl: string | undefined;
    let failures = 0;
    for (let turn = 0; !signal.aborted; turn++) {
      const url = leaderUrl ?? seriesUrls[turn % seriesUrls.length] ?? '';
      leaderUrl = undefined;
      try {
        leaderUrl = await this.#readFrom(url, signal);
        failures = leaderUrl === undefined ? 0 : failures + 1;
      } catch (error) {
        failures++;
        this.#parts.logger.debug({ url, reason: (error as Error).message }, 'the series stream ended; trying again');
      }
      const pauseMs = Math.min(MAX_RETRY_MS, 100 * 2 ** Math.min(failures, 6));
      if (!signal.aborted) await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Reads until the stream ends. Answers the leader's URL when this replica is not the leader. */
  async #readFrom(url: string, signal: AbortSignal): Promise<string | undefined> {
    const ended = new AbortController();
    const both = AbortSignal.any([signal, ended.signal]);
    let silence = setTimeout(() => ended.abort(), CONNECT_MS);
    const restartSilence = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => ended.abort(), SILENCE_MS);
    };
    try {
      const response = await this.#connect(url, both);
      if (response.statusCode !== 200) return (await refusalOf(response)).leaderUrl ?? notAnswered(response);
      restartSilence();
      this.#parts.logger.info({ url }, 'reading series');
      for await (const line of createInterface({ input: response, crlfDelay: Infinity })) {
        restartSilence();
        this.#take(line);
      }
      return undefined;
    } finally {
      clearTimeout(silence);
      ended.abort();
    }
  }

  #connect(url: string, signal: AbortSignal): Promise<IncomingMessage> {
    const target = new URL(SERIES_PATH, url);
    const { resumeAfter } = this.#position;
    if (resumeAfter !== undefined) {
      target.searchParams.set('bootId', resumeAfter.bootId);
      target.searchParams.set('after', String(resumeAfter.sequence));
    }
    return requestOperator(this.#parts.operator, { method: 'GET', target, accept: 'application/x-ndjson', signal });
  }

  #take(line: string): void {
    const frame = parseFrame(line);
    if (frame === undefined) {
      this.#parts.metrics.frames.inc({ outcome: 'malformed' });
      return;
    }
    this.#gaps.push(...this.#position.advance(frame));
    if (frame.kind === 'keepalive') return;
    if (this.#frames.length >= MAX_BUFFERED) {
      this.#dropped++;
      this.#parts.metrics.frames.inc({ outcome: 'dropped' });
      return;
    }
    this.#frames.push(frame);
  }

  async #flushRegularly(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await delay(FLUSH_MS, undefined, { signal }).catch(() => undefined);
      await this.#flush();
    }
  }

  async #flush(): Promise<void> {
    if (this.#dropped > 0)
      this.#gaps.push({ bootId: this.#position.resumeAfter?.bootId ?? '', missedFrames: this.#dropped });
    this.#dropped = 0;
    const frames = this.#frames.slice(0, 2_000);
    const gaps = this.#gaps;
    if (frames.length === 0 && gaps.length === 0) return;
    try {
      await this.#parts.store.write(frames, gaps);
      this.#frames.splice(0, frames.length);
      this.#gaps = this.#gaps.slice(gaps.length);
      this.#parts.metrics.frames.inc({ outcome: 'stored' }, frames.length);
    } catch (error) {
      if (!isUnavailable(error)) return this.#storeOneByOne(frames, gaps);
      this.#parts.logger.warn(
        { reason: (error as Error).message, waiting: this.#frames.length },
        'series could not be stored; trying again',
      );
    }
  }

  /** The database rejects something in the batch: only the launcher that sent it loses that frame. */
  async #storeOneByOne(frames: readonly StepFrame[], gaps: readonly Gap[]): Promise<void> {
    const { store, metrics, logger } = this.#parts;
    this.#gaps = this.#gaps.slice(gaps.length);
    await store.write([], gaps).catch(() => undefined);
    for (const frame of frames) {
      try {
        await store.write([frame], []);
        metrics.frames.inc({ outcome: 'stored' });
      } catch (error) {
        // What is left waits for the database with the next batch.
        if (isUnavailable(error)) return;
        metrics.frames.inc({ outcome: 'refused' });
        logger.warn(
          { jobUid: frame.jobUid, reason: (error as Error).message },
          'a frame cannot be stored; it is dropped',
        );
      }
      this.#frames.shift();
    }
  }
}

function parseFrame(line: string): SeriesFrame | undefined {
  try {
    const result = SeriesFrame.safeParse(JSON.parse(line));
    return result.success && !Number.isNaN(Date.parse(result.data.at)) ? result.data : undefined;
  } catch {
    return undefined;
  }
}

function notAnswered({ statusCode }: IncomingMessage): never {
  throw new Error(`the operator answered ${statusCode ?? 0}`);
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
