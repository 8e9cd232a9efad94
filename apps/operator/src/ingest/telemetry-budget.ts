/** How much memory may the reports of one job take, those of a namespace, and those of all jobs? */

/** Which bound was reached. */
export type TelemetryBound = 'job' | 'namespace' | 'all';

/** Why the reports of a job are no longer kept. */
export interface Overrun {
  readonly bound: TelemetryBound;
  /** Bytes of the job, and the bytes that its bound allows to whom it applies. */
  readonly heldBytes: number;
  readonly limitBytes: number;
}

/** Bounds in bytes. A job may take `base` and `perRank` for each of its ranks, and never more than `job`. */
export interface TelemetryBounds {
  readonly base: number;
  readonly perRank: number;
  readonly job: number;
  readonly namespace: number;
  readonly all: number;
}

const MIB = 1_048_576;
/**
 * The largest job, of 16,384 ranks in 10 groups each, takes 85 MiB; a job of one rank less than 0.1 MiB. The thread has a heap of 384 MiB; the series
 * take 64 MiB and 2,048 connections 40 MiB.
 */
export const TELEMETRY_BOUNDS: TelemetryBounds = {
  base: MIB,
  perRank: 24_576,
  job: 128 * MIB,
  namespace: 128 * MIB,
  all: 160 * MIB,
};

/** A job whose reports take memory. */
export interface TelemetryHolder {
  readonly namespace: string;
  readonly ranks: number;
  /** Called once, when a bound is reached and this job has to give way; it no longer holds anything then. */
  readonly drop: (overrun: Overrun) => void;
}

interface Account extends TelemetryHolder {
  bytes: number;
}

/**
 * Bounds the memory of reports before the thread that holds them runs out of it. If a namespace or all jobs together take too much, the job with the most
 * bytes for each of its ranks gives way: ranks are GPUs, which cost quota, so many small jobs never displace an ordinary one.
 */
export class TelemetryBudget {
  readonly #bounds: TelemetryBounds;
  readonly #accounts = new Map<string, Account>();
  readonly #ofNamespace = new Map<string, number>();
  #bytes = 0;

  constructor(bounds: TelemetryBounds = TELEMETRY_BOUNDS) {
    this.#bounds = bounds;
  }

  /** Bytes of all jobs. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Jobs that hold something; for tests of memory. */
  get size(): number {
    return this.#accounts.size;
  }

  /** Begins the account of a job, in place of an earlier one. */
  open(jobUid: string, holder: TelemetryHolder): void {
    this.close(jobUid);
    this.#accounts.set(jobUid, { ...holder, bytes: 0 });
  }

  /** Ends the account of a job that holds nothing any more. */
  close(jobUid: string): void {
    const account = this.#accounts.get(jobUid);
    if (account === undefined) return;
    this.#add(account, -account.bytes);
    this.#accounts.delete(jobUid);
  }

  /** Sets how many bytes a job holds. Jobs that have to give way are dropped before this returns; the job itself may be one of them. */
  set(jobUid: string, bytes: number): void {
    const account = this.#accounts.get(jobUid);
    if (account === undefined) return;
    this.#add(account, bytes - account.bytes);
    const { base, perRank, job, namespace, all } = this.#bounds;
    const limitBytes = Math.min(job, base + perRank * account.ranks);
    if (bytes > limitBytes) this.#drop(jobUid, account, { bound: 'job', limitBytes });
    while ((this.#ofNamespace.get(account.namespace) ?? 0) > namespace)
      this.#dropHeaviest({ bound: 'namespace', limitBytes: namespace }, account.namespace);
    while (this.#bytes > all) this.#dropHeaviest({ bound: 'all', limitBytes: all });
  }

  #dropHeaviest(overrun: Omit<Overrun, 'heldBytes'>, namespace?: string): void {
    let heaviest: readonly [string, Account] | undefined;
    for (const entry of this.#accounts) {
      if (namespace !== undefined && entry[1].namespace !== namespace) continue;
      if (heaviest === undefined || weightOf(entry[1]) > weightOf(heaviest[1])) heaviest = entry;
    }
    if (heaviest === undefined) throw new Error('no job holds the bytes that were counted');
    this.#drop(heaviest[0], heaviest[1], overrun);
  }

  #drop(jobUid: string, account: Account, overrun: Omit<Overrun, 'heldBytes'>): void {
    const heldBytes = account.bytes;
    this.close(jobUid);
    account.drop({ ...overrun, heldBytes });
  }

  #add(account: Account, bytes: number): void {
    account.bytes += bytes;
    this.#bytes += bytes;
    const ofNamespace = (this.#ofNamespace.get(account.namespace) ?? 0) + bytes;
    if (ofNamespace === 0) this.#ofNamespace.delete(account.namespace);
    else this.#ofNamespace.set(account.namespace, ofNamespace);
  }
}

function weightOf({ bytes, ranks }: Account): number {
  return bytes / Math.max(1, ranks);
}
