import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

/** Whoever reads a stream: keeps what was written, and waits for what is still to come. */
export class ReaderOfStream extends EventEmitter {
  text = '';
  /** As it was written: who is given the same bytes costs no memory of his own. */
  readonly chunks: Buffer[] = [];
  writableLength = 0;
  isEnded = false;
  destroyed = false;

  write(chunk: Buffer): boolean {
    this.chunks.push(chunk);
    this.text += chunk.toString();
    this.emit('text');
    return true;
  }

  end(): void {
    this.isEnded = true;
    this.emit('close');
  }

  destroy(): void {
    this.emit('close');
  }

  get response(): ServerResponse {
    return this as unknown as ServerResponse;
  }

  /** What was sent: `event 3`, `job`, `step 7`, with the place that the reader would show as Last-Event-ID. */
  get sent(): readonly string[] {
    return sentIn(this.text);
  }

  get lastEventId(): string | undefined {
    return lastEventIdIn(this.text);
  }

  async until(count: number): Promise<readonly string[]> {
    while (this.sent.length < count) await new Promise((resolve) => this.once('text', resolve));
    return this.sent;
  }

  async ended(): Promise<void> {
    if (!this.isEnded) await new Promise((resolve) => this.once('close', resolve));
  }
}

/** What a reader has got of a text: a frame that was cut off is none. */
export function sentIn(text: string): readonly string[] {
  return framesIn(text).flatMap((frame) => {
    const type = /^event: (\w+)/m.exec(frame)?.[1];
    const data = /^data: (.*)/m.exec(frame)?.[1] ?? '{}';
    const { id, step } = JSON.parse(data) as { readonly id?: unknown; readonly step?: unknown };
    const what = type === 'event' ? id : type === 'step' ? step : undefined;
    return type === undefined ? [] : [what === undefined ? type : `${type} ${String(what)}`];
  });
}

/** What it would show as Last-Event-ID. */
export function lastEventIdIn(text: string): string | undefined {
  return framesIn(text)
    .flatMap((frame) => /^id: (\S+)/m.exec(frame)?.[1] ?? [])
    .at(-1);
}

function framesIn(text: string): readonly string[] {
  return text.split('\n\n').slice(0, -1);
}
