import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

/** Whoever reads a stream: keeps what was written, and waits for what is still to come. */
export class ReaderOfStream extends EventEmitter {
  text = '';
  writableLength = 0;
  isEnded = false;
  destroyed = false;

  write(chunk: Buffer): boolean {
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
    return this.text.split('\n\n').flatMap((block) => {
      const type = /^event: (\w+)/m.exec(block)?.[1];
      const data = /^data: (.*)/m.exec(block)?.[1] ?? '{}';
      const { id, step } = JSON.parse(data) as { readonly id?: unknown; readonly step?: unknown };
      const what = type === 'event' ? id : type === 'step' ? step : undefined;
      return type === undefined ? [] : [what === undefined ? type : `${type} ${String(what)}`];
    });
  }

  get lastEventId(): string | undefined {
    return [...this.text.matchAll(/^id: (\S+)/gm)].at(-1)?.[1];
  }

  async until(count: number): Promise<readonly string[]> {
    while (this.sent.length < count) await new Promise((resolve) => this.once('text', resolve));
    return this.sent;
  }

  async ended(): Promise<void> {
    if (!this.isEnded) await new Promise((resolve) => this.once('close', resolve));
  }
}
