/** Whose detectors run next on the thread that all tenants share? */

/**
 * Detectors of all namespaces together may use this share of the thread while several namespaces report; the rest is for sockets. A namespace that reports
 * alone has no bound.
 */
const SHARE_OF_THREAD = 0.5;
/** A namespace may use so much at once after it was quiet: one record of the largest job takes tens of milliseconds. */
const BURST_MS = 100;

interface Account {
  /** Milliseconds of the thread that it may use now. Negative: a record took longer than what was left. */
  leftMs: number;
  readonly jobs: Set<string>;
  /** Jobs with reports that were not judged yet, in the order of their turns. */
  readonly waiting: Set<string>;
}

/**
 * Shares the time of the thread between namespaces. Work is measured after it was done, so that one record may exceed the share, and the namespace waits
 * until the debt is paid. Namespaces, and the jobs of each, are served in turns.
 */
export class TenantTurns {
  readonly #accounts = new Map<string, Account>();
  readonly #namespaceOf = new Map<string, string>();
  readonly #cpuMs: () => number;
  readonly #nowMs: () => number;
  #refilledAtMs: number;

  /** `cpuMs`: measures work. `nowMs`: a monotonic clock, by which shares refill. */
  constructor(parts: { readonly cpuMs: () => number; readonly nowMs: () => number }) {
    this.#cpuMs = parts.cpuMs;
    this.#nowMs = parts.nowMs;
    this.#refilledAtMs = parts.nowMs();
  }

  /** Namespaces with jobs; for tests of memory. */
  get size(): number {
    return this.#accounts.size;
  }

  open(jobUid: string, namespace: string): void {
    this.close(jobUid);
    const account = this.#accounts.get(namespace) ?? { leftMs: BURST_MS, jobs: new Set(), waiting: new Set() };
    account.jobs.add(jobUid);
    this.#accounts.set(namespace, account);
    this.#namespaceOf.set(jobUid, namespace);
  }

  close(jobUid: string): void {
    const account = this.#accountOf(jobUid);
    if (account === undefined) return;
    account.jobs.delete(jobUid);
    account.waiting.delete(jobUid);
    if (account.jobs.size === 0) this.#accounts.delete(this.#namespaceOf.get(jobUid) ?? '');
    this.#namespaceOf.delete(jobUid);
  }

  /** Does the work now if the job's namespace has time left; otherwise the job waits for its turn, in which `serve` does its work. */
  take(jobUid: string, work: () => void): void {
    const account = this.#accountOf(jobUid);
    if (account === undefined) return;
    const isNext = !account.waiting.has(jobUid) && (this.#accounts.size === 1 || account.leftMs > 0);
    if (isNext) this.#measure(account, work);
    else account.waiting.add(jobUid);
  }

  /** Does work that cannot wait, at the cost of the job's namespace. */
  charge(jobUid: string, work: () => void): void {
    const account = this.#accountOf(jobUid);
    if (account === undefined) work();
    else this.#measure(account, work);
  }

  /** Refills the shares, and does the work of jobs that wait, a job of each namespace at a time. */
  serve(workOf: (jobUid: string) => void): void {
    this.#refill();
    for (let isBusy = true; isBusy;) {
      isBusy = false;
      for (const account of [...this.#accounts.values()]) {
        const [jobUid] = account.waiting;
        if (jobUid === undefined || (account.leftMs <= 0 && this.#accounts.size > 1)) continue;
        account.waiting.delete(jobUid);
        this.#measure(account, () => workOf(jobUid));
        isBusy = true;
      }
    }
  }

  #refill(): void {
    const nowMs = this.#nowMs();
    const elapsedMs = nowMs - this.#refilledAtMs;
    this.#refilledAtMs = nowMs;
    const accounts = [...this.#accounts.values()];
    // Namespaces that use less than their share leave the rest to the others.
    const busy = accounts.filter(({ leftMs, waiting }) => waiting.size > 0 || leftMs < 0).length;
    const shareMs = (elapsedMs * SHARE_OF_THREAD) / Math.max(1, busy);
    for (const account of accounts) account.leftMs = Math.min(BURST_MS, account.leftMs + shareMs);
  }

  #measure(account: Account, work: () => void): void {
    const beganMs = this.#cpuMs();
    work();
    account.leftMs -= this.#cpuMs() - beganMs;
    if (this.#accounts.size === 1) account.leftMs = Math.max(0, account.leftMs);
  }

  #accountOf(jobUid: string): Account | undefined {
    const namespace = this.#namespaceOf.get(jobUid);
    return namespace === undefined ? undefined : this.#accounts.get(namespace);
  }
}
