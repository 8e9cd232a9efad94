import { createHash } from 'node:crypto';

import type { KubeClient } from './kube-client.ts';
import type { Clock } from './clock.ts';
import type { KubeObject } from './kube-object.ts';
import type { KubeMetrics } from './metrics.ts';
import { noMetrics } from './metrics.ts';
import { toMicroTime } from './micro-time.ts';
import { resourcePath } from './paths.ts';

/** What happened to an object, with the fields that `kubectl describe` shows. */
export interface RecordedEvent {
  readonly regarding: KubeObject;
  readonly type: 'Normal' | 'Warning';
  /** CamelCase and stable, because programs read it. */
  readonly reason: string;
  /** CamelCase verb: what was done or tried. */
  readonly action: string;
  /** One sentence; cut at 1,024 bytes. */
  readonly note: string;
  /** Tells events of one reason apart, so that neither silences the other. Not written. */
  readonly about?: string;
}

/** Options of {@link EventRecorder}. */
export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, 'create'>;
  readonly clock: Clock;
  /** For instance `coxswain.dev/operator`. */
  readonly reportingController: string;
  /** For instance the pod's name. */
  readonly reportingInstance: string;
  readonly onError?: (error: unknown) => void;
  readonly metrics?: KubeMetrics;
  /** At most one event per object and reason in this time. Default 1 min. */
  readonly quietMs?: number;
}

/** Writes events.k8s.io/v1 Events in the background. It never throws, never waits, and drops rather than floods. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #metrics: KubeMetrics;
  readonly #lastAtMs = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? noMetrics;
  }

  /** Records an event unless the same object had one with the same reason within the last minute. Returns whether it will be written. */
  record(event: RecordedEvent): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const key = `${event.regarding.metadata.uid ?? ''}/${event.reason}/${event.about ?? ''}`;
    const lastAtMs = this.#lastAtMs.get(key);
    if (lastAtMs !== undefined && nowMs - lastAtMs < this.#quietMs()) return this.#drop('repeated');
    if (this.#underWay.size >= MAX_UNDER_WAY) return this.#drop('busy');
    this.#remember(key, nowMs);
    const write = this.#write(event).catch((error: unknown) => {
      this.#drop('failed');
      try {
        this.#options.onError?.(error);
      } catch {
        // A failing listener must not fail the caller.
      }
    });
    this.#underWay.add(write);
    void write.finally(() => this.#underWay.delete(write));
    return true;
  }

  /** Resolves when the events under way have been written or given up; for shutdown. */
  async flush(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #write(event: RecordedEvent): Promise<void> {
    const { client, clock, reportingController, reportingInstance } = this.#options;
    const { apiVersion, kind, metadata } = event.regarding;
    const namespace = metadata.namespace ?? 'default';
    const now = clock.now();
    const eventTime = toMicroTime(now);
    const unique = createHash('sha256')
      .update(`${metadata.uid}/${event.reason}/${eventTime}/${event.note}`)
      .digest('hex');
    await client.create(
      resourcePath({ group: 'events.k8s.io', version: 'v1', plural: 'events', namespace }),
      {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: {
          name: `${metadata.name.slice(0, 200).replace(/[^a-z0-9]+$/, '')}.${unique.slice(0, 16)}`,
          namespace,
        },
        eventTime,
        type: event.type,
        reason: event.reason.slice(0, 128),
        action: event.action.slice(0, 128),
        note: cutBytes(event.note, MAX_NOTE_BYTES),
        regarding: {
          apiVersion,
          kind,
          name: metadata.name,
          ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
          ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
          ...(metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
        },
        reportingController,
        reportingInstance: reportingInstance.slice(0, 128),
      },
      { timeoutMs: 5_000, lane: 'bulk', turnOf: 'events' },
    );
  }

  #remember(key: string, nowMs: number): void {
    this.#lastAtMs.delete(key);
    this.#lastAtMs.set(key, nowMs);
    // Insertion order is age order: drop what is quiet again, and the oldest beyond the bound.
    for (const [oldest, atMs] of this.#lastAtMs) {
      if (nowMs - atMs < this.#quietMs() && this.#lastAtMs.size <= MAX_REMEMBERED) return;
      this.#lastAtMs.delete(oldest);
    }
  }

  #quietMs(): number {
    return this.#options.quietMs ?? 60_000;
  }

  #drop(cause: 'repeated' | 'busy' | 'failed'): false {
    this.#metrics.count('events_dropped_total', { cause });
    return false;
  }
}

const MAX_UNDER_WAY = 32;
const MAX_REMEMBERED = 10_000;
const MAX_NOTE_BYTES = 1_024;

/** The API limits a note in bytes; a cut must not leave half a character. */
function cutBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes - 3;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.subarray(0, end).toString('utf8')}…`;
}
