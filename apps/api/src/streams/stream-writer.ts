import type { ServerResponse } from 'node:http';
import type { UnreadBytes, UnreadReader } from './unread-bytes.ts';

/** So long it has to read what is left; then its connection is cut. */
const LAST_READ_MS = 30_000;

/** Something is left out from here on: the reader comes back, goes on where it was, and reads the curve again. */
const RESYNC = frameOf('resync', {});

/** A frame of a `text/event-stream` that lacks its end: {@link placeFrame} says which place who has read it has got to. */
export function openFrameOf(type: string, data: object): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify(data)}\n`);
}

/** A frame that moves no place. */
export function frameOf(type: string, data: object): Buffer {
  return Buffer.concat([openFrameOf(type, data), Buffer.from('\n')]);
}

/** Ends an open frame and tells a place with it: a reader takes both or neither. By itself it tells the place and nothing else. */
export function placeFrame(place: string): Buffer {
  return Buffer.from(`id: ${place}\n\n`);
}

/** Whose share the unread bytes of a stream take. */
export interface UnreadShare {
  readonly owner: string;
  readonly unread: UnreadBytes;
}

/** The answer to one reader: a bounded queue in front of a socket. */
export class StreamWriter implements UnreadReader {
  readonly #response: ServerResponse;
  readonly #mostUnreadBytes: number;
  readonly #share: UnreadShare | undefined;
  #isOver = false;
  #cutting: NodeJS.Timeout | undefined;

  /**
   * A reader with more than `mostUnreadBytes` unread is disconnected and asked to reconnect: it can be served from the shared frames, or not at all.
   * `onEnd` is called once, whichever side ended the stream. Without a `share` only this bound holds.
   */
  constructor(response: ServerResponse, mostUnreadBytes: number, onEnd: () => void, share?: UnreadShare) {
    this.#response = response;
    this.#mostUnreadBytes = mostUnreadBytes;
    this.#share = share;
    const close = (): void => {
      clearTimeout(this.#cutting);
      this.#isOver = true;
      share?.unread.forget(this);
      onEnd();
    };
    // Who went before says nothing more, and would be waited for for ever.
    if (response.destroyed) setImmediate(close);
    else response.once('close', close);
  }

  get owner(): string {
    return this.#share?.owner ?? '';
  }

  get unreadBytes(): number {
    return this.#response.writableLength;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Buffers are shared between readers and never copied. */
  write(chunk: Buffer): void {
    if (this.#isOver || chunk.length === 0) return;
    // Before it is written: what the socket takes at once was never unread.
    this.#share?.unread.note(this);
    if (this.isOver) return;
    if (this.#response.writableLength > this.#mostUnreadBytes) this.end({ isComplete: false });
    else this.#response.write(chunk);
  }

  /** What was not read is dropped. The client reconnects, goes on where it was, and gets `resync` if too much has happened since. */
  cut(): void {
    this.#isOver = true;
    this.#response.destroy();
  }

  /** What was written is still delivered, for a while. */
  end({ isComplete }: { readonly isComplete: boolean }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!isComplete) this.#response.write(RESYNC);
    this.#response.end();
    this.#cutting = setTimeout(() => this.#response.destroy(), LAST_READ_MS);
    this.#cutting.unref();
  }
}
