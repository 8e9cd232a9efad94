import { Client } from 'pg';
import { CONNECT_DEADLINE_MS } from './connect-deadline.ts';

/** One NOTIFY. Payloads carry ids only: PostgreSQL cuts them at 8,000 bytes, and rows may change before they are read. */
export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

/** What a listener needs. */
export interface ListenerOptions {
  readonly url: string;
  readonly channels: readonly string[];
  readonly onNotification: (notification: Notification) => void;
  /** After every (re)connection: notifications may have been missed before it, so look at the rows. */
  readonly onConnected: () => void;
  readonly reconnectMs?: number;
}

/** Listens on a connection of its own until closed, and connects again whenever that breaks. */
export class Listener {
  readonly #options: ListenerOptions;
  #client: Client | undefined;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Whether notifications are heard at the moment, as far as is known. */
  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** Begins; returns at once. */
  start(): void {
    void this.#connect();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    if (this.#closed) return;
    const client = new Client({
      connectionString: this.#options.url,
      application_name: 'coxswain/listener',
      connectionTimeoutMillis: CONNECT_DEADLINE_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
    });
    const again = (): void => this.#again(client);
    client.on('error', again);
    client.on('end', again);
    client.on('notification', ({ channel, payload }) =>
      this.#options.onNotification({ channel, payload: payload ?? '' }),
    );
    try {
      await client.connect();
      for (const channel of this.#options.channels) await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
    } catch {
      again();
      return;
    }
    if (this.#closed) {
      await client.end().catch(() => undefined);
      return;
    }
    this.#client = client;
    this.#options.onConnected();
  }

  #again(client: Client): void {
    client.removeAllListeners('error').removeAllListeners('end');
    client.on('error', () => undefined);
    void client.end().catch(() => undefined);
    if (this.#client === client) this.#client = undefined;
    if (this.#closed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#connect(), this.#options.reconnectMs ?? 500);
  }
}
