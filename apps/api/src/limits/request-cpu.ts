import { AsyncLocalStorage } from 'node:async_hooks';

/*
 * How much of the event loop did a request use? The processor time of each stretch in which the request runs without waiting: from the moment when it
 * goes on (its handler begins, an answer of the database has arrived) until nothing of it is left to do in this turn of the loop.
 */

/** Takes the processor time of a request, in ms. */
export type ChargeCpu = (ms: number) => void;

/** Processor time of the thread so far, in ms. Time in which the thread was not scheduled does not count. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The processor time of one request. */
export interface RequestCpu {
  /** Its time counts from here to the end of the turn, or until another request goes on. */
  resume(): void;
  /** Who pays for it, and for what it has used so far. */
  claim(charge: ChargeCpu): void;
  /** The same, unless somebody has claimed it before. */
  settle(charge: ChargeCpu): void;
}

/** Counts the processor time of requests. Of two requests in one turn, the one that went on last is charged, so that no time is charged twice. */
export class CpuMeter {
  readonly #usedMs: () => number;
  #running: { readonly cpu: MeteredRequest; sinceMs: number } | undefined;

  /** A test gives a clock of its own. */
  constructor(usedMs: () => number = threadCpuMs) {
    this.#usedMs = usedMs;
  }

  request(): RequestCpu {
    return new MeteredRequest((cpu) => this.#resume(cpu));
  }

  #resume(cpu: MeteredRequest): void {
    if (this.#running?.cpu === cpu) return;
    const isFirst = this.#running === undefined;
    this.#stop();
    this.#running = { cpu, sinceMs: this.#usedMs() };
    // A tick that a promise schedules runs when no promise is left to go on.
    if (isFirst) queueMicrotask(() => process.nextTick(() => this.#stop()));
  }

  #stop(): void {
    const running = this.#running;
    this.#running = undefined;
    running?.cpu.add(this.#usedMs() - running.sinceMs);
  }
}

class MeteredRequest implements RequestCpu {
  readonly #onResume: (cpu: MeteredRequest) => void;
  #charge: ChargeCpu | undefined;
  #unpaidMs = 0;

  constructor(onResume: (cpu: MeteredRequest) => void) {
    this.#onResume = onResume;
  }

  resume(): void {
    this.#onResume(this);
  }

  claim(charge: ChargeCpu): void {
    this.#charge = charge;
    const unpaidMs = this.#unpaidMs;
    this.#unpaidMs = 0;
    if (unpaidMs > 0) charge(unpaidMs);
  }

  settle(charge: ChargeCpu): void {
    if (this.#charge === undefined) this.claim(charge);
  }

  add(ms: number): void {
    if (this.#charge === undefined) this.#unpaidMs += ms;
    else this.#charge(ms);
  }
}

const ofRequest = new AsyncLocalStorage<RequestCpu>();

/** Runs what belongs to a request, with all that follows from it. */
export function withinRequest<T>(cpu: RequestCpu, work: () => T): T {
  return ofRequest.run(cpu, work);
}

/** Runs what many requests share, such as a timer of all watchers: no request pays for it. */
export function outsideRequests<T>(work: () => T): T {
  return ofRequest.exit(work);
}

/** Says who pays for the request that runs. Does nothing outside of requests. */
export function claimRequest(charge: ChargeCpu): void {
  ofRequest.getStore()?.claim(charge);
}

/** To be called where a request goes on after waiting. Does nothing outside of requests. */
export function resumeRequest(): void {
  ofRequest.getStore()?.resume();
}

/** Waits for something other than the database, which calls {@link resumeRequest} by itself. What the request does afterwards is charged. */
export async function afterWaiting<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    resumeRequest();
  }
}

/** The same for each part of a stream. */
export async function* partsAfterWaiting<T>(parts: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T, void, void> {
  for await (const part of parts) {
    resumeRequest();
    yield part;
  }
}
