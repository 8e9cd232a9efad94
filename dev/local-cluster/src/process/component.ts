import { startProcess, type ProcessExit, type ProcessHandle, type ProcessSpec } from './processes.ts';

/** One program of a running system that a test may take away and bring back, on the same port and the same data. */
export class Component {
  readonly name: string;
  readonly #spec: () => ProcessSpec | Promise<ProcessSpec>;
  #process: ProcessHandle | undefined;

  constructor(name: string, spec: () => ProcessSpec | Promise<ProcessSpec>) {
    this.name = name;
    this.#spec = spec;
  }

  /** The running program; undefined while it is stopped. */
  get process(): ProcessHandle | undefined {
    return this.#process;
  }

  /** Starts it and waits until it is ready. Does nothing if it runs. */
  async start(): Promise<void> {
    if (this.#process === undefined) {
      const started = await startProcess(await this.#spec());
      this.#process = started;
      void started.exited.then(() => {
        if (this.#process === started) {
          this.#process = undefined;
        }
      });
    }
  }

  /** Ends it politely, by force after `graceMs`. */
  async stop(options: { readonly graceMs?: number } = {}): Promise<ProcessExit | undefined> {
    const ended = await this.#process?.stop(options);
    this.#process = undefined;
    return ended;
  }

  /** SIGKILL to it and all its children. */
  async kill(): Promise<void> {
    await this.stop({ graceMs: 0 });
  }

  /** Ends it politely, by force after `graceMs`, and starts it again. */
  async restart(options: { readonly graceMs?: number } = {}): Promise<void> {
    await this.stop(options);
    await this.start();
  }
}
